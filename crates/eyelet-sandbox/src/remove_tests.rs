use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::*;

/// A new directory for one test.
fn base(name: &str) -> PathBuf {
    let base = std::env::temp_dir().join(format!("eyelet-{name}-{}", std::process::id()));
    fs::create_dir_all(&base).expect("a new folder");
    base
}

#[test]
fn read_only_directories_are_removed_and_link_targets_stay() {
    let base = base("remove");
    let (folder, kept) = (base.join("folder"), base.join("kept"));
    fs::create_dir_all(folder.join("closed/deeper")).expect("a new folder");
    fs::write(&kept, "kept").expect("a new file");
    std::os::unix::fs::symlink(&base, folder.join("closed/link")).expect("a new link");
    for closed in ["closed/deeper", "closed"] {
        let mode = Permissions::from_mode(0o000);
        fs::set_permissions(folder.join(closed), mode).expect("our own");
    }
    remove_all(&folder).expect("our own");
    assert!(!folder.exists() && kept.exists());
    remove_all(&base).expect("our own");
    assert!(remove_all(&base).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
}

#[test]
fn a_tree_deeper_than_any_path_is_removed() {
    let base = base("remove-deep");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut here = openat(CWD, &base, flags, Mode::empty()).expect("a new folder");
    for _ in 0..5000 {
        rustix::fs::mkdirat(&here, "deeper", Mode::RWXU).expect("a new folder");
        here = openat(&here, "deeper", flags, Mode::empty()).expect("a new folder");
        rustix::fs::openat(&here, "file", OFlags::CREATE | OFlags::WRONLY, Mode::RUSR)
            .expect("a new file");
    }
    drop(here);
    remove_all(&base).expect("our own");
    assert!(!base.exists());
}
