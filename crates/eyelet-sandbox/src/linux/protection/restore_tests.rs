use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use super::*;
use crate::linux::protection::folders::{names, open};

/// A command closes the folder again and again. This has no effect on root.
#[test]
fn what_was_replaced_in_a_folder_that_is_closed_meanwhile_is_set_aside() {
    let tree = testkit::TempTree::new("git/config = recorded");
    let (closed, path) = (tree.path().join("git"), tree.path().join("git/config"));
    let folder = open(&closed).unwrap().unwrap();
    let config = OsStr::new("config");
    let recorded = Entry::take(&folder, config, None, &mut Room::new()).unwrap();
    let has_ended = AtomicBool::new(false);
    let mut copies = Vec::new();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !has_ended.load(Ordering::Relaxed) {
                fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
                thread::sleep(Duration::from_micros(200));
            }
        });
        for number in 0..50 {
            let change = || fs::write(&path, format!("change {number}"));
            while reopening(&[&folder], change).is_err() {}
            let replaced = loop {
                if let Ok(replaced) = restore(&folder, config, &path, recorded.as_ref()) {
                    break replaced;
                }
            };
            copies.extend(replaced.copy);
        }
        has_ended.store(true, Ordering::Relaxed);
    });
    make_accessible(&folder);
    assert_eq!(fs::read_to_string(&path).unwrap(), "recorded");
    assert_eq!(copies.len(), 50);
    for name in names(&folder).unwrap().into_iter().filter(|name| name != config) {
        assert!(copies.contains(&closed.join(&name)), "{name:?} is not reported: {copies:?}");
    }
}
