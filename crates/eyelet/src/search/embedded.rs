//! Searches a tree in this process.

use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::search::goal::Goal;
use crate::search::ignore::load_rules::RuleLoader;
use crate::search::ignore::rules::Ignored;
use crate::search::newest_first::{self, NewestFirst, Worker};
use crate::search::outcome::{SearchCounts, SearchFailure};
use crate::search::query::Query;
use crate::search::target::{OpenTarget, Target};
use crate::search::walk::{Walk, Walker};
use crate::text::newest_page::NewestPage;

/// Searches a file or a tree, on all CPUs if there is enough work.
pub(crate) fn search(
    query: &Query,
    goal: Goal,
    target: &Target,
    turn: &TurnContext,
    stop_check: &StopCheck,
    newest: NewestPage,
) -> Result<(SearchCounts, NewestPage), SearchFailure> {
    stop_check.check()?;
    if target.path.to_str().is_none() {
        return Ok((SearchCounts::of_name_not_utf8(), newest));
    }
    let search = NewestFirst::new(query, goal, stop_check, &turn.progress, newest);
    let top = match &target.opened {
        OpenTarget::Directory(top) => top,
        OpenTarget::File(file) => {
            let mut worker = Worker::new(&search);
            worker.search_named(file, &target.path)?;
            let (counts, _) = newest_first::merge_workers(vec![worker]);
            return Ok((counts, search.into_newest()));
        }
    };
    let loader = RuleLoader::new(turn, &query.cwd);
    let rules = loader.load(Ignored::Skip, query.overrides.clone(), &target.path);
    let walk = Walk::new(top, &rules, &loader, stop_check);

    let workers = walk.queue.run(
        || Worker::new(&search),
        |worker, next| {
            let walker = Walker::new(&walk);
            let counts = walker.run(next, |folder, name| worker.visit(top, folder, name))?;
            worker.counts.add(counts);
            Ok(())
        },
    )?;
    let (mut counts, deferred) = newest_first::merge_workers(workers);
    counts.add(search.search_newest(deferred, top)?);
    top.check_complete()?;
    Ok((counts, search.into_newest()))
}
