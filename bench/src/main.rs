//! Compares the speed of eyelet with that of known tools in one interleaved run, after checking that the
//! results are equal. `cargo xtask bench NAME` builds everything and runs this program.

mod benches;
mod collect_all;
mod contender;
mod corpus;
mod fixtures;
mod machine;
mod memory;
mod options;
mod peers;
mod reference;
mod report;
mod runner;
mod server;
mod target;

use std::process::ExitCode;

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
    let mut report = report::Run::new(bench, &setup)?;
    for task in tasks {
        println!("== {}", task.name);
        report.add(runner::run(task, options.rounds)?);
    }
    print!("{}", report.markdown());
    report.write(&options.project.join("bench/runs"))
}
