use std::cell::Cell;

use super::*;

/// What comes of it where the first answers are these errors.
fn after(errors: &[Errno]) -> io::Result<Option<&'static str>> {
    let looks = Cell::new(0);
    reached(|| {
        looks.set(looks.get() + 1);
        errors.get(looks.get() - 1).map_or(Ok("there"), |error| Err((*error).into()))
    })
}

#[test]
fn only_what_is_refused_twice_is_out_of_reach() {
    assert_eq!(after(&[]).unwrap(), Some("there"));
    assert_eq!(after(&[Errno::ACCESS]).unwrap(), Some("there"));
    assert_eq!(after(&[Errno::ACCESS, Errno::ACCESS]).unwrap(), None);
    assert_eq!(after(&[Errno::NOENT]).unwrap(), None);
    assert!(after(&[Errno::IO]).is_err());
    assert!(after(&[Errno::ACCESS, Errno::IO]).is_err());
}
