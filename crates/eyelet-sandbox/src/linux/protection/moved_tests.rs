use std::fs;

use testkit::TempTree;

use super::*;

fn later() -> Instant {
    Instant::now() + std::time::Duration::from_secs(60)
}

#[test]
fn a_moved_folder_is_looked_for_only_when_the_lock_is_released() {
    let tree = TempTree::new("sub/file = kept\nother/");
    let path = tree.path().join("sub");
    let identity = folders::identity(folders::open(&path).unwrap().unwrap()).unwrap();
    let mut search = Search::default();
    let put_back = |search: &mut Search| put_back(tree.path(), &path, identity, search);
    assert!(matches!(put_back(&mut search), Ok(None)) && search.is_complete());

    fs::rename(&path, tree.path().join("other/away")).unwrap();
    fs::create_dir(&path).unwrap();
    // The check under the lock walks no tree.
    assert!(put_back(&mut search).is_err() && search.is_wanted(identity));
    let tops = [tree.path().to_owned()];
    search.search(&tops, later());
    assert!(search.is_complete());
    // It was moved again meanwhile.
    fs::rename(tree.path().join("other/away"), tree.path().join("other/again")).unwrap();
    assert!(put_back(&mut search).is_err() && search.is_wanted(identity));
    search.search(&tops, later());
    let replaced = put_back(&mut search).unwrap().unwrap();
    assert_eq!(replaced.copy, Some(tree.path().join("sub.eyelet-conflict")));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "kept");

    // One that is gone is not looked for again.
    fs::remove_dir_all(&path).unwrap();
    let mut search = Search::default();
    assert!(put_back(&mut search).is_err());
    search.search(&tops, later());
    assert!(matches!(put_back(&mut search), Ok(None)) && search.is_complete());
}

#[test]
fn a_search_continues_where_it_stopped() {
    let tree = TempTree::new("a/b/sub/file = kept\nc/\nd/");
    let path = tree.path().join("a/b/sub");
    let identity = folders::identity(folders::open(&path).unwrap().unwrap()).unwrap();
    fs::rename(&path, tree.path().join("a/b/away")).unwrap();
    let mut search = Search::default();
    assert!(put_back(tree.path(), &path, identity, &mut search).is_err());
    let tops = [tree.path().to_owned()];
    let mut parts = 0;
    while !search.is_complete() {
        // It stops after each directory.
        search.search(&tops, Instant::now());
        parts += 1;
        assert!(parts < 20);
    }
    assert!(parts > 2, "{parts}");
    put_back(tree.path(), &path, identity, &mut search).unwrap();
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "kept");

    // What is missed during a search is looked for in all directories.
    fs::rename(&path, tree.path().join("a/b/away")).unwrap();
    let other = tree.path().join("d");
    let second = folders::identity(folders::open(&other).unwrap().unwrap()).unwrap();
    let mut search = Search::default();
    assert!(put_back(tree.path(), &path, identity, &mut search).is_err());
    search.search(&tops, Instant::now());
    fs::rename(&other, tree.path().join("e")).unwrap();
    assert!(put_back(tree.path(), &other, second, &mut search).is_err());
    search.search(&tops, later());
    put_back(tree.path(), &other, second, &mut search).unwrap();
    assert!(other.is_dir() && search.is_complete());

    // A search that takes too long ends.
    fs::rename(&other, tree.path().join("e")).unwrap();
    let mut search = Search::default();
    assert!(put_back(tree.path(), &other, second, &mut search).is_err());
    search.search(&tops, Instant::now());
    search.give_up();
    assert!(search.is_complete());
    assert!(matches!(put_back(tree.path(), &other, second, &mut search), Ok(None)));
}
