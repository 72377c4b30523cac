//! `cargo xtask soak`: mixed calls of many clients against real servers, for minutes or hours.
//!
//! Every request must be answered exactly once, with the right answer, and at the end processes, descriptors, memory and
//! saved output must be back to where they were.

mod client;
mod disconnects;
mod files;
mod floods;
mod http_client;
mod http_response;
mod mixed_calls;
mod over_http;
mod over_stdio;
mod processes;
mod report;
mod stdio_client;
mod tally;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tally::Tally;

const USAGE: &str = "usage: soak [--http] --seconds N [--report FILE]\n\
                     The variable EYELET_TEST_BIN names the `eyelet` to run.";

/// What the command line asks for.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    is_http: bool,
    seconds: u64,
    report: Option<PathBuf>,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
        let mut options = Options::default();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--http" => options.is_http = true,
                "--seconds" => {
                    let number = words.next().and_then(|word| word.parse().ok());
                    options.seconds = number.ok_or("--seconds: expected a number of seconds")?;
                }
                "--report" => options.report = words.next().map(PathBuf::from),
                _ => return Err(format!("unexpected argument `{word}`\n{USAGE}")),
            }
        }
        if options.seconds == 0 { Err(USAGE.to_owned()) } else { Ok(options) }
    }
}

fn main() -> ExitCode {
    let options = match Options::parse(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(message) => {
            eprintln!("{message}");
            return ExitCode::from(2);
        }
    };
    let tally = Arc::new(Tally::default());
    match run(&options, &tally) {
        Ok(report) => print!("{report}"),
        Err(message) => {
            eprintln!("the soak stopped: {message}");
            return ExitCode::FAILURE;
        }
    }
    if tally.counts().broken_count == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run(options: &Options, tally: &Arc<Tally>) -> Result<String, String> {
    let duration = Duration::from_secs(options.seconds);
    let report = if options.is_http {
        over_http::run(duration, tally)?
    } else {
        over_stdio::run(duration, tally)?
    };
    if let Some(file) = &options.report {
        std::fs::write(file, &report).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(report)
}
