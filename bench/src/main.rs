//! Measures eyelet beside known tools, in one interleaved run, after checking that the answers are
//! equal. `cargo xtask bench NAME` builds everything and starts this.

mod benches;
mod collect_all;
mod contender;
mod corpus;
mod fixtures;
mod machine;
mod memory;
mod options;
mod race;
mod reference;
mod report;
mod server;
mod target;

use std::process::ExitCode;

use options::{Options, Wish};

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    // A call in this process starts it again as the supervisor of its command.
    eyelet_sandbox::run_if_supervisor();
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("bench: {message}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<()> {
    match options::parse(std::env::args().skip(1))? {
        Wish::Bench(options) => bench(&options),
        Wish::CollectAll(page) => collect_all::print(&page),
        Wish::PeakMemory(command) => memory::relay(&command),
    }
}

fn bench(options: &Options) -> Result<()> {
    let bench = benches::find(&options.name)?;
    let surroundings = benches::Surroundings::prepare(options)?;
    let works = (bench.works)(&surroundings)?;
    let mut run = report::Run::new(bench, &surroundings)?;
    for work in works {
        println!("== {}", work.name);
        run.add(race::run(work, options.rounds)?);
    }
    print!("{}", run.markdown());
    run.write(&options.project.join("bench/runs"))
}
