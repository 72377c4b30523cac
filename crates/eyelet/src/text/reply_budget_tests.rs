use super::*;

#[test]
fn each_stream_gets_half_plus_what_the_other_does_not_need() {
    let all = |bytes| TextSize { bytes, lines: 1 };
    let share = |first, second| {
        split_between(TextSize { bytes: 100, lines: 10 }, [all(first), all(second)])
            .map(|one| one.bytes)
    };
    assert_eq!(share(500, 500), [50, 50]);
    assert_eq!(share(500, 10), [90, 50]);
    assert_eq!(share(10, 500), [50, 90]);
    assert_eq!(share(500, 0), [100, 50]);
}

#[test]
fn two_shares_never_exceed_the_room() {
    for room in 0..40 {
        for first in 0..50 {
            for second in 0..50 {
                let [one, other] = split(room, first, second);
                assert!(one.min(first) + other.min(second) <= room, "{room} {first} {second}");
                let half = room / 2;
                assert!(one >= first.min(half) && other >= second.min(half));
            }
        }
    }
}
