//! Tests that return early because a program is missing report it here, so that none is skipped silently.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use crate::workspace::Workspace;

/// The variable that names the file of reports to `testkit`.
pub(super) const VARIABLE: &str = "EYELET_TEST_SKIPPED";
/// Stands before the reports of the second user, who may lack what the first has.
pub(super) const SECOND_USER: &str = "second user: ";

/// The reports of this run, a line `TEST: REASON` each.
pub(super) struct Skipped {
    file: PathBuf,
}

/// The file of reports.
pub(super) fn file(workspace: &Workspace) -> PathBuf {
    workspace.root.join("target/skipped-tests.txt")
}

/// Adds what a step skipped inside itself, a line `WHAT: REASON` each.
pub(super) fn add(workspace: &Workspace, lines: &[String]) -> Result<(), String> {
    let file = file(workspace);
    let wrong = |error| format!("{}: {error}", file.display());
    let mut file = OpenOptions::new().append(true).create(true).open(&file).map_err(wrong)?;
    lines.iter().try_for_each(|line| writeln!(file, "{line}")).map_err(wrong)
}

impl Skipped {
    /// Starts with an empty file.
    pub(super) fn new(workspace: &Workspace) -> Result<Self, String> {
        let file = file(workspace);
        let directory = workspace.root.join("target");
        fs::create_dir_all(&directory)
            .and_then(|()| fs::write(&file, ""))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(Skipped { file })
    }

    pub(super) fn lines(&self) -> Result<Vec<String>, String> {
        let text = fs::read_to_string(&self.file)
            .map_err(|error| format!("{}: {error}", self.file.display()))?;
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines.dedup();
        Ok(lines)
    }

    /// Fails if a test of the first user was skipped for want of something in `required`.
    pub(super) fn check(&self, required: &[&str]) -> Result<(), String> {
        let wrong: Vec<_> =
            self.lines()?.into_iter().filter(|line| contradicts(line, required)).collect();
        if wrong.is_empty() {
            return Ok(());
        }
        Err(format!(
            "these tests were skipped, although --require says that the machine can run them:\n{}",
            wrong.join("\n")
        ))
    }
}

fn contradicts(line: &str, required: &[&str]) -> bool {
    let reason = line.rsplit_once(": ").map_or(line, |(_, reason)| reason);
    !line.starts_with(SECOND_USER)
        && required.iter().any(|name| reason.split(' ').any(|word| word == *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_test_fails_the_run_if_its_program_is_required() {
        let line = "work::npm_runs_scripts: npm does not run";
        assert!(contradicts(line, &["root", "npm"]));
        assert!(!contradicts(line, &["root"]));
        assert!(contradicts("files::a: not root", &["root"]));
        assert!(!contradicts("second user: work::npm: npm does not run", &["npm"]));
    }
}
