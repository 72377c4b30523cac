//! The project's own chores. `cargo xtask test` passes everything that has to pass; `cargo xtask clients` asks the
//! real agents.

mod agents;
mod bench;
mod cargo;
mod clients;
mod conformance;
mod faults;
#[allow(dead_code, reason = "the step of `cargo xtask test` that calls it is added separately")]
mod import_cycles;
mod needs;
mod pytest;
mod ripgrep;
mod second_user;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// One thing that `cargo xtask test` does. The first that fails ends the run.
struct Step {
    name: &'static str,
    run: fn(&Workspace) -> Result<(), String>,
}

/// Everything that `cargo xtask test` does, in order. A new step is one line here.
const STEPS: &[Step] = &[
    Step { name: "what the machine has to bring", run: needs::check },
    Step { name: "ripgrep under target/tools", run: ripgrep::install },
    Step { name: "pytest under target/tools", run: pytest::install },
    Step { name: "format", run: cargo::format },
    Step { name: "clippy", run: cargo::clippy },
    Step { name: "documentation", run: cargo::documentation },
    Step { name: "tests", run: cargo::test },
    Step { name: "examples", run: cargo::examples },
    Step { name: "tests as a second user", run: second_user::test },
    Step { name: "clients under target/clients", run: clients::install },
    Step { name: "clients: python", run: clients::python },
    Step { name: "clients: typescript", run: clients::typescript },
    Step { name: "clients: inspector", run: clients::inspector },
    Step { name: "clients: conformance", run: conformance::check },
];

/// Where the project stands.
struct Workspace {
    root: PathBuf,
}

impl Workspace {
    fn find() -> Result<Self, String> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().ok_or("xtask stands in no workspace")?;
        Ok(Workspace { root: root.to_owned() })
    }

    /// Where tools are installed that the tests use.
    fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// Where the clients of a language are installed.
    fn clients(&self, language: &str) -> PathBuf {
        self.root.join("target/clients").join(language)
    }
}

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let words: Vec<_> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["clients"] => Workspace::find().and_then(|workspace| agents::check(&workspace)),
        ["faults", words @ ..] => {
            Workspace::find().and_then(|workspace| faults::check(&workspace, words))
        }
        ["bench", words @ ..] if !words.is_empty() => bench::run(words),
        _ => {
            eprintln!(
                "usage: cargo xtask test\n       cargo xtask clients\n       cargo xtask faults [SECONDS]\n       cargo xtask bench NAME [--corpus DIR] [--quick]"
            );
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

fn test() -> Result<(), String> {
    let workspace = Workspace::find()?;
    let start = Instant::now();
    for step in STEPS {
        println!("== {} (at {} s)", step.name, start.elapsed().as_secs());
        (step.run)(&workspace)
            .map_err(|message| format!("== failed at {}: {message}", step.name))?;
    }
    println!("== all steps passed (after {} s)", start.elapsed().as_secs());
    Ok(())
}
