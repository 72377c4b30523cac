use super::*;

#[test]
fn the_long_side_is_scaled_to_its_limit() {
    assert_eq!(fit(1568, 1568), (1568, 1568));
    assert_eq!(fit(1569, 3), (1568, 3));
    assert_eq!(fit(9600, 9600), (1568, 1568));
    assert_eq!(fit(3000, 2000), (1568, 1045));
    assert_eq!(fit(1, 100_000), (1, 1568));
    assert_eq!(fit(u32::MAX, 1), (1568, 1));
}
