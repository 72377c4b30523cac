//! Records the protected paths before a command starts.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::check::take;
use super::entry::{self, Entry};
use super::folders::{self, Identity};
use super::marks::Mark;
use super::places::Place;
use super::store::{Lock, Record, Store};
use crate::linux::file_id::FileId;
use crate::request::{RawPath, SandboxRequest, Tier};

/// The mounts of the first tier.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mounts {
    /// Folders that must not be renamed, outermost first.
    pub(crate) pinned: Vec<(PathBuf, Identity)>,
    /// Read-only paths, and which files they are.
    pub(crate) read_only: BTreeMap<PathBuf, FileId>,
    /// Files that are mounted read-only, but that commands may still be able to change.
    pub(super) writable: Vec<PathBuf>,
}

/// Records places before a command starts.
pub(super) struct Recorder<'a> {
    pub(super) store: &'a Store,
    pub(super) lock: &'a Lock,
    /// The commands that run.
    pub(super) marks: &'a [Mark],
    pub(super) tier: Tier,
    pub(super) mounts: Mounts,
    /// A path that another command has changed and that is not restored yet.
    pub(super) unsettled: Option<PathBuf>,
}

impl Recorder<'_> {
    /// Whether every change of this path is the user's.
    fn is_quiet(&self, path: &Path) -> bool {
        !self.marks.iter().any(|mark| mark.touches(path))
    }

    /// Repositories of this session and of earlier ones that a command removed: their records apply to whatever appears
    /// there, and to the tops of their work trees.
    pub(super) fn removed_places(
        &self,
        request: &SandboxRequest,
        known: &[RawPath],
    ) -> io::Result<Vec<Place>> {
        let mut places = Vec::new();
        for path in request.repositories.iter().chain(known) {
            if folders::open(&path.0).is_ok_and(|found| found.is_some()) {
                continue;
            }
            let Some(record) = self.store.load(self.lock, &path.0)? else { continue };
            if !record.is_removed && self.is_quiet(&path.0) {
                self.store.remove(self.lock, &record)?;
                continue;
            }
            let top = path.0.parent().filter(|_| path.0.ends_with(".git"));
            let top = top.map(|top| self.store.load(self.lock, top)).transpose()?.flatten();
            for record in [record].into_iter().chain(top) {
                let Some(root) = request.outermost_top(self.tier, &record.path.0) else { continue };
                places.push(Place {
                    path: record.path,
                    root: root.into(),
                    objects: record.objects.into_iter().map(|(path, _)| path).collect(),
                    is_pinned: true,
                });
            }
        }
        Ok(places)
    }

    /// The repositories that earlier commands knew in these roots.
    pub(super) fn known_repositories(&self, request: &SandboxRequest) -> io::Result<Vec<RawPath>> {
        let mut known = Vec::new();
        for root in request.tops(self.tier) {
            let record = self.store.load(self.lock, &root.path)?;
            known.extend(record.into_iter().flat_map(|record| record.repositories));
        }
        Ok(known)
    }

    /// Records a place; `all` are the places of the request.
    pub(super) fn record(&mut self, place: &Place, all: &[Place]) -> io::Result<()> {
        let is_below = |one: &&Place| one.path.0.starts_with(&place.path.0) && one.is_repository();
        let known = self.store.load(self.lock, &place.path.0)?;
        let mut record = known.clone().unwrap_or_else(|| Record {
            path: place.path.clone(),
            root: place.root.clone(),
            folders: Vec::new(),
            objects: Vec::new(),
            is_removed: false,
            restored: Vec::new(),
            repositories: Vec::new(),
        });
        // Of another command, it may be a root.
        if place.path == place.root {
            record.repositories = all.iter().filter(is_below).map(|one| one.path.clone()).collect();
        }
        let folder = folders::open(&place.path.0)?;
        if known.is_none() || self.is_quiet(&place.path.0) {
            record.root = place.root.clone();
            if folder.is_some() {
                record.folders = identities(place)?;
                record.is_removed = false;
            }
        } else if !record.is_removed && !record.add_folders(place)? {
            self.unsettled = Some(place.path.0.clone());
        }
        if let Some(folder) = &folder {
            for below in &place.objects {
                let path = place.path.0.join(&below.0);
                let recorded = record.object(&below.0).cloned();
                let now = object(folder, &below.0, recorded.as_ref().and_then(Option::as_ref))
                    .map_err(|error| {
                        io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                    })?;
                match recorded {
                    Some(recorded) if !self.is_quiet(&path) => {
                        if now != recorded {
                            self.unsettled = Some(path.clone());
                        }
                    }
                    // Another command may have created it.
                    None if known.is_some() && !self.is_quiet(&path) => {
                        if now.is_some() {
                            self.unsettled = Some(path.clone());
                        }
                        record.set(&below.0, None);
                    }
                    Some(_) | None => record.set(&below.0, now.clone()),
                }
                self.note_mount(place, &below.0, now.as_ref())?;
            }
        }
        if place.is_pinned {
            for folder in identities(place)?.iter().filter(|_| folder.is_some()) {
                self.pin(&folder.0.0, folder.1);
            }
        }
        match known.is_some_and(|known| !record.is_changed_from(&known)) {
            true => Ok(()),
            false => self.store.save(self.lock, &record),
        }
    }

    fn note_mount(&mut self, place: &Place, below: &Path, now: Option<&Entry>) -> io::Result<()> {
        let path = place.path.0.join(below);
        if let Some(now) = now {
            if self.tier == Tier::Landlock && now.has_unrecorded() {
                let (mib, entries, levels) =
                    (entry::MAX_BYTES >> 20, entry::MAX_ENTRIES, entry::MAX_DEPTH);
                return Err(io::Error::other(format!(
                    "{}: eyelet cannot save a copy of this path, which it needs to undo changes: \
                     the path is not readable, or has more than {mib} MiB, {entries} entries or \
                     {levels} levels of directories; make the path readable or smaller",
                    path.display()
                )));
            }
            if !now.is_link() {
                let mut near = self.marks.iter().filter(|mark| mark.touches(&path));
                let is_mounted = |mark: &Mark| mark.never_replaced(&path) == Some(now.id);
                if now.is_linked() || !near.all(is_mounted) {
                    self.mounts.writable.push(path.clone());
                }
                self.mounts.read_only.insert(path, now.id);
            }
        }
        let steps: Vec<_> = below.ancestors().skip(1).collect();
        for step in steps.into_iter().rev().filter(|step| !step.as_os_str().is_empty()) {
            let step = place.path.0.join(step);
            if let Some(folder) = folders::open(&step)?.filter(|_| place.is_pinned) {
                self.pin(&step, folders::identity(&folder)?);
            }
        }
        Ok(())
    }

    fn pin(&mut self, path: &Path, identity: Identity) {
        if !self.mounts.pinned.iter().any(|(own, _)| own == path) {
            self.mounts.pinned.push((path.to_owned(), identity));
        }
    }
}

impl Record {
    /// Adds the folders of a place that it does not know: commands with other roots know others. Returns false if one that
    /// it knows is another one now.
    fn add_folders(&mut self, place: &Place) -> io::Result<bool> {
        let (paths, now) = (place.folders(), identities(place)?);
        let mut known = self.folders.iter().filter(|(path, _)| paths.contains(&path.0));
        let is_same = known.all(|known| now.contains(known));
        let is_new = |(path, _): &(RawPath, _)| !self.folders.iter().any(|(own, _)| own == path);
        let new: Vec<_> = now.into_iter().filter(is_new).collect();
        self.folders.extend(new);
        self.folders.sort_by_key(|(path, _)| path.0.components().count());
        Ok(is_same)
    }
}

/// The folders from the root to a place, and the place.
fn identities(place: &Place) -> io::Result<Vec<(RawPath, Identity)>> {
    let mut identities = Vec::new();
    for path in place.folders() {
        match folders::open(&path)? {
            Some(folder) => identities.push((RawPath::from(&path), folders::identity(folder)?)),
            None => break,
        }
    }
    Ok(identities)
}

/// A protected path as it is now.
fn object(folder: &OwnedFd, below: &Path, known: Option<&Entry>) -> io::Result<Option<Entry>> {
    let mut here = folder.try_clone()?;
    for step in below.parent().into_iter().flat_map(Path::components) {
        match folders::enter(&here, step.as_os_str())? {
            Some(entered) => here = entered,
            None => return Ok(None),
        }
    }
    take(&here, below.file_name().unwrap_or_default(), known)
}
