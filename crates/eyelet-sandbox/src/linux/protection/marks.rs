//! Marks: one file in the store for each command that runs. The supervisor of the command holds a
//! lock on the mark. A mark without a lock therefore means that a supervisor was killed.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::folders::{self, Identity};
use super::places::Place;
use super::store::{Lock, Store, is_missing, open_file, private_file};
use crate::linux::file_id::FileId;
use crate::message::Reverted;
use crate::request::{RawPath, Tier};

/// A running command, or one whose supervisor was killed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) roots: Vec<RawPath>,
    /// The roots' device and inode numbers.
    pub(super) identities: Vec<Identity>,
    /// The folders outside the roots to which the command can move something: its temp directory and caches.
    pub(super) elsewhere: Vec<RawPath>,
    pub(super) tier: Tier,
    pub(super) places: Vec<Place>,
    /// The files that were mounted read-only before the command started, ordered by path. The
    /// command could never write to these files.
    pub(super) mounted: Vec<(RawPath, FileId)>,
    /// Which of these paths had another file since, or one with other names: a command may have a handle to write to it.
    pub(super) replaced: Vec<RawPath>,
}

impl Mark {
    /// Whether this root is still the same folder.
    pub(super) fn has_root(&self, root: &Path) -> bool {
        let known = self.roots.iter().zip(&self.identities).find(|(own, _)| own.0 == root);
        let now = folders::open_root(root).ok().flatten();
        let now = now.and_then(|now| folders::identity(now).ok());
        known.is_some_and(|(_, known)| now == Some(*known))
    }

    /// The file at this path that was mounted read-only before the command started.
    pub(super) fn mounted(&self, path: &Path) -> Option<FileId> {
        let found = self.mounted.binary_search_by(|(own, _)| own.0.as_path().cmp(path));
        self.mounted.get(found.ok()?).map(|(_, id)| *id)
    }

    /// The same, if no other file was there since.
    pub(super) fn never_replaced(&self, path: &Path) -> Option<FileId> {
        self.mounted(path).filter(|_| !self.replaced.iter().any(|own| own.0 == path))
    }

    /// The files that another command has mounted, but this one can write to.
    pub(super) fn writable_of<'m>(&self, other: &'m Mark) -> impl Iterator<Item = &'m RawPath> {
        let mounted = other.mounted.iter().map(|(path, _)| path);
        mounted.filter(|path| self.touches(&path.0) && self.mounted(&path.0).is_none())
    }

    /// Whether the command can change this path or something in it.
    pub(super) fn touches(&self, path: &Path) -> bool {
        self.contains(path) || self.roots.iter().any(|root| root.0.starts_with(path))
    }

    /// Whether the command can write there.
    fn contains(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(&root.0))
    }

    /// Whether both commands can write to some path.
    pub(super) fn overlaps(&self, other: &Mark) -> bool {
        let contains =
            |one: &Mark, other: &Mark| other.roots.iter().any(|root| one.contains(&root.0));
        contains(self, other) || contains(other, self)
    }
}

/// A mark of another process.
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) mark: Mark,
    pub(super) reverted: Vec<Reverted>,
    pub(super) is_alive: bool,
}

impl Store {
    /// The marks of all commands but `own`.
    pub(super) fn marks(&self, _lock: &Lock, own: Option<&Path>) -> io::Result<Vec<Found>> {
        let mut marks = Vec::new();
        for entry in fs::read_dir(self.folder.join("marks"))? {
            let path = entry?.path();
            if own == Some(&path) {
                continue;
            }
            let mut file = match open_file(&path, private_file().read(true)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            let is_alive = match flock(&file, FlockOperation::NonBlockingLockShared) {
                Ok(()) => false,
                Err(Errno::WOULDBLOCK) => true,
                Err(error) => return Err(error.into()),
            };
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            let first = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
            match serde_json::from_slice(first) {
                Ok(mark) => {
                    let mut mark: Mark = mark;
                    // Nothing is left that could be restored.
                    if !is_alive && mark.roots.iter().all(|root| is_missing(&root.0)) {
                        fs::remove_file(&path)?;
                        continue;
                    }
                    let Notes { replaced, reverted, .. } = Notes::new(&text);
                    mark.replaced.extend(replaced);
                    marks.push(Found { path, mark, reverted, is_alive });
                }
                // Its process was killed before it could start a command.
                Err(_) if !is_alive => fs::remove_file(&path)?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(marks)
    }

    /// Notes in the marks of other commands which of their files this one can write to.
    pub(super) fn note_writable(&self, lock: &Lock, own: &Mark) -> io::Result<()> {
        for Found { path: file, mark, .. } in self.marks(lock, None)? {
            for path in own.writable_of(&mark) {
                append(&file, &Note::Replaced(path.clone()))?;
            }
        }
        Ok(())
    }

    /// Creates a mark. The file has to stay open as long as the command runs.
    pub(super) fn create_mark(&self, _lock: &Lock, mark: &Mark) -> io::Result<MarkFile> {
        let random = getrandom::u64().map_err(io::Error::other)?;
        let path = self.folder.join("marks").join(format!("{random:016x}"));
        let mut file = private_file().append(true).create_new(true).open(&path)?;
        let written = flock(&file, FlockOperation::NonBlockingLockExclusive)
            .map_err(io::Error::from)
            .and_then(|()| Ok(serde_json::to_vec(mark)?))
            .and_then(|text| file.write_all(&[&text, b"\n".as_slice()].concat()));
        match written {
            Ok(()) => Ok(MarkFile { path, _file: file }),
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }
}

/// A note in a mark, after its first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Note {
    /// The supervisor must kill the command, because this path kept changing.
    Kill(RawPath),
    /// The file at this path is not the file that was mounted before the command started.
    Replaced(RawPath),
    /// eyelet restored this path. The process that removes the mark reports the change.
    Reverted(Reverted),
}

fn append(mark: &Path, note: &Note) -> io::Result<()> {
    let text = serde_json::to_vec(note)?;
    let mut file = open_file(mark, private_file().append(true))?;
    file.write_all(&[&text, b"\n".as_slice()].concat())
}

/// Asks the supervisor of a mark to kill its command, which may be the one that kept changing this path.
pub(super) fn ask_to_kill(mark: &Path, path: &Path) -> io::Result<()> {
    match append(mark, &Note::Kill(path.into())) {
        // The command has just ended.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        appended => appended,
    }
}

/// The file of this command's mark. The file stays locked as long as the command runs.
pub(super) struct MarkFile {
    pub(super) path: PathBuf,
    _file: File,
}

impl MarkFile {
    pub(super) fn note_replaced(&self, path: &Path) -> io::Result<()> {
        append(&self.path, &Note::Replaced(path.into()))
    }

    /// Everything that is noted in the mark, also by other processes.
    pub(super) fn notes(&self) -> io::Result<Notes> {
        let mut text = Vec::new();
        open_file(&self.path, private_file().read(true))?.read_to_end(&mut text)?;
        Ok(Notes::new(&text))
    }

    pub(super) fn note_reverted(&self, reverted: &Reverted) -> io::Result<()> {
        append(&self.path, &Note::Reverted(reverted.clone()))
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// The notes of a mark.
#[derive(Debug, Default)]
pub(super) struct Notes {
    /// The path for which the command has to be killed.
    pub(super) killed_for: Option<PathBuf>,
    pub(super) replaced: Vec<RawPath>,
    /// The paths that were restored so far.
    pub(super) reverted: Vec<Reverted>,
}

impl Notes {
    fn new(text: &[u8]) -> Self {
        let mut notes = Notes::default();
        for line in text.split(|byte| *byte == b'\n').skip(1) {
            match serde_json::from_slice(line) {
                Ok(Note::Kill(path)) => notes.killed_for = Some(path.0),
                Ok(Note::Replaced(path)) => notes.replaced.push(path),
                Ok(Note::Reverted(reverted)) => notes.reverted.push(reverted),
                // Not yet written in full.
                Err(_) => {}
            }
        }
        notes
    }
}
