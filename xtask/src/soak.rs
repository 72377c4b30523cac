//! `cargo xtask soak`: mixed calls of many clients against real servers. The program is in `crates/testkit/src/bin/soak`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::test::{built, target};
use crate::workspace::{Workspace, run as run_command};

/// The default duration of a run.
const MINUTES: u64 = 10;
/// The duration of each run in the extended tests.
const BRIEF_SECONDS: u64 = 12;

/// Runs the release build, prints the report and saves it beside those of the benchmarks.
pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let (mut is_http, mut minutes) = (false, MINUTES);
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            "--http" => is_http = true,
            "--minutes" => {
                let number = rest.next().and_then(|word| word.parse().ok());
                minutes = number
                    .filter(|minutes| *minutes > 0)
                    .ok_or("--minutes: expected a whole number of at least 1")?;
            }
            other => {
                return Err(format!(
                    "unexpected argument `{other}`; usage: cargo xtask soak [--http] [--minutes N]"
                ));
            }
        }
    }
    let eyelet = match std::env::var_os("EYELET_TEST_BIN") {
        Some(file) => PathBuf::from(file),
        None => {
            let release = ["build", "--release", "--locked", "--package", "eyelet-cli"];
            run_command(workspace.cargo().args(release))?;
            target(workspace).join("release/eyelet")
        }
    };
    let name = if is_http { "soak-http.md" } else { "soak-stdio.md" };
    let file = runs_of_today(workspace)?.join(name);
    soak(workspace, &eyelet, is_http, minutes * 60, Some(&file))?;
    println!("report saved to {}", file.display());
    Ok(())
}

/// Runs the build of the tests, over stdio and over HTTP.
pub(crate) fn run_briefly(workspace: &Workspace) -> Result<(), String> {
    let eyelet = built(workspace)?.eyelet;
    for is_http in [false, true] {
        soak(workspace, &eyelet, is_http, BRIEF_SECONDS, None)?;
    }
    Ok(())
}

fn soak(
    workspace: &Workspace,
    eyelet: &Path,
    is_http: bool,
    seconds: u64,
    report: Option<&Path>,
) -> Result<(), String> {
    let mut command = workspace.cargo();
    command.args(["run", "--quiet", "--locked", "--package", "testkit", "--bin", "soak", "--"]);
    command.args(["--seconds", &seconds.to_string()]).env("EYELET_TEST_BIN", eyelet);
    if is_http {
        command.arg("--http");
    }
    if let Some(report) = report {
        command.arg("--report").arg(report);
    }
    run_command(&mut command)
}

/// The directory for results of this day.
fn runs_of_today(workspace: &Workspace) -> Result<PathBuf, String> {
    let date = Command::new("date").args(["-u", "+%F"]).output();
    let date = date.map_err(|error| format!("cannot start `date`: {error}"))?;
    let folder =
        workspace.root.join("bench/runs").join(String::from_utf8_lossy(&date.stdout).trim());
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
