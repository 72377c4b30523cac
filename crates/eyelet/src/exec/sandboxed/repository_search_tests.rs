use std::sync::Mutex;

use testkit::TempTree;

use super::*;

#[test]
fn repositories_of_every_kind_are_found() {
    let tree = TempTree::new(
        ".git/config =\n\
         linked/.git = gitdir: elsewhere\n\
         mirror.git/HEAD =\nmirror.git/objects/\nmirror.git/refs/\n\
         a/b/.hidden/.git/HEAD =\n\
         .git/modules/x/HEAD =\n\
         not/HEAD =\nnot/objects/",
    );
    let found = RepositorySearch::default().below(&[tree.path()]).unwrap().folders;
    let found: Vec<_> = found
        .iter()
        .map(|path| path.strip_prefix(tree.path()).unwrap().to_str().unwrap())
        .collect();
    assert_eq!(found, [".git", ".git/modules/x", "a/b/.hidden/.git", "linked/.git", "mirror.git"]);
}

#[test]
fn a_root_that_is_a_bare_repository_is_found() {
    let tree = TempTree::new("HEAD =\nobjects/\nrefs/");
    let found = RepositorySearch::default().below(&[tree.path()]).unwrap().folders;
    assert_eq!(found, [tree.path()]);
}

#[test]
fn a_number_of_repositories_is_no_limit() {
    let tree = TempTree::new("file =");
    for number in 0..600 {
        std::fs::create_dir_all(tree.path().join(format!("{number}/.git"))).unwrap();
    }
    assert_eq!(RepositorySearch::default().below(&[tree.path()]).unwrap().folders.len(), 600);
}

#[test]
fn a_search_that_takes_long_fails_once_and_continues() {
    static GATE: Mutex<()> = Mutex::new(());
    let closed = GATE.lock().unwrap();
    let searches = RepositorySearch::default();
    let slow = |_: &Search| {
        drop(GATE.lock().unwrap());
        Repositories { folders: vec![PathBuf::from("/root/.git")], ..Repositories::default() }
    };
    let root = Path::new("/root");
    let error = searches.search(root, slow).wait(Duration::ZERO);
    let Err(Refusal::Later(error)) = error else { panic!("{error:?}") };
    assert!(error.starts_with("still searching the root `/root` for git repositories"), "{error}");
    drop(closed);
    let again = searches.search(root, |_| unreachable!("the search has already started"));
    assert_eq!(again.wait(Duration::from_secs(60)).unwrap().folders, [PathBuf::from("/root/.git")]);
}

#[test]
fn a_search_that_cannot_read_a_directory_fails_and_is_repeated() {
    let tree = TempTree::new("sub/.git/config =");
    let searches = RepositorySearch::default();
    let failed = searches.search(tree.path(), |_| {
        let mut found = Repositories::default();
        found.note_error(Path::new("/root/sub"), &rustix::io::Errno::MFILE.into());
        found
    });
    let error = failed.wait(Duration::from_secs(60));
    let Err(Refusal::Later(error)) = error else { panic!("{error:?}") };
    assert!(error.starts_with("cannot search /root/sub for repositories"), "{error}");
    let again = searches.below(&[tree.path()]).unwrap();
    assert_eq!(again.folders, [tree.path().join("sub/.git")]);
}
