use std::fs;

use testkit::TempTree;

use super::*;

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
    search.search(&[tree.path().to_owned()]);
    assert!(search.is_complete());
    // It was moved again meanwhile.
    fs::rename(tree.path().join("other/away"), tree.path().join("other/again")).unwrap();
    assert!(put_back(&mut search).is_err() && search.is_wanted(identity));
    search.search(&[tree.path().to_owned()]);
    let replaced = put_back(&mut search).unwrap().unwrap();
    assert_eq!(replaced.copy, Some(tree.path().join("sub.eyelet-conflict")));
    assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "kept");

    // One that is gone is not looked for again.
    fs::remove_dir_all(&path).unwrap();
    let mut search = Search::default();
    assert!(put_back(&mut search).is_err());
    search.search(&[tree.path().to_owned()]);
    assert!(matches!(put_back(&mut search), Ok(None)) && search.is_complete());
}
