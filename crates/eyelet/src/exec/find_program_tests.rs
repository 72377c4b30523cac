use std::os::unix::fs::PermissionsExt as _;

use testkit::TempTree;

use super::*;

/// Three directories with a program `rg`: in a root, beside it, and a symlink from beside into the root.
fn tree() -> TempTree {
    let tree =
        TempTree::new("root/bin/rg\n other/rg\n into -> root/bin\n link/rg -> ../root/bin/rg");
    for program in ["root/bin/rg", "other/rg"] {
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(tree.path().join(program), mode).unwrap();
    }
    tree
}

/// The program that runs with these directories in `PATH`, if commands can write to `root`.
fn chosen(tree: &TempTree, folders: &[&str]) -> Result<PathBuf, String> {
    let path: Vec<_> = folders.iter().map(|folder| tree.at(folder)).collect();
    let environment = [("PATH", path.join(":"))].into_iter().collect();
    let programs = HelperProgram::find_all("rg", &environment);
    let root = [tree.path().join("root")];
    HelperProgram::first_outside(&programs, &root).map(|program| program.file.clone())
}

#[test]
fn a_program_in_a_root_is_skipped_also_through_symlinks() {
    let tree = tree();
    let other = Ok(tree.path().join("other/rg"));
    for planted in ["root/bin", "into", "link", "root/../root/bin"] {
        assert_eq!(chosen(&tree, &[planted, "other"]), other, "{planted}");
        assert_eq!(chosen(&tree, &["other", planted]), other, "{planted}");
        let reason = chosen(&tree, &["nowhere", planted]).unwrap_err();
        assert!(reason.starts_with(&format!("found only in `{}`, ", tree.at(planted))), "{reason}");
    }
    assert_eq!(chosen(&tree, &["nowhere"]), Err("not found on PATH".to_owned()));
}

#[test]
fn a_located_program_stays_the_same_file() {
    let tree = tree();
    let environment = [("PATH", tree.at("into"))].into_iter().collect();
    let programs = HelperProgram::find_all("rg", &environment);
    tree.link("new", "other");
    std::fs::rename(tree.path().join("new"), tree.path().join("into")).unwrap();
    let files: Vec<_> = programs.iter().map(|program| program.file.clone()).collect();
    assert_eq!(files, [tree.path().join("root/bin/rg")]);
}

#[test]
fn temp_directories_include_that_of_the_environment() {
    let tree = TempTree::new("own/\nlink -> own");
    let environment = [("TMPDIR", tree.at("link"))].into_iter().collect();
    let dirs = temp_dirs(&environment);
    for path in ["/tmp".to_owned(), tree.at("link"), tree.at("own")] {
        assert!(dirs.contains(&PathBuf::from(&path)), "{path}");
    }
    let relative = [("TMPDIR", "own")].into_iter().collect();
    assert!(!temp_dirs(&relative).contains(&PathBuf::from("own")));
}
