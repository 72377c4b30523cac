use std::path::Path;
use std::sync::Arc;

use super::{Candidate, DeferredFiles, DeferredPart};

fn part<'p>(files: impl IntoIterator<Item = (i128, &'p str)>) -> DeferredPart {
    let mut part = DeferredPart::default();
    for (modified, path) in files {
        let path = Path::new(path);
        let folder: Arc<Path> = path.parent().unwrap().into();
        let name = path.file_name().unwrap();
        part.add(Candidate { modified, folder: &folder, name }, 8).unwrap();
    }
    part
}

fn taken(mut deferred: DeferredFiles, count: usize) -> Vec<(i128, String)> {
    let mut taken = Vec::new();
    while !deferred.is_empty() {
        for file in deferred.take_newest(count) {
            let file = deferred.candidate(&file).unwrap();
            let path = file.folder.join(file.name).to_str().unwrap().to_owned();
            taken.push((file.modified, path));
        }
    }
    taken
}

#[test]
fn files_are_sorted_by_time_then_by_path_bytes() {
    let paths = ["/a/b/c", "/a-b/c", "/a/b", "/a.c", "/a/b!/x", "/a/b/c/d", "/ä", "/a/", "/b/a"];
    let mut sorted = paths.map(|path| path.trim_end_matches('/'));
    sorted.sort_unstable();
    let (some, others) = paths.split_at(4);
    let parts = [
        part(some.iter().map(|path| (7, *path)).chain([(9, "/z")])),
        part(others.iter().map(|path| (7, *path)).chain([(-1, "/0")])),
    ];
    let taken: Vec<_> = taken(parts.into_iter().collect(), 2);
    let taken: Vec<_> = taken.iter().map(|(_, path)| path.as_str()).collect();
    let expected: Vec<_> = ["/z"].into_iter().chain(sorted).chain(["/0"]).collect();
    assert_eq!(taken, expected);
}

#[test]
fn packed_times_are_exact() {
    let times = [i128::from(i64::MAX) * 1_000_000_000, 1_999_999_999, 1, 0, -1, -1_999_999_999];
    let all = [part(times.map(|time| (time, "/f")))].into_iter().collect();
    assert_eq!(taken(all, 9).iter().map(|(time, _)| *time).collect::<Vec<_>>(), times);
}
