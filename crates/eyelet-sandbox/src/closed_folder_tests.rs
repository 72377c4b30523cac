use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_search_ignores_only_errors_of_paths_that_are_out_of_reach() {
    let looked = |path: &str| is_unexpected(&fs::read_dir(path).unwrap_err());
    assert!(!looked("/missing") && !looked("/dev/null/in/it"));
    assert!(!looked(&format!("/{}", "x".repeat(300))));
    for number in [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::IO] {
        assert!(is_unexpected(&number.into()), "{number:?}");
    }
}

#[test]
fn only_a_directory_of_this_user_counts_as_closed() {
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir_all(closed.join("in/it")).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    // Root can enter it.
    let expected = (!geteuid().is_root()).then(|| closed.clone());
    assert_eq!(closed_folder(&closed.join("in/it")).filter(|found| *found == closed), expected);
    assert_eq!(closed_folder(&closed), Some(closed.clone()));
    assert!(is_closed(&closed) && !is_closed(folder.path()));
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    // Not of this user, or not a directory.
    for path in ["/root/.ssh/missing", "/proc/1/fd/missing", "/dev/null"] {
        assert_eq!(closed_folder(Path::new(path)), None, "{path}");
    }
}
