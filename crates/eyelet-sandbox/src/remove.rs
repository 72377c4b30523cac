//! Removes files that a command created.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Removes a file or a whole directory, including directories that their owner may not write to.
pub fn remove_all(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    fs::remove_dir_all(path).or_else(|_| {
        make_writable(path);
        fs::remove_dir_all(path)
    })
}

fn make_writable(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if is_folder && fs::set_permissions(path, Permissions::from_mode(0o700)).is_ok() {
        let entries = fs::read_dir(path).into_iter().flatten();
        entries.filter_map(io::Result::ok).for_each(|entry| make_writable(&entry.path()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_directories_are_removed_and_link_targets_stay() {
        let base = std::env::temp_dir().join(format!("eyelet-remove-{}", std::process::id()));
        let (folder, kept) = (base.join("folder"), base.join("kept"));
        fs::create_dir_all(folder.join("closed/deeper")).expect("a new folder");
        fs::write(&kept, "kept").expect("a new file");
        std::os::unix::fs::symlink(&base, folder.join("closed/link")).expect("a new link");
        for closed in ["closed/deeper", "closed"] {
            let mode = Permissions::from_mode(0o500);
            fs::set_permissions(folder.join(closed), mode).expect("our own");
        }
        remove_all(&folder).expect("our own");
        assert!(!folder.exists() && kept.exists());
        remove_all(&base).expect("our own");
        assert!(remove_all(&base).is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
    }
}
