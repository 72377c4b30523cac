//! The project's own tasks: tests, benchmarks, injected faults, fuzzing, the site, and releases.

mod audit;
mod bench;
mod dist;
mod docs;
mod faults;
mod fuzz;
mod packages;
mod soak;
mod test;
mod workspace;

use std::process::ExitCode;

use workspace::Workspace;

const USAGE: &str = "\
usage: cargo xtask test [--extended] [--require NAME,...] [STEP...]
       cargo xtask test --list
       cargo xtask bench NAME|--all [--corpus DIR] [--quick]
       cargo xtask bench --charts
       cargo xtask faults [SECONDS]
       cargo xtask fuzz --minutes N [--record] [TARGET...]
       cargo xtask soak [--http] [--minutes N]
       cargo xtask audit
       cargo xtask docs
       cargo xtask dist";

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let task = |task: fn(&Workspace, &[&str]) -> Result<(), String>, words: &[&str]| {
        Workspace::find().and_then(|workspace| task(&workspace, words))
    };
    let done = match words.as_slice() {
        ["test", words @ ..] => task(test::run, words),
        ["audit", words @ ..] => task(audit::check, words),
        ["docs", words @ ..] => task(docs::build, words),
        ["dist", words @ ..] => task(dist::build, words),
        ["faults", words @ ..] => task(faults::check, words),
        ["fuzz", words @ ..] => task(fuzz::run, words),
        ["soak", words @ ..] => task(soak::run, words),
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
