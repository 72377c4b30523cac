//! Loads the ignore files of a search.
//!
//! Inside the search path and the roots, ignore files are opened like all files: by handle,
//! following symlinks only inside the roots. Ignore files above the roots and the user's
//! configuration are opened by path, for their rules only.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::gitignore::Gitignore;
use ignore::overrides::Override;
use rustix::fs::{CWD, FileType, Mode, OFlags};

use crate::context::TurnContext;
use crate::text::entry_tree::EntryKind;

use crate::fs::directory::Directory;
use crate::paths::confined_path::{OpenAs, OpenFailure};
use crate::search::entry_names::EntryNames;
use crate::search::ignore::git_excludes;
use crate::search::ignore::rules::{
    self, Ignored, MAX_COST, OwnRules, Position, RuleFiles, RuleLevel, Rules,
};

const RGIGNORE: &str = ".rgignore";
const IGNORE: &str = ".ignore";
const GITIGNORE: &str = ".gitignore";
const GIT: &str = ".git";
const JJ: &str = ".jj";
const EXCLUDE: &str = "info/exclude";

/// How much is read of the line in `.git` or `commondir`.
const MAX_POINTER_BYTES: usize = 64 * 1024;

/// Loads ignore files for one turn.
pub(crate) struct RuleLoader<'t> {
    turn: &'t TurnContext,
    /// The working directory with symlinks resolved: the user's excludes match paths below it.
    cwd: &'t Path,
}

/// What `.git` is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Git {
    Nothing,
    /// A file with the path of the git directory, as in a linked worktree.
    Pointer,
    Directory,
}

impl<'t> RuleLoader<'t> {
    pub(crate) fn new(turn: &'t TurnContext, cwd: &'t Path) -> Self {
        RuleLoader { turn, cwd }
    }

    /// The rules of a search in `top`, without those of `top` itself and below.
    pub(crate) fn load(&self, ignored: Ignored, include: Override, top: &Path) -> Rules {
        let (base, above, global) = match ignored {
            Ignored::Show => (None, RuleLevel::none(), Gitignore::empty()),
            Ignored::Skip => {
                let base = std::fs::canonicalize(top).ok();
                let above =
                    base.as_deref().map_or_else(RuleLevel::none, |base| self.load_above(base));
                (base, above, self.load_global())
            }
        };
        Rules { ignored, include, above, global, top: top.to_owned(), base }
    }

    /// The user's global excludes.
    fn load_global(&self) -> Gitignore {
        git_excludes::excludes_path(&self.turn.environment, |path, most| {
            read(open_by_path(&self.turn.cwd.join(path))?, most)
        })
        .and_then(|path| read_rules(open_by_path(&self.turn.cwd.join(path))?, MAX_COST))
        .map_or_else(Gitignore::empty, |bytes| rules::parse(self.cwd, &bytes))
    }

    /// The rules of all directories above `base`, a path without symlinks.
    fn load_above(&self, base: &Path) -> Arc<RuleLevel> {
        let mut folders: Vec<_> = base.ancestors().skip(1).collect();
        folders.reverse();
        folders.into_iter().fold(RuleLevel::none(), |level, folder| {
            let mut own = RuleBuilder::new(folder, level.budget());
            for name in [RGIGNORE, IGNORE, GITIGNORE] {
                own.add(name, self.open_above(&folder.join(name)));
            }
            let git = git_above(&folder.join(GIT));
            own.exclude(self.open_exclude(folder, git, None));
            own.starts_repository = git != Git::Nothing || exists_above(&folder.join(JJ));
            level.enter(Position::Outside, own.finish())
        })
    }

    /// The rules of the open directory `path` with these `entries`.
    pub(crate) fn load_inside(
        &self,
        level: &Arc<RuleLevel>,
        path: &Path,
        directory: &Directory,
        entries: &EntryNames,
    ) -> Arc<RuleLevel> {
        let mut own = RuleBuilder::new(path, level.budget());
        let (mut git, mut jj) = (Git::Nothing, false);
        for (name, kind) in entries.iter() {
            if name.as_bytes().first() != Some(&b'.') {
                continue;
            }
            let Some(name @ (RGIGNORE | IGNORE | GITIGNORE | GIT | JJ)) = name.to_str() else {
                continue;
            };
            if name == GIT {
                git = self.git_inside(path, kind);
                own.exclude(self.open_exclude(path, git, Some(directory)));
            } else if name == JJ {
                jj = kind != EntryKind::Symlink || self.is_there(&path.join(JJ));
            } else {
                own.add(name, self.open_inside(path, directory, name));
            }
        }
        own.starts_repository = git != Git::Nothing || jj;
        level.enter(Position::Inside, own.finish())
    }

    /// Opens `name` in an open directory; follows a symlink if it stays inside the roots.
    fn open_inside(&self, path: &Path, directory: &Directory, name: &str) -> Option<File> {
        let file = directory.open_file(OsStr::new(name)).ok();
        file.or_else(|| self.open_confined(path.join(name)))
    }

    fn open_confined(&self, path: PathBuf) -> Option<File> {
        self.turn.confine(path)?.open_regular().ok()
    }

    /// Opens a file above the search path: confined if it is inside the roots, by path otherwise.
    fn open_above(&self, path: &Path) -> Option<File> {
        match self.turn.confine(path.to_owned()) {
            Some(confined) => confined.open_regular().ok(),
            None => open_by_path(path),
        }
    }

    fn git_inside(&self, path: &Path, kind: EntryKind) -> Git {
        match kind {
            EntryKind::File => Git::Pointer,
            EntryKind::Directory | EntryKind::Other => Git::Directory,
            EntryKind::Symlink if !self.is_there(&path.join(GIT)) => Git::Nothing,
            EntryKind::Symlink => match self.open_confined(path.join(GIT)) {
                Some(_) => Git::Pointer,
                None => Git::Directory,
            },
        }
    }

    /// Whether a symlink's target exists. Assumes so if it is outside of the roots.
    fn is_there(&self, path: &Path) -> bool {
        let Some(path) = self.turn.confine(path.to_owned()) else { return true };
        match path.open(OpenAs::Directory) {
            Err(OpenFailure::Io(error)) => error.kind() != std::io::ErrorKind::NotFound,
            Ok(_) | Err(OpenFailure::Refused(_) | OpenFailure::NotAFile) => true,
        }
    }

    /// Opens `info/exclude` of the repository in `folder`. `directory` is its handle if it is
    /// inside the search path.
    fn open_exclude(&self, folder: &Path, git: Git, directory: Option<&Directory>) -> Option<File> {
        match (git, directory) {
            (Git::Nothing, _) => None,
            (Git::Directory, None) => self.open_above(&folder.join(GIT).join(EXCLUDE)),
            (Git::Directory, Some(directory)) => {
                let info = directory.open_below([GIT, "info"].map(OsStr::new));
                let file = info.and_then(|info| info.open_file(OsStr::new("exclude"))).ok();
                file.or_else(|| self.open_confined(folder.join(GIT).join(EXCLUDE)))
            }
            (Git::Pointer, None) => self.open_pointed(self.open_above(&folder.join(GIT))?),
            (Git::Pointer, Some(directory)) => {
                self.open_pointed(self.open_inside(folder, directory, GIT)?)
            }
        }
    }

    /// Opens `info/exclude` of the repository that a `.git` file points to. The path comes from the
    /// tree, so it must be inside the roots.
    fn open_pointed(&self, pointer: File) -> Option<File> {
        let line = first_line(pointer)?;
        let git_dir = self.turn.cwd.join(line.strip_prefix("gitdir: ")?);
        let common = first_line(self.open_confined(git_dir.join("commondir"))?)?;
        let common =
            if common.starts_with('.') { git_dir.join(common) } else { self.turn.cwd.join(common) };
        self.open_confined(common.join(EXCLUDE))
    }
}

/// Collects the rules of one directory.
struct RuleBuilder<'p> {
    path: &'p Path,
    files: RuleFiles,
    starts_repository: bool,
    cost: usize,
    budget: usize,
}

impl<'p> RuleBuilder<'p> {
    fn new(path: &'p Path, budget: usize) -> Self {
        RuleBuilder { path, files: RuleFiles::none(), starts_repository: false, cost: 0, budget }
    }

    fn add(&mut self, name: &str, file: Option<File>) {
        let Some(rules) = self.read(file) else { return };
        match name {
            RGIGNORE => self.files.rgignore = rules,
            IGNORE => self.files.ignore = rules,
            _ => self.files.gitignore = rules,
        }
    }

    fn exclude(&mut self, file: Option<File>) {
        if let Some(rules) = self.read(file) {
            self.files.exclude = rules;
        }
    }

    fn read(&mut self, file: Option<File>) -> Option<Gitignore> {
        let bytes = read_rules(file?, self.budget.saturating_sub(self.cost))?;
        self.cost += rules::cost(&bytes);
        Some(rules::parse(self.path, &bytes))
    }

    fn finish(self) -> OwnRules {
        let RuleBuilder { files, starts_repository, cost, .. } = self;
        OwnRules { files, starts_repository, cost }
    }
}

fn exists_above(path: &Path) -> bool {
    rustix::fs::statat(CWD, path, rustix::fs::AtFlags::empty()).is_ok()
}

fn git_above(path: &Path) -> Git {
    match rustix::fs::statat(CWD, path, rustix::fs::AtFlags::empty()) {
        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => Git::Pointer,
        Ok(_) => Git::Directory,
        Err(_) => Git::Nothing,
    }
}

fn open_by_path(path: &Path) -> Option<File> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let handle = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&handle).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| File::from(handle))
}

/// The content of an ignore file; none if its rules cost more than `budget`.
fn read_rules(file: File, budget: usize) -> Option<Vec<u8>> {
    read(file, budget).filter(|bytes| rules::cost(bytes) <= budget)
}

/// The content of a file; none if it is longer than `most` bytes. After an error, what was read
/// before.
fn read(file: File, most: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let _ = file.take(most as u64 + 1).read_to_end(&mut bytes);
    (bytes.len() <= most).then_some(bytes)
}

fn first_line(file: File) -> Option<String> {
    let mut bytes = Vec::new();
    file.take(MAX_POINTER_BYTES as u64).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    Some(line.strip_suffix('\r').unwrap_or(line).to_owned())
}
