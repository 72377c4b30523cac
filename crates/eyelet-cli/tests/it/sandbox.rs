//! One way for every test of the sandbox to run a command in it.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::TempTree;

use crate::run::command;

/// The flags that choose a tier: namespaces, or Landlock alone.
pub(crate) const FIRST: &[&str] = &["--sandbox", "workspace-write"];
pub(crate) const SECOND: &[&str] = &["--sandbox", "workspace-write", "--force-tier2"];
pub(crate) const TIERS: [&[&str]; 2] = [FIRST, SECOND];
/// No sandbox, but supervised all the same.
pub(crate) const FULL: &[&str] = &["--sandbox", "full"];
pub(crate) const SUPERVISED: [&[&str]; 3] = [FIRST, SECOND, FULL];

/// A workspace, and a folder that is outside of it and of every temp folder of the sandbox.
pub(crate) struct Workspace {
    pub(crate) tree: TempTree,
    outside: TempDir,
    environment: Vec<(OsString, OsString)>,
}

impl Workspace {
    pub(crate) fn new(description: &str) -> Self {
        let outside = tempfile::Builder::new().prefix("eyelet-test-").tempdir_in("/var/tmp");
        let mut workspace = Workspace {
            tree: TempTree::new(description),
            outside: outside.unwrap(),
            environment: Vec::new(),
        };
        workspace.set("OUT", workspace.outside().to_owned());
        workspace
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.push((name.into(), value.into()));
    }

    pub(crate) fn outside(&self) -> &Path {
        self.outside.path()
    }

    /// Where a file of the workspace is.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.tree.path().join(path)
    }

    /// `eyelet` with these flags, confined to the workspace.
    pub(crate) fn eyelet(&self, flags: &[&str]) -> Command {
        let mut eyelet = command(&self.tree);
        eyelet.envs(self.environment.iter().cloned());
        eyelet.args(["--root", self.tree.str(), "--env", "OUT"]).args(flags);
        eyelet
    }

    /// The answer of one command.
    pub(crate) fn answer(&self, flags: &[&str], command: &str) -> Value {
        self.answer_of(flags, &json!({ "command": command, "timeout_secs": 60 }))
    }

    pub(crate) fn answer_of(&self, flags: &[&str], arguments: &Value) -> Value {
        let output =
            self.eyelet(flags).args(["call", "bash", &arguments.to_string()]).output().unwrap();
        envelope(&output)
    }

    /// What a command printed and how it ended.
    pub(crate) fn data(&self, flags: &[&str], command: &str) -> Value {
        let mut answer = self.answer(flags, command);
        assert_eq!(answer["ok"], true, "{flags:?} {command}: {answer}");
        answer["data"].take()
    }

    /// What a command printed; it has to succeed.
    pub(crate) fn stdout(&self, flags: &[&str], command: &str) -> String {
        let data = self.data(flags, command);
        assert_eq!(data["exit_code"], 0, "{flags:?} {command}: {data}");
        data["stdout"].as_str().unwrap().to_owned()
    }

    /// Whether a command failed.
    pub(crate) fn fails(&self, flags: &[&str], command: &str) -> bool {
        self.data(flags, command)["exit_code"] != 0
    }
}

pub(crate) fn envelope(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A number that marks the processes of one test: as the time of a `sleep`.
pub(crate) fn marker() -> String {
    let mut bytes = [0; 4];
    let random = fs::File::open("/dev/urandom").unwrap();
    std::io::Read::read_exact(&mut &random, &mut bytes).unwrap();
    format!("9{:010}", u32::from_ne_bytes(bytes))
}

/// How many live processes have the marker as an argument of their own.
pub(crate) fn marked(marker: &str) -> usize {
    with_marker(marker).len()
}

/// The live processes that have the marker as an argument of their own.
pub(crate) fn with_marker(marker: &str) -> Vec<Pid> {
    processes(|argument| argument == marker)
}

/// Whether a live process has the marker in an argument, as the shell has that was told to use it.
#[cfg(target_os = "linux")]
pub(crate) fn is_mentioned(marker: &str) -> bool {
    !processes(|argument| argument.contains(marker)).is_empty()
}

/// The live processes with such an argument.
fn processes(is_meant: impl Fn(&str) -> bool) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let is_meant = |path: &Path| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(&is_meant)
    };
    let meant = entries.filter(|entry| is_meant(&entry.path()));
    meant.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Waits until `is_so`; false where it is not within `time`.
pub(crate) fn within(time: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    is_so()
}
