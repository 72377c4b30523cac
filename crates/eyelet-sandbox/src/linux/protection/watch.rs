//! Watches protected paths with inotify while a command runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::folders;
use super::places::Place;
use crate::watch_handle;

/// Everything that changes what a path means.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::ONLYDIR);

/// How many folders in a protected one are watched. In a larger one, changes are noticed at the regular checks.
const MAX_FOLDERS: usize = 1000;

/// How many events are read at once. Processes that change files all the time could delay the restore otherwise.
const MAX_EVENTS: usize = 100_000;

/// A change of a watched path.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub(super) path: PathBuf,
    pub(super) flags: ReadFlags,
}

pub(super) struct Watch {
    inotify: OwnedFd,
    /// By watch descriptor. The same folder may have several paths.
    folders: HashMap<i32, HashMap<PathBuf, Names>>,
    /// Whether some folder is not watched, because its owner may not read it, or because there are too many.
    pub(super) is_incomplete: bool,
}

/// The names in a folder whose changes are reported, in lower case: some file systems ignore the case.
#[derive(Clone, Debug)]
enum Names {
    All,
    Some(BTreeSet<OsString>),
}

impl Watch {
    /// Watches `mark`, a file of the store.
    pub(super) fn new(mark: &Path, inotify: Option<&OwnedFd>) -> io::Result<Self> {
        let inotify = match inotify {
            Some(inotify) => inotify.try_clone()?,
            None => watch_handle::create()?,
        };
        let mut watch = Watch { inotify, folders: HashMap::new(), is_incomplete: false };
        let number = inotify::add_watch(&watch.inotify, mark, WatchFlags::MODIFY)
            .map_err(|error| watch_handle::exhausted(error, "watches"))?;
        watch.folders.entry(number).or_default().insert(mark.to_owned(), Names::All);
        Ok(watch)
    }

    pub(super) fn handle(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Watches everything that leads to the protected paths of a place. Folders that are watched already stay so.
    pub(super) fn add(&mut self, place: &Place) -> io::Result<()> {
        let mut names: BTreeMap<PathBuf, BTreeSet<&OsStr>> = BTreeMap::new();
        let folders = place.folders();
        let mut parent = &place.root.0;
        for folder in &folders {
            names.entry(parent.clone()).or_default().extend(folder.file_name());
            parent = folder;
        }
        for object in &place.objects {
            let mut folder = place.path.0.clone();
            for step in object.0.components() {
                names.entry(folder.clone()).or_default().insert(step.as_os_str());
                folder.push(step);
            }
        }
        for (folder, names) in &names {
            if let Some(Names::Some(watched)) = self.add_folder(folder)? {
                watched.extend(names.iter().map(|name| name.to_ascii_lowercase()));
            }
        }
        for object in &place.objects {
            self.add_tree(&place.path.0.join(&object.0))?;
        }
        Ok(())
    }

    /// Watches a folder and the folders in it.
    fn add_tree(&mut self, folder: &Path) -> io::Result<()> {
        let mut todo = vec![folder.to_owned()];
        let mut watched = 0;
        while let Some(folder) = todo.pop() {
            watched += 1;
            if watched > MAX_FOLDERS {
                // A command may have made it so large to delay the restore.
                self.is_incomplete = true;
                break;
            }
            let Some(names) = self.add_folder(&folder)? else { continue };
            *names = Names::All;
            let Some(handle) = folders::open(&folder)? else { continue };
            // A folder that its owner may not read is restored as a whole.
            let names = folders::names_of_folders(&handle).unwrap_or_default();
            todo.extend(names.into_iter().map(|name| folder.join(name)));
        }
        Ok(())
    }

    fn add_folder(&mut self, path: &Path) -> io::Result<Option<&mut Names>> {
        let handle = match folders::open(path) {
            // Commands cannot change what its owner may not enter, until he may.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
            opened => opened?,
        };
        let Some(handle) = handle else { return Ok(None) };
        let number = match inotify::add_watch(&self.inotify, folders::by_handle(&handle), CHANGES) {
            Err(Errno::ACCESS) => {
                self.is_incomplete = true;
                return Ok(None);
            }
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            number => number.map_err(|error| watch_handle::exhausted(error, "watches"))?,
        };
        let paths = self.folders.entry(number).or_default();
        Ok(Some(paths.entry(path.to_owned()).or_insert_with(|| Names::Some(BTreeSet::new()))))
    }

    /// Watches nothing any more: the caller uses the instance again.
    pub(super) fn clear(&mut self) {
        for number in self.folders.drain().map(|(number, _)| number) {
            let _ = inotify::remove_watch(&self.inotify, number);
        }
    }

    /// The changes since the last call. None if there were too many to tell.
    pub(super) fn read(&mut self) -> io::Result<Option<Vec<Event>>> {
        self.read_at_most(MAX_EVENTS)
    }

    fn read_at_most(&mut self, most: usize) -> io::Result<Option<Vec<Event>>> {
        let mut events = Vec::new();
        let mut is_complete = true;
        let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut removed = Vec::new();
        for number in 0.. {
            if number == most {
                is_complete = false;
                break;
            }
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let flags = event.events();
            if flags.contains(ReadFlags::QUEUE_OVERFLOW) {
                is_complete = false;
            }
            if flags.contains(ReadFlags::IGNORED) {
                removed.push(event.wd());
                continue;
            }
            let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
            for (folder, names) in self.folders.get(&event.wd()).into_iter().flatten() {
                match (name, names) {
                    (Some(name), Names::Some(names))
                        if !names.contains(&name.to_ascii_lowercase()) => {}
                    (Some(name), _) => events.push(Event { path: folder.join(name), flags }),
                    (None, _) => events.push(Event { path: folder.clone(), flags }),
                }
            }
        }
        for number in removed {
            self.folders.remove(&number);
        }
        Ok(is_complete.then_some(events))
    }
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
