//! The ignore rules of a listing. Unlike a search, a listing shows hidden entries.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::overrides::Override;

use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::fs::directory::Directory;
use crate::paths::root::real_or_given;
use crate::search::entry_names::{EntryNames, ReadStatus};
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::{Ignored, RuleLevel, Rules, is_git};
use crate::search::walk::PathBuffer;
use crate::text::entry_tree::EntryKind;

/// Which entries of a listing the ignore rules exclude.
pub(crate) struct ListingRules<'t> {
    turn: &'t TurnContext,
    cwd: PathBuf,
    rules: Rules,
}

impl<'t> ListingRules<'t> {
    /// The rules for listing the directory `top`.
    pub(crate) fn new(turn: &'t TurnContext, top: &Path) -> Self {
        let cwd = real_or_given(turn.cwd());
        let rules = RuleLoader::new(turn, &cwd).load(Ignored::Skip, Override::empty(), top);
        ListingRules { turn, cwd, rules }
    }

    /// The rules above the listed directory.
    pub(crate) fn above(&self) -> Arc<RuleLevel> {
        Arc::clone(&self.rules.above)
    }

    /// Calls `visit` for each entry of a directory that is not excluded. `above` has the rules of its parent
    /// and `below` its path relative to the listed directory. Returns its own rules and the number of
    /// excluded entries; `.git` is never listed and not counted.
    pub(crate) fn read(
        &self,
        directory: &Directory,
        above: &Arc<RuleLevel>,
        below: &[&OsStr],
        stop_check: &StopCheck,
        mut visit: impl FnMut(&OsStr, EntryKind),
    ) -> io::Result<(Arc<RuleLevel>, u64)> {
        let mut entries = EntryNames::default();
        match entries.fill(directory, stop_check) {
            Ok(ReadStatus::Complete) => {}
            Ok(ReadStatus::Partial(error)) => return Err(error),
            // The caller checks again and reports the stop.
            Err(_) => return Ok((Arc::clone(above), 0)),
        }
        let mut path = self.rules.top.clone();
        path.extend(below);
        let loader = RuleLoader::new(self.turn, &self.cwd);
        let level = loader.load_inside(above, &path, directory, &entries);
        let mut buffer = PathBuffer::new(&path);
        let mut excluded = 0;
        for (name, kind) in entries.iter() {
            let path = buffer.to(name);
            if is_git(path) {
                continue;
            }
            if self.rules.exclude(&level, path, kind) {
                excluded += 1;
            } else {
                visit(name, kind);
            }
        }
        Ok((level, excluded))
    }
}

#[cfg(test)]
#[path = "listing_rules_tests.rs"]
mod tests;
