use std::ffi::OsStr;
use std::path::Path;

use super::{Candidate, take_newest};

fn candidate(modified: i128, path: &str) -> Candidate {
    let path = Path::new(path);
    let (folder, name) = (path.parent().unwrap().into(), path.file_name().unwrap());
    Candidate { modified, folder, name: OsStr::new(name).into() }
}

#[test]
fn the_newest_come_first_and_equal_times_by_the_bytes_of_the_path() {
    let paths = ["/a/b/c", "/a-b/c", "/a/b", "/a.c", "/a/b!/x", "/a/b/c/d", "/ä", "/a/", "/b/a"];
    let mut sorted = paths.map(|path| path.trim_end_matches('/'));
    sorted.sort_unstable();
    let mut all: Vec<_> = paths.iter().map(|path| candidate(7, path)).collect();
    all.push(candidate(9, "/z"));
    all.push(candidate(-1, "/0"));
    let mut taken = Vec::new();
    while !all.is_empty() {
        taken.extend(take_newest(&mut all, 2));
    }
    let taken: Vec<_> = taken.iter().map(|one| one.folder.join(&*one.name)).collect();
    let taken: Vec<_> = taken.iter().map(|path| path.to_str().unwrap()).collect();
    let expected: Vec<_> = ["/z"].into_iter().chain(sorted).chain(["/0"]).collect();
    assert_eq!(taken, expected);
}
