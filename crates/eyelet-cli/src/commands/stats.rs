//! `eyelet stats`: reports what recorded calls put into the contexts of models.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use eyelet::escape_name;

use crate::failure::Failure;
use crate::flags::StatsFlags;
use crate::print::{self, Colours};
use crate::stats::{Collector, Screen, Unreadable, add_file, page, text};

/// The width of a terminal that does not say how wide it is.
const DEFAULT_WIDTH: usize = 80;

pub(crate) fn run(flags: &StatsFlags) -> Result<ExitCode, Failure> {
    let mut collector = Collector::new(usize::try_from(flags.limit).unwrap_or(usize::MAX));
    for file in &flags.files {
        add_file(&mut collector, file).map_err(|Unreadable(why)| {
            Failure::usage(format!(
                "cannot read {}: {why}; use a file that `eyelet mcp --record` has written",
                quoted(file)
            ))
        })?;
    }
    let report = collector.finish();
    match &flags.html {
        Some(out) => write_page(out, &flags.files, &page(&report))?,
        None if flags.json => print::json(&to_json(&report)?)?,
        None => print::verbatim(&text(&report, screen()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn to_json(report: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(report).map_err(|error| Failure::from(io::Error::from(error)))
}

fn screen() -> Screen {
    let width = || {
        let size = terminal_size::terminal_size_of(io::stdout());
        size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
    };
    Screen { width: print::is_terminal().then(width), colours: Colours::detect() }
}

/// Writes the page. The page contains the commands of the record, so a new file is readable by its
/// owner only.
fn write_page(out: &Path, records: &[PathBuf], page: &str) -> Result<(), Failure> {
    if records.iter().any(|record| is_same_file(record, out)) {
        let message =
            format!("--html {}: the page would replace the record; use another file", quoted(out));
        return Err(Failure::usage(message));
    }
    let failed = |why: io::Error| format!("--html {}: cannot write to it: {why}", quoted(out));
    let mut options = OpenOptions::new();
    let opened = options.write(true).create(true).truncate(true).mode(0o600).open(out);
    let mut file: File = opened.map_err(|why| Failure::usage(failed(why)))?;
    file.write_all(page.as_bytes()).map_err(|why| Failure::new(failed(why)))
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    id(one).is_some_and(|file| id(other) == Some(file))
}

fn quoted(path: &Path) -> String {
    format!("`{}`", escape_name(path.as_os_str()))
}
