//! Compares the speed of eyelet with that of known tools in one interleaved run, after checking that the
//! results are equal, and draws the results. `cargo xtask bench` builds everything and runs this program.

mod benches;
mod charts;
mod collect_all;
mod contender;
mod corpus;
mod fixtures;
mod machine;
mod memory;
mod npm;
mod options;
mod page;
mod peers;
mod report;
mod runner;
mod server;
mod svg;
mod tables;
mod target;

use std::path::Path;
use std::process::{Command, ExitCode};

use options::{Mode, Options};

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    // A call in this process runs this program again as the supervisor of its command.
    eyelet_sandbox::run_if_supervisor();
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    match options::parse(std::env::args().skip(1))? {
        Mode::Bench(options) => bench(&options),
        Mode::All(options) => all(&options),
        Mode::Charts => draw(&options::project()?),
        Mode::Help => {
            println!("{}", options::USAGE);
            Ok(())
        }
        Mode::CollectAll(page) => collect_all::print(&page),
        Mode::PeakMemory(command) => memory::relay(&command),
    }
}

fn bench(options: &Options) -> Result<()> {
    let bench = benches::find(&options.name)?;
    let setup = benches::Setup::prepare(options)?;
    let tasks = (bench.tasks)(&setup)?;
    let mut report = report::Report::new(bench, &setup)?;
    for task in tasks {
        println!("== {}", task.name);
        report.add(runner::run(task, options.rounds)?);
    }
    print!("{}", tables::markdown(&report));
    report.write(&options.project.join(RUNS))
}

/// The directory of the reports.
const RUNS: &str = "bench/runs";

/// Runs each benchmark, also after one has failed, and draws the results.
fn all(options: &[String]) -> Result<()> {
    let mut failed = Vec::new();
    for name in benches::names() {
        println!("\n=== benchmark {name}");
        let mut command = Command::new(memory::this_program()?);
        let status = command.arg(name).args(options).status().map_err(options::io_error)?;
        if !status.success() {
            failed.push(name);
        }
    }
    draw(&options::project()?)?;
    if failed.is_empty() {
        Ok(())
    } else {
        Err(format!("these benchmarks failed: {}", failed.join(", ")))
    }
}

/// Writes `docs/benchmarks.md` and its charts from the newest reports.
fn draw(project: &Path) -> Result<()> {
    let mut reports = Vec::new();
    for name in benches::names() {
        let report = report::Report::newest(&project.join(RUNS), name)?;
        if report.is_none() {
            println!("== no report of {name}; run `cargo xtask bench {name}`");
        }
        reports.extend(report);
    }
    charts::write(&reports, &project.join("docs/benchmarks"))?;
    page::write(&reports, &project.join("docs/benchmarks.md"))
}
