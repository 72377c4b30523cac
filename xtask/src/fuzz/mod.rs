//! `cargo xtask fuzz`: runs the targets of `fuzz/` in libFuzzer, and reports what they did.
//!
//! `cargo fuzz` builds them without a sanitizer, which needs only a stable toolchain: eyelet has hardly any unsafe code
//! in which one could find something.

mod log;
mod report;

use std::cmp::Reverse;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use crate::workspace::{Workspace, run as run_command};
use report::Report;

const USAGE: &str = "usage: cargo xtask fuzz --minutes N [--record] [TARGET...]";

const CARGO_FUZZ_VERSION: &str = "0.13.2";

/// An input that takes longer is a hang.
const HANG_SECS: u64 = 5;
/// The memory that a target may use, libFuzzer and its inputs included.
const MAX_MEMORY_MIB: u64 = 768;
/// How a target runs.
#[derive(Clone, Copy)]
struct Plan {
    /// How many times as much time it has as a usual target.
    share: u32,
    /// The longest input. Shorter ones run faster.
    max_bytes: u64,
}

const USUAL: Plan = Plan { share: 1, max_bytes: 4096 };

/// The targets that run in another way: of these, many inputs matter more than long ones.
const PLANS: [(&str, Plan); 2] = [
    ("arguments", Plan { share: 3, max_bytes: 256 }),
    ("pages", Plan { share: 3, max_bytes: 1024 }),
];

/// What the words of the command line ask for.
struct Options {
    time: Duration,
    record: bool,
    targets: Vec<String>,
}

/// Where libFuzzer reads and writes.
struct Places {
    /// The program of each target.
    programs: PathBuf,
    /// `fuzz/`.
    fuzz: PathBuf,
    /// The temp directory of all targets, in memory if possible.
    temp: PathBuf,
}

pub(crate) fn run(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    let fuzz = workspace.root.join("fuzz");
    let options = parse(words, &all_targets(&fuzz)?)?;
    let programs = build(workspace)?;
    let places = Places { programs, fuzz, temp: temp_directory(workspace) };
    let report = fuzz_all(&options, &places);
    remove(&places.temp)?;
    let report = report?;
    print!("{report}");
    if options.record {
        let file = places.fuzz.join("record.md");
        let opened = OpenOptions::new().append(true).create(true).open(&file);
        opened.and_then(|mut opened| write!(opened, "{report}")).map_err(failed(&file))?;
    }
    match report.failures() {
        0 => Ok(()),
        count => Err(format!(
            "{count} targets failed; copy the input from fuzz/artifacts/TARGET to fuzz/replay/TARGET/NAME, so that \
             `cargo test -p properties` runs it"
        )),
    }
}

fn parse(words: &[&str], all: &[String]) -> Result<Options, String> {
    let (mut minutes, mut record, mut targets) = (None, false, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "--minutes" => {
                let number = words.next().and_then(|number| number.parse::<f64>().ok());
                let number = number.filter(|number| (0.0..100_000.0).contains(number));
                minutes = Some(number.ok_or("--minutes requires a number")?);
            }
            "--record" => record = true,
            target if all.iter().any(|name| name == target) => targets.push(target.to_owned()),
            other => {
                return Err(format!(
                    "no target `{other}`; use some of {}\n{USAGE}",
                    all.join(", ")
                ));
            }
        }
    }
    let minutes = minutes.ok_or(USAGE)?;
    if targets.is_empty() {
        targets = all.to_vec();
    }
    Ok(Options { time: Duration::from_secs_f64(minutes * 60.0), record, targets })
}

fn all_targets(fuzz: &Path) -> Result<Vec<String>, String> {
    let directory = fuzz.join("fuzz_targets");
    let entries = fs::read_dir(&directory).map_err(failed(&directory))?;
    let files = entries.filter_map(Result::ok).map(|entry| entry.path());
    let names = files.filter_map(|file| file.file_stem()?.to_str().map(str::to_owned));
    let mut names: Vec<_> = names.collect();
    names.sort();
    Ok(names)
}

/// Builds all targets. Installs `cargo fuzz` first unless it is there.
fn build(workspace: &Workspace) -> Result<PathBuf, String> {
    let program = workspace.tools().join("bin/cargo-fuzz");
    let version = Command::new(&program).arg("--version").output();
    let is_installed = version.is_ok_and(|version| {
        String::from_utf8_lossy(&version.stdout).trim().ends_with(CARGO_FUZZ_VERSION)
    });
    if !is_installed {
        let mut install = workspace.cargo();
        install.args([
            "install",
            "cargo-fuzz",
            "--version",
            CARGO_FUZZ_VERSION,
            "--locked",
            "--force",
        ]);
        run_command(install.arg("--root").arg(workspace.tools()))?;
    }
    let target = workspace.root.join("fuzz/target");
    let mut build = Command::new(program);
    // Recording comparisons takes half of the time, and the inputs are mostly valid without it.
    build.current_dir(&workspace.root).args(["build", "--fuzz-dir", "fuzz", "--sanitizer", "none"]);
    build.arg("--no-trace-compares");
    run_command(build.arg("--target-dir").arg(&target))?;
    // cargo-fuzz names the host's target, so that build scripts are built without coverage.
    let host = rustc_line("host: ")?;
    Ok(target.join(host).join("release"))
}

/// What `rustc -vV` prints after `start`.
fn rustc_line(start: &str) -> Result<String, String> {
    let output = Command::new("rustc").arg("-vV").output();
    let output = output.map_err(|error| format!("cannot start rustc: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    line.map(str::to_owned).ok_or_else(|| format!("rustc -vV prints no line `{start}`"))
}

fn temp_directory(workspace: &Workspace) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let parent =
        if memory.is_dir() { memory.to_owned() } else { workspace.root.join("fuzz/target") };
    parent.join(format!("eyelet-fuzz-{}", std::process::id()))
}

fn remove(directory: &Path) -> Result<(), String> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(directory)(error)),
        _ => Ok(()),
    }
}

/// Runs as many targets at once as there are CPUs, and divides the time among them.
fn fuzz_all(options: &Options, places: &Places) -> Result<Report, String> {
    let cpus = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = cpus.min(options.targets.len());
    let shares: u32 = options.targets.iter().map(|target| plan(target).share).sum();
    let time = options.time.mul_f64(workers as f64 / f64::from(shares));
    // Those with the most time first, so that the last ones end together.
    let mut targets: Vec<_> = options.targets.iter().collect();
    targets.sort_by_key(|target| Reverse(plan(target).share));
    println!("{} targets, {workers} at once", targets.len());
    let waiting = Mutex::new(targets.into_iter());
    let runs = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(target) = waiting.lock().ok().and_then(|mut waiting| waiting.next())
                {
                    let run = fuzz_one(target, time * plan(target).share, places);
                    if let Ok(mut runs) = runs.lock() {
                        runs.push(run);
                    }
                }
            });
        }
    });
    let runs = runs.into_inner().map_err(|_| "a thread panicked")?;
    let mut runs = runs.into_iter().collect::<Result<Vec<_>, String>>()?;
    runs.sort_by(|one, other| one.target.cmp(&other.target));
    let date = output_of("date", &["-u", "+%Y-%m-%d"])?;
    Ok(Report { date, rustc: rustc_line("release: ")?, workers, runs })
}

fn plan(target: &str) -> Plan {
    PLANS.iter().find(|(name, _)| *name == target).map_or(USUAL, |(_, plan)| *plan)
}

fn output_of(program: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("cannot start `{program}`: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn fuzz_one(target: &str, time: Duration, places: &Places) -> Result<log::Run, String> {
    let own = |kind: &str| places.fuzz.join(kind).join(target);
    let (corpus, artifacts) = (own("corpus"), own("artifacts"));
    let temp = places.temp.join(target);
    for directory in [&corpus, &artifacts, &temp] {
        fs::create_dir_all(directory).map_err(failed(directory))?;
    }
    let log = places.fuzz.join("target").join(format!("{target}.log"));
    let output = File::create(&log).map_err(failed(&log))?;
    let mut command = Command::new(places.programs.join(target));
    command
        .arg(corpus)
        // Only read.
        .args([own("seeds"), own("replay")].iter().filter(|directory| directory.is_dir()))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!("-max_total_time={}", time.as_secs().max(1)))
        .arg(format!("-timeout={HANG_SECS}"))
        .arg(format!("-rss_limit_mb={MAX_MEMORY_MIB}"))
        .arg(format!("-max_len={}", plan(target).max_bytes))
        .args(["-print_final_stats=1", "-reload=0"])
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", &temp)
        .env("TMPDIR", &temp)
        .current_dir(&temp)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(output);
    let start = Instant::now();
    let status = command.status().map_err(|error| format!("cannot start {target}: {error}"))?;
    let text = fs::read(&log).map_err(failed(&log))?;
    let mut run = log::Run::parse(target, &String::from_utf8_lossy(&text), status.success());
    run.seconds = start.elapsed().as_secs();
    println!("{}", run.summary());
    remove(&temp)?;
    Ok(run)
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_names_minutes_and_targets() {
        let all = ["one".to_owned(), "two".to_owned()];
        let options = parse(&["--minutes", "0.5", "two"], &all).unwrap();
        assert_eq!((options.time.as_secs(), options.record), (30, false));
        assert_eq!(options.targets, ["two"]);
        assert_eq!(parse(&["--minutes", "1", "--record"], &all).unwrap().targets, all);
        for words in [&[][..], &["--minutes"], &["--minutes", "-1"], &["--minutes", "1", "three"]] {
            assert!(parse(words, &all).is_err(), "{words:?}");
        }
    }
}
