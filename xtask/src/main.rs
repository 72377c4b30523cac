//! The project's own tasks: tests, benchmarks and checks with injected faults.

mod bench;
mod faults;
mod test;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask test [--extended] [--require NAME,...] [STEP...]
       cargo xtask test --list
       cargo xtask bench NAME [--corpus DIR] [--quick]
       cargo xtask faults [SECONDS]";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let task = |task: fn(&Workspace, &[&str]) -> Result<(), String>, words: &[&str]| {
        Workspace::find().and_then(|workspace| task(&workspace, words))
    };
    let done = match words.as_slice() {
        ["test", words @ ..] => task(test::run, words),
        ["faults", words @ ..] => task(faults::check, words),
        ["bench", words @ ..] if !words.is_empty() => task(bench::run, words),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
