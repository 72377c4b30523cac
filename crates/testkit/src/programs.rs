//! The programs that tests run. All are located at run time: no path is compiled in, so a clone can be moved.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The `eyelet` that cargo built for the tests; `EYELET_TEST_BIN` names another.
pub fn eyelet_bin() -> PathBuf {
    located("EYELET_TEST_BIN", "eyelet", "cargo build --package eyelet-cli")
}

/// The real ripgrep that `cargo xtask test` installs; `EYELET_TEST_RG` names another.
pub fn rg() -> PathBuf {
    located("EYELET_TEST_RG", "tools/bin/rg", "cargo xtask test ripgrep")
}

/// The directory of Python modules with pytest; `EYELET_TEST_PYTEST` names another.
pub fn pytest() -> PathBuf {
    located("EYELET_TEST_PYTEST", "tools/pytest", "cargo xtask test pytest")
}

/// The library's example `name` that cargo built with the tests.
pub fn example(name: &str) -> PathBuf {
    located(
        "EYELET_TEST_EXAMPLE",
        &format!("examples/{name}"),
        "cargo build --package eyelet --examples",
    )
}

/// The path in `variable`, or else `name` in a directory above the running test program.
fn located(variable: &str, name: &str, command: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(variable) {
        return path.into();
    }
    let program = std::env::current_exe().expect("the test program has a path");
    let mut candidates = program.ancestors().skip(1).map(|directory| directory.join(name));
    candidates
        .find(|path| path.exists())
        .unwrap_or_else(|| panic!("{name} is missing above {}: run `{command}`", program.display()))
}

/// Whether `program` does not run for this user. If so, the test returns early and `cargo xtask test` lists it
/// as skipped.
pub fn lacks(program: &str) -> bool {
    let status = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let works = status.is_ok_and(|status| status.success());
    if !works {
        skip(&format!("{program} does not run"));
    }
    !works
}

/// Whether the user is not root. If so, the test returns early and `cargo xtask test` lists it as skipped.
pub fn lacks_root() -> bool {
    if !is_root() {
        skip("not root");
    }
    !is_root()
}

/// Whether the tests run as root, who can read every file.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Reports that the running test is skipped; the test then returns early. `cargo xtask test` collects the reports in the file
/// that `EYELET_TEST_SKIPPED` names.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    // What a program prints about itself may have several lines.
    let reason = reason.lines().next().unwrap_or_default();
    let line = format!("{}: {reason}\n", thread.name().unwrap_or("a test"));
    eprint!("skipped {line}");
    if let Some(file) = std::env::var_os("EYELET_TEST_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(file);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the report is written");
    }
}
