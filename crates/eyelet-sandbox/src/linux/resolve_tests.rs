use std::cell::Cell;

use super::*;

/// The result if the first attempts fail with these errors.
fn after(errors: &[Errno]) -> io::Result<Option<&'static str>> {
    let looks = Cell::new(0);
    if_accessible(|| {
        looks.set(looks.get() + 1);
        errors.get(looks.get() - 1).map_or(Ok("there"), |error| Err((*error).into()))
    })
}

#[test]
fn a_path_is_inaccessible_only_if_refused_twice() {
    assert_eq!(after(&[]).unwrap(), Some("there"));
    assert_eq!(after(&[Errno::ACCESS]).unwrap(), Some("there"));
    assert_eq!(after(&[Errno::ACCESS, Errno::ACCESS]).unwrap(), None);
    assert_eq!(after(&[Errno::NOENT]).unwrap(), None);
    assert!(after(&[Errno::IO]).is_err());
    assert!(after(&[Errno::ACCESS, Errno::IO]).is_err());
}
