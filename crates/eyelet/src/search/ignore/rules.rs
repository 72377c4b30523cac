//! Decides which entries a search skips: ripgrep's default rules.
//!
//! The `ignore` crate parses and matches the globs. Combining the files of several directories and
//! kinds follows that crate's walker, which cannot be used because it opens paths. This module
//! opens no files: it gets their content.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use ignore::overrides::{Override, OverrideBuilder};

use crate::error::ToolError;
use crate::names::{named, named_argument};
use crate::text::entry_tree::EntryKind;

/// The most that all ignore files for one directory may cost, including those of its parents. A
/// file that would cost more is ignored.
pub(crate) const MAX_COST: usize = 12 * 1024 * 1024;

/// The cost of a line, in addition to its bytes. Allows a hundred thousand ordinary lines.
const LINE_COST: usize = 64;

/// The additional cost of a line that needs an automaton, and of each of its bytes. With about
/// 30,000 such lines the `ignore` crate gives up on the file too, after gigabytes of work.
const WILDCARD_COST: usize = 200;
const WILDCARD_BYTE_COST: usize = 16;

/// The glob parser is recursive, so it gets no deeper nesting than this.
const MAX_NESTED_BRACES: usize = 500;

/// Whether a tool shows entries that an ignore rule excludes, such as a rule in .gitignore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ignored {
    /// The tool shows ignored entries.
    Show,
    /// The tool skips ignored entries.
    Skip,
}

named!(Ignored, "treatment of ignored entries", { Show = "show", Skip = "skip" });
named_argument!(Ignored);

/// The rules of a whole search.
pub(crate) struct Rules {
    /// Whether the rules apply. If not, only `.git` is skipped.
    pub(crate) ignored: Ignored,
    /// The globs of `include`.
    pub(crate) include: Override,
    /// The rules of the directories above the search path.
    pub(crate) above: Arc<RuleLevel>,
    /// The user's global excludes.
    pub(crate) global: Gitignore,
    /// The search path as given.
    pub(crate) top: PathBuf,
    /// The search path with symlinks resolved, if known.
    pub(crate) base: Option<PathBuf>,
}

/// The rules of a directory and its parents.
pub(crate) struct RuleLevel {
    above: Option<Arc<RuleLevel>>,
    position: Position,
    files: RuleFiles,
    /// A repository starts in this directory.
    starts_repository: bool,
    in_repository: bool,
    /// The cost of the rules of this directory and its parents.
    cost: usize,
}

/// Where a directory is, relative to the search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// The search path or below it. Rules match paths as the walk found them.
    Inside,
    /// Above the search path. Rules match paths with symlinks resolved.
    Outside,
}

/// The rules in one directory, in order of precedence.
pub(crate) struct RuleFiles {
    pub(crate) rgignore: Gitignore,
    pub(crate) ignore: Gitignore,
    pub(crate) gitignore: Gitignore,
    pub(crate) exclude: Gitignore,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Skip,
    Keep,
}

/// Why an entry is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SkipReason {
    /// An ignore rule excludes it.
    Ignored,
    /// The entry is hidden, or `include` does not match it.
    Other,
}

impl Rules {
    /// Why to skip the entry `path` of a search, if so. `level` has the rules of its directory.
    pub(crate) fn skip(
        &self,
        level: &RuleLevel,
        path: &Path,
        kind: EntryKind,
    ) -> Option<SkipReason> {
        if self.ignored == Ignored::Show {
            return is_git(path).then_some(SkipReason::Other);
        }
        let included = self.include.matched(path, kind == EntryKind::Directory);
        match verdict_from(included) {
            Some(Verdict::Skip) => return Some(SkipReason::Other),
            Some(Verdict::Keep) => return None,
            None => {}
        }
        match self.verdict(level, path, kind) {
            Some(Verdict::Keep) => None,
            Some(Verdict::Skip) if !is_dot_file(path) => Some(SkipReason::Ignored),
            Some(Verdict::Skip) => Some(SkipReason::Other),
            None => is_dot_file(path).then_some(SkipReason::Other),
        }
    }

    /// Whether an ignore rule excludes the entry `path` from a listing, which shows hidden entries.
    pub(crate) fn exclude(&self, level: &RuleLevel, path: &Path, kind: EntryKind) -> bool {
        self.verdict(level, path, kind) == Some(Verdict::Skip)
    }

    fn verdict(&self, level: &RuleLevel, path: &Path, kind: EntryKind) -> Option<Verdict> {
        let mut verdicts =
            Verdicts { past_repository: !level.in_repository, ..Verdicts::default() };
        let mut resolved: Option<PathBuf> = None;
        for here in level.up() {
            match here.position {
                Position::Inside => verdicts.add(here, path, kind),
                // Most directories above have no rules, so the path is not built for them.
                Position::Outside if !verdicts.count(here) => verdicts.pass(here),
                Position::Outside => {
                    let Some(base) = &self.base else { break };
                    let path = resolved.get_or_insert_with(|| base.join(self.below_top(path)));
                    verdicts.add(here, path, kind);
                }
            }
        }
        let global =
            || if level.in_repository { verdict_of(&self.global, path, kind) } else { None };
        verdicts
            .rgignore
            .or(verdicts.ignore)
            .or(verdicts.gitignore)
            .or(verdicts.exclude)
            .or_else(global)
    }

    fn below_top<'p>(&self, path: &'p Path) -> &'p Path {
        path.strip_prefix(&self.top).unwrap_or(path)
    }
}

/// The verdict of each kind of file; the nearest directory decides.
#[derive(Default)]
struct Verdicts {
    rgignore: Option<Verdict>,
    ignore: Option<Verdict>,
    gitignore: Option<Verdict>,
    exclude: Option<Verdict>,
    /// Outside of the repository, or there is none: git's files do not apply.
    past_repository: bool,
}

impl Verdicts {
    fn add(&mut self, level: &RuleLevel, path: &Path, kind: EntryKind) {
        let RuleFiles { rgignore, ignore, gitignore, exclude } = &level.files;
        self.rgignore = self.rgignore.or_else(|| verdict_of(rgignore, path, kind));
        self.ignore = self.ignore.or_else(|| verdict_of(ignore, path, kind));
        if !self.past_repository {
            self.gitignore = self.gitignore.or_else(|| verdict_of(gitignore, path, kind));
            self.exclude = self.exclude.or_else(|| verdict_of(exclude, path, kind));
        }
        self.pass(level);
    }

    fn pass(&mut self, level: &RuleLevel) {
        self.past_repository |= level.starts_repository;
    }

    /// Whether the files of a directory may still decide something.
    fn count(&self, level: &RuleLevel) -> bool {
        let RuleFiles { rgignore, ignore, gitignore, exclude } = &level.files;
        let git = !(self.past_repository || (gitignore.is_empty() && exclude.is_empty()));
        git || !(rgignore.is_empty() && ignore.is_empty())
    }
}

fn verdict_of(rules: &Gitignore, path: &Path, kind: EntryKind) -> Option<Verdict> {
    verdict_from(rules.matched(path, kind == EntryKind::Directory))
}

fn verdict_from<T>(matched: Match<T>) -> Option<Verdict> {
    match matched {
        Match::None => None,
        Match::Ignore(_) => Some(Verdict::Skip),
        Match::Whitelist(_) => Some(Verdict::Keep),
    }
}

/// Whether ripgrep treats the entry as hidden. A name that ends in a dot is not, there.
fn is_dot_file(path: &Path) -> bool {
    let name = last_name(path);
    name.first() == Some(&b'.') && name.last() != Some(&b'.')
}

/// Whether the entry is git's own directory, or the file that points to it.
pub(crate) fn is_git(path: &Path) -> bool {
    last_name(path) == b".git"
}

fn last_name(path: &Path) -> &[u8] {
    let path = path.as_os_str().as_bytes();
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

impl RuleLevel {
    /// No rules: the level above the file system's root.
    pub(crate) fn none() -> Arc<RuleLevel> {
        Arc::new(RuleLevel {
            above: None,
            position: Position::Outside,
            files: RuleFiles::none(),
            starts_repository: false,
            in_repository: false,
            cost: 0,
        })
    }

    /// The level of a subdirectory. Shares this level if the subdirectory has no rules.
    pub(crate) fn enter(
        self: &Arc<RuleLevel>,
        position: Position,
        own: OwnRules,
    ) -> Arc<RuleLevel> {
        if own.files.are_none() && !own.starts_repository {
            return Arc::clone(self);
        }
        Arc::new(RuleLevel {
            above: Some(Arc::clone(self)),
            position,
            files: own.files,
            starts_repository: own.starts_repository,
            in_repository: self.in_repository || own.starts_repository,
            cost: self.cost + own.cost,
        })
    }

    /// How much the rules of a subdirectory may cost.
    pub(crate) fn budget(&self) -> usize {
        MAX_COST.saturating_sub(self.cost)
    }

    fn up(&self) -> impl Iterator<Item = &RuleLevel> {
        std::iter::successors(Some(self), |level| level.above.as_deref())
    }
}

impl Drop for RuleLevel {
    /// Frees the chain in a loop: the default would recurse once per directory.
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(level) = above {
            above = Arc::into_inner(level).and_then(|mut level| level.above.take());
        }
    }
}

/// The rules that one directory adds.
pub(crate) struct OwnRules {
    pub(crate) files: RuleFiles,
    pub(crate) starts_repository: bool,
    pub(crate) cost: usize,
}

impl RuleFiles {
    pub(crate) fn none() -> Self {
        RuleFiles {
            rgignore: Gitignore::empty(),
            ignore: Gitignore::empty(),
            gitignore: Gitignore::empty(),
            exclude: Gitignore::empty(),
        }
    }

    fn are_none(&self) -> bool {
        [&self.rgignore, &self.ignore, &self.gitignore, &self.exclude]
            .iter()
            .all(|file| file.is_empty())
    }
}

/// Parses an ignore file for paths below `directory`. Skips invalid globs; stops at a line that is
/// not UTF-8.
pub(crate) fn parse(directory: &Path, bytes: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(directory);
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { break };
        let line = line.strip_suffix("\r\n").or(line.strip_suffix('\n')).unwrap_or(line);
        let line = if number == 0 { line.trim_start_matches('\u{feff}') } else { line };
        if nested_braces(line) > MAX_NESTED_BRACES {
            // The glob set would not compile, and the whole file would be ignored.
            return Gitignore::empty();
        }
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// The cost of the rules in an ignore file.
pub(crate) fn cost(bytes: &[u8]) -> usize {
    let line_cost = |line: &[u8]| {
        // `*.rs` needs no automaton.
        let rest = line.strip_prefix(b"*.").unwrap_or(line);
        let wild = rest.iter().any(|byte| matches!(byte, b'*' | b'?' | b'[' | b'{'));
        let automaton = if wild { WILDCARD_COST + WILDCARD_BYTE_COST * line.len() } else { 0 };
        LINE_COST + line.len() + automaton
    };
    bytes.split(|byte| *byte == b'\n').map(line_cost).sum()
}

/// Compiles the glob `argument` for paths below `directory`. Errors of the glob parser are ripgrep's.
pub(crate) fn compile_glob(
    argument: &str,
    glob: &str,
    directory: &Path,
) -> Result<Override, ToolError> {
    if nested_braces(glob) > MAX_NESTED_BRACES {
        return Err(ToolError::invalid_input(format!(
            "{argument} must not nest braces deeper than {MAX_NESTED_BRACES} levels"
        )));
    }
    let mut builder = OverrideBuilder::new(directory);
    builder.add(glob).map_err(bad_glob)?;
    builder.build().map_err(bad_glob)
}

fn bad_glob(error: ignore::Error) -> ToolError {
    ToolError::invalid_input(format!("rg failed: {error}"))
}

fn nested_braces(glob: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in glob.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
