//! The time that a search takes to return after it is cancelled.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use eyelet::tools::{GrepFiles, GrepFilesArgs};
use eyelet::{CancelFlag, ErrorCode, SandboxPolicy, Tool as _, TurnContext};

use crate::Result;
use crate::contender::{Contender, Side};
use crate::runner::{Task, Unit};
use crate::target::Target;

const STOP: &str = "eyelet library";
/// Long enough for all workers to start, and shorter than each of the searches.
const BEFORE: Duration = Duration::from_millis(100);

/// A search for `pattern` that is cancelled and must return soon.
pub(crate) fn task(name: &str, path: &Path, pattern: &'static str) -> Task {
    let path = path.to_owned();
    let measure = {
        let path = path.clone();
        move || stopped(&path, pattern)
    };
    Task {
        name: name.to_owned(),
        unit: Unit::Milliseconds,
        check: Box::new(move || {
            stopped(&path, pattern).map(|_| "the search returns the error `cancelled`".to_owned())
        }),
        contenders: vec![Contender::timed(STOP, Side::Ours, measure)],
        targets: vec![Target::MaxWithin { who: STOP, most: 50.0 }],
    }
}

fn stopped(path: &Path, pattern: &str) -> Result<Duration> {
    let cancel = CancelFlag::default();
    let turn = TurnContext::new("/", SandboxPolicy::Off)
        .map_err(|error| error.to_string())?
        .with_cancel(cancel.clone());
    let waiting = thread::spawn(move || {
        thread::sleep(BEFORE);
        cancel.cancel();
        Instant::now()
    });
    let path = path.to_str().ok_or("path is not UTF-8")?.to_owned();
    let args = GrepFilesArgs { path: Some(path), ..GrepFilesArgs::new(pattern) };
    let answer = GrepFiles.run(args, &turn);
    let end = Instant::now();
    let cancelled = waiting.join().map_err(|_| "the cancelling thread panicked")?;
    match answer {
        Err(error) if error.code == ErrorCode::Cancelled => Ok(end.duration_since(cancelled)),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("the search finished before it was cancelled".into()),
    }
}
