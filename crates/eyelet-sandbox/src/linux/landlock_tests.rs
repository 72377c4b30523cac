use super::*;

use std::os::unix::fs::symlink;

use crate::request::SandboxRequest;

#[test]
fn no_rule_follows_a_symlink_that_replaced_a_path() {
    let kernel = sys::landlock_version().unwrap();
    if kernel < MIN_LANDLOCK {
        return;
    }
    let tree = tempfile::tempdir().unwrap();
    let at = |path: &str| tree.path().canonicalize().unwrap().join(path);
    for folder in ["open", "secret"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("file"), "").unwrap();
    }
    symlink(at("secret"), at("replaced")).unwrap();
    symlink(tree.path(), at("around")).unwrap();
    let paths = ["open", "replaced", "around/secret"].map(at);
    let files = ["open/file", "replaced/file", "around/secret/file"].map(at);
    // The rules apply to this thread only.
    let opened = std::thread::spawn(move || {
        let request = SandboxRequest::new(Policy::WorkspaceWrite, None);
        let abi = ABI::from(kernel.min(NEWEST));
        let rules = Rules { abi, request: &request, tier: Tier::Landlock };
        let mut ruleset = rules.ruleset(kernel).unwrap();
        for path in paths {
            ruleset = rules.allow_without_links(ruleset, &path, AccessFs::from_all(abi)).unwrap();
        }
        ruleset.restrict_self().unwrap();
        files.map(|file| fs::write(file, "").is_ok())
    });
    assert_eq!(opened.join().unwrap(), [true, false, false]);
}
