//! The protected paths of a request. The paths are grouped by place, which is the folder that holds
//! them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::closed_folder::{cannot_search, closed_folder, is_refused};
use crate::git_folders::{common_folder, pointed_folder};
use crate::linux::resolve::{at, if_accessible, real};
use crate::request::{RawPath, SandboxRequest, Strictness, Tier};

/// In a folder of git: where it finds commands, and what leads it to other such files. A remote that is not in `config` may be
/// in `remotes` or `branches`.
const GIT_OBJECTS: &[&str] =
    &["branches", "commondir", "config", "config.worktree", "hooks", "remotes"];
/// Also protected in a main repository outside the roots.
const COMMON_OBJECTS: &[&str] = &["info/attributes", "modules"];
/// Git does not read hooks in the folder of a linked worktree.
const WORKTREE_OBJECTS: &[&str] = &["config", "config.worktree", "commondir", "gitdir"];

/// How many symlinks Linux follows on the way to a path.
const MAX_LINKS: usize = 40;

/// A folder with protected paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Without symlinks.
    pub(crate) path: RawPath,
    /// The outermost root that holds it.
    pub(crate) root: RawPath,
    /// The protected paths, relative to the place.
    pub(crate) objects: Vec<RawPath>,
    /// Whether commands cannot rename it or the folders around it: for repositories and their work trees.
    pub(crate) is_pinned: bool,
}

impl Place {
    /// Whether it is a folder of git.
    pub(super) fn is_repository(&self) -> bool {
        self.objects.iter().any(|own| own.0 == Path::new("commondir"))
    }

    /// The folders from the root to the place, outermost first, and the place itself; without the root.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let below_root =
            |folder: &&Path| **folder != self.root.0 && folder.starts_with(&self.root.0);
        let mut folders: Vec<PathBuf> =
            self.path.0.ancestors().filter(below_root).map(Path::to_owned).collect();
        folders.reverse();
        folders
    }
}

/// Finds the places of a request, outermost first. `known` are repositories of earlier sessions:
/// the search may not have found them, because a command may have broken them.
pub(super) fn of(
    request: &SandboxRequest,
    tier: Tier,
    known: &[RawPath],
) -> io::Result<Vec<Place>> {
    let mut finder = Finder { request, tier, places: BTreeMap::new() };
    for root in &request.roots {
        finder.add_top(&root.path);
        // A new repository may be created whole, and what is in it is its creator's.
        let has_git = at(&root.path.join(".git"))?.is_some();
        if !has_git && request.strictness == Strictness::Strict {
            finder.add(&root.path, [Path::new(".git")], true);
        }
    }
    for repository in request.repositories.iter().chain(known) {
        check_access(request, &repository.0)?;
        finder.add_repository(&repository.0)?;
    }
    for common in request.worktrees.iter().map(|worktree| &worktree.common.path) {
        let objects = COMMON_OBJECTS.iter().map(Path::new);
        // What exists is mounted read-only, without a record of all submodules.
        let objects = objects.filter(|object| common.join(object).symlink_metadata().is_err());
        finder.add(common, objects, true);
    }
    finder.follow_links()?;
    let mut places: Vec<_> = finder.places.into_values().collect();
    places.sort_by_key(|place| place.path.0.components().count());
    Ok(places)
}

/// Adds places; one that is known already gets more objects.
pub(super) fn add(places: &mut Vec<Place>, more: Vec<Place>) {
    for place in more {
        match places.iter_mut().find(|known| known.path == place.path) {
            Some(known) => {
                let is_new = |object: &RawPath| !known.objects.contains(object);
                let new: Vec<_> = place.objects.into_iter().filter(is_new).collect();
                known.objects.extend(new);
            }
            None => places.push(place),
        }
    }
}

/// Fails if the user has closed a folder around a repository and commands could open it again.
fn check_access(request: &SandboxRequest, repository: &Path) -> io::Result<()> {
    if !is_refused(&repository.symlink_metadata()) {
        return Ok(());
    }
    let is_hidden = |closed: &Path| request.hidden.iter().any(|path| closed.starts_with(&path.0));
    match closed_folder(repository).filter(|closed| !is_hidden(closed)) {
        Some(closed) => Err(io::Error::other(cannot_search(closed.display()))),
        None => Ok(()),
    }
}

struct Finder<'r> {
    request: &'r SandboxRequest,
    tier: Tier,
    places: BTreeMap<PathBuf, Place>,
}

impl Finder<'_> {
    fn add<'p>(
        &mut self,
        path: &Path,
        objects: impl IntoIterator<Item = &'p Path>,
        is_pinned: bool,
    ) {
        let Some(root) = self.request.outermost_top(self.tier, path) else { return };
        let place = self.places.entry(path.to_owned()).or_insert_with(|| Place {
            path: path.into(),
            root: root.into(),
            objects: Vec::new(),
            is_pinned,
        });
        place.is_pinned |= is_pinned;
        for object in objects {
            if !place.objects.iter().any(|own| own.0 == object) {
                place.objects.push(object.into());
            }
        }
    }

    /// The top of a root or of a work tree.
    fn add_top(&mut self, top: &Path) {
        let request = self.request;
        self.add(top, request.protected.iter().map(|path| path.0.as_path()), true);
        // With these, git would take the top itself for a repository if `.git` is broken.
        let has_head = at(&top.join("HEAD")).is_ok_and(|found| found.is_some());
        if !has_head {
            self.add(top, [Path::new("HEAD")], true);
        }
    }

    /// A `.git` folder, file or symlink, or a bare repository.
    fn add_repository(&mut self, git: &Path) -> io::Result<()> {
        let (Some(parent), Some(name)) = (self.inside(git.parent())?, git.file_name()) else {
            return self.add_folder(git);
        };
        let git = parent.join(name);
        let Some(found) = at(&git)? else { return Ok(()) };
        if name == ".git" {
            self.add_top(&parent);
        }
        if found.is_dir() {
            return self.add_folder(&git);
        }
        self.add(&parent, [Path::new(name)], true);
        let is_folder =
            if_accessible(|| std::fs::metadata(&git))?.is_some_and(|found| found.is_dir());
        match is_folder {
            true => self.add_folder(&git),
            false => pointed_folder(&git)?.map_or(Ok(()), |folder| self.add_folder(&folder)),
        }
    }

    /// A folder of git, and the one that it shares its settings with.
    fn add_folder(&mut self, folder: &Path) -> io::Result<()> {
        let target = real(folder)?;
        if target.as_deref() != Some(folder) {
            self.add_links(links_to(folder)?);
        }
        let Some(folder) = target.filter(|target| self.is_inside(target)) else { return Ok(()) };
        let is_known =
            |place: &Place| place.objects.iter().any(|own| own.0 == Path::new("commondir"));
        let is_folder = at(&folder)?.is_some_and(|found| found.is_dir());
        if !is_folder || self.places.get(&folder).is_some_and(is_known) {
            return Ok(());
        }
        let common = common_folder(&folder)?;
        let objects = if is_worktree(&folder)? { WORKTREE_OBJECTS } else { GIT_OBJECTS };
        self.add(&folder, objects.iter().map(Path::new), true);
        common.map_or(Ok(()), |common| self.add_folder(&common))
    }

    /// Protects symlinks on the way to protected paths, and their targets inside the roots.
    fn follow_links(&mut self) -> io::Result<()> {
        for place in self.places.values().cloned().collect::<Vec<_>>() {
            for object in &place.objects {
                let Some(link) = first_link(&place.path.0, &object.0)? else { continue };
                let path = place.path.0.join(&object.0);
                self.add(&place.path.0, [link.as_path()], false);
                let mut links = links_to(&path)?;
                links.retain(|other| *other != place.path.0.join(&link));
                self.add_links(links);
                for target in targets(&path)? {
                    if let (Some(folder), Some(name)) = (target.parent(), target.file_name()) {
                        self.add(folder, [Path::new(name)], false);
                    }
                }
                if link != object.0 {
                    if let Some(place) = self.places.get_mut(&place.path.0) {
                        place.objects.retain(|own| own.0 != object.0);
                    }
                }
            }
        }
        Ok(())
    }

    /// Protects symlinks on the way to a protected path: a command could make them lead elsewhere.
    fn add_links(&mut self, links: Vec<PathBuf>) {
        for link in links {
            if let (Some(folder), Some(name)) = (link.parent(), link.file_name()) {
                self.add(folder, [Path::new(name)], false);
            }
        }
    }

    /// The path without symlinks, if it lies in a root: commands can change nothing else.
    fn inside(&self, path: Option<&Path>) -> io::Result<Option<PathBuf>> {
        let real = path.map(real).transpose()?.flatten();
        Ok(real.filter(|real| self.is_inside(real)))
    }

    fn is_inside(&self, real: &Path) -> bool {
        self.request.outermost_top(self.tier, real).is_some()
    }
}

/// Whether it is the folder of a linked worktree: `worktrees/NAME` in another folder of git.
fn is_worktree(folder: &Path) -> io::Result<bool> {
    let Some(worktrees) = folder.parent().filter(|parent| parent.ends_with("worktrees")) else {
        return Ok(false);
    };
    let objects = worktrees.parent().map(|common| at(&common.join("objects"))).transpose()?;
    Ok(objects.flatten().is_some() && at(&folder.join("commondir"))?.is_some())
}

/// The first step from `folder` to `below` that is a symlink.
fn first_link(folder: &Path, below: &Path) -> io::Result<Option<PathBuf>> {
    let mut step = PathBuf::new();
    for component in below.components() {
        step.push(component);
        if at(&folder.join(&step))?.is_some_and(|found| found.is_symlink()) {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// The symlinks that the system follows on the way to `path`. Each is in a folder without symlinks.
fn links_to(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut links = Vec::new();
    let mut here = PathBuf::new();
    let steps =
        |path: &Path| path.components().rev().map(|step| step.as_os_str().to_owned()).collect();
    let mut todo: Vec<OsString> = steps(path);
    while let Some(step) = todo.pop() {
        match step.as_bytes() {
            b"." => continue,
            b".." => {
                here.pop();
                continue;
            }
            _ => {}
        }
        // An absolute target starts anew.
        here.push(&step);
        if !at(&here)?.is_some_and(|found| found.is_symlink()) {
            continue;
        }
        let Some(target) = if_accessible(|| std::fs::read_link(&here))? else { continue };
        links.push(here.clone());
        // The system follows no more either.
        if links.len() == MAX_LINKS {
            break;
        }
        here.pop();
        todo.extend::<Vec<_>>(steps(&target));
    }
    Ok(links)
}

/// The targets of `path`: the target of its folder joined with its name, and its own target.
fn targets(path: &Path) -> io::Result<Vec<PathBuf>> {
    let folder = path.parent().map(real).transpose()?.flatten();
    let beside = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
    let all = beside.into_iter().chain(real(path)?);
    Ok(all.filter(|target| target != path).collect())
}
