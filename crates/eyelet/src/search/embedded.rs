//! Searches a tree in this process.

use std::sync::Arc;

use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::{RuleLevel, Rules};
use crate::search::newest_first::{self, NewestFirst, Worker};
use crate::search::outcome::{SearchCounts, SearchFailure, SkippedFiles};
use crate::search::query::Query;
use crate::search::target::{OpenTarget, Target};
use crate::search::walk::{OpenFolder, Walk, Walker};
use crate::text::newest_page::NewestPage;

/// Searches a file or a tree, on all CPUs if there is enough work.
pub(crate) fn search(
    query: &Query,
    target: Target,
    turn: &TurnContext,
    stop_check: &StopCheck,
    newest: NewestPage,
) -> Result<(SearchCounts, NewestPage), SearchFailure> {
    stop_check.check()?;
    if target.path.to_str().is_none() {
        let skipped = SkippedFiles { not_utf8: 1, ..SkippedFiles::default() };
        return Ok((SearchCounts { searched: 0, skipped }, newest));
    }
    let search = NewestFirst::new(query, stop_check, &turn.progress, newest);
    let directory = match target.opened {
        OpenTarget::Directory(directory) => directory,
        OpenTarget::File(file) => {
            let mut worker = Worker::new(&search);
            worker.search_named(&file, &target.path)?;
            let (counts, _) = newest_first::merge_workers(vec![worker]);
            return Ok((counts, search.into_newest()));
        }
    };
    let loader = RuleLoader::new(turn, &query.cwd);
    let base = std::fs::canonicalize(&target.path).ok();
    let above = base.as_deref().map_or_else(RuleLevel::none, |base| loader.load_above(base));
    let top = Arc::new(OpenFolder { directory, path: target.path.as_path().into() });
    let rules = Rules {
        include: query.overrides.clone(),
        global: loader.load_global(),
        top: target.path,
        base,
    };
    let walk = Walk::new(&top, &rules, &loader, &above, stop_check);

    let workers = walk.queue.run(
        || Worker::new(&search),
        |worker, next| {
            let walker = Walker::new(&walk);
            let skipped = walker.run(next, |folder, name| worker.visit(&top, folder, name))?;
            worker.counts.skipped.add(&skipped);
            Ok(())
        },
    )?;
    let (mut counts, deferred) = newest_first::merge_workers(workers);
    counts.add(&search.search_newest(deferred, &top)?);
    if let Err(error) = top.directory.check_complete() {
        let error = ToolError::io("path could not be searched completely", &error);
        return Err(SearchFailure::Failed(error));
    }
    Ok((counts, search.into_newest()))
}
