//! A workspace for tests of the sandbox, and helpers to find processes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use rustix::process::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cli::command;
use crate::tree::TempTree;

/// The flags for the first tier: namespaces.
pub const FIRST: &[&str] = &["--sandbox", "workspace-write"];
/// The flags for the second tier: Landlock without namespaces.
pub const SECOND: &[&str] = &["--sandbox", "workspace-write", "--force-tier2"];
/// Both tiers.
pub const TIERS: [&[&str]; 2] = [FIRST, SECOND];
/// The flags for a supervised command without a sandbox.
pub const FULL: &[&str] = &["--sandbox", "full"];
/// Every way to run a supervised command.
pub const SUPERVISED: [&[&str]; 3] = [FIRST, SECOND, FULL];

/// A workspace, and a directory outside the workspace and the sandbox's temp directories.
pub struct Workspace {
    /// The workspace.
    pub tree: TempTree,
    outside: TempDir,
    environment: Vec<(OsString, OsString)>,
}

impl Workspace {
    /// Creates the workspace from a description of its files.
    pub fn new(description: &str) -> Self {
        let outside = tempfile::Builder::new().prefix("eyelet-test-").tempdir_in("/var/tmp");
        let mut workspace = Workspace {
            tree: TempTree::new(description),
            outside: outside.unwrap(),
            environment: Vec::new(),
        };
        workspace.set("OUT", workspace.outside().to_owned());
        workspace
    }

    /// Sets a variable in the environment of `eyelet`.
    pub fn set(&mut self, name: &str, value: impl Into<OsString>) {
        self.environment.push((name.into(), value.into()));
    }

    /// The directory outside.
    pub fn outside(&self) -> &Path {
        self.outside.path()
    }

    /// The path of a file in the workspace.
    pub fn at(&self, path: &str) -> PathBuf {
        self.tree.path().join(path)
    }

    /// The command `eyelet` with these flags, confined to the workspace.
    pub fn eyelet(&self, flags: &[&str]) -> Command {
        let mut eyelet = command(&self.tree);
        eyelet.envs(self.environment.iter().cloned());
        eyelet.args(["--root", self.tree.str(), "--env", "OUT"]).args(flags);
        eyelet
    }

    /// Runs a shell command and returns the envelope.
    pub fn answer(&self, flags: &[&str], command: &str) -> Value {
        self.answer_of(flags, &json!({ "command": command, "timeout_secs": 60 }))
    }

    /// Calls `bash` with these arguments and returns the envelope.
    pub fn answer_of(&self, flags: &[&str], arguments: &Value) -> Value {
        let output =
            self.eyelet(flags).args(["call", "bash", &arguments.to_string()]).output().unwrap();
        envelope(&output)
    }

    /// Runs a shell command and returns the envelope's data.
    pub fn data(&self, flags: &[&str], command: &str) -> Value {
        let mut answer = self.answer(flags, command);
        assert_eq!(answer["ok"], true, "{flags:?} {command}: {answer}");
        answer["data"].take()
    }

    /// The stdout of a shell command. Fails unless the command succeeds.
    pub fn stdout(&self, flags: &[&str], command: &str) -> String {
        let data = self.data(flags, command);
        assert_eq!(data["exit_code"], 0, "{flags:?} {command}: {data}");
        data["stdout"].as_str().unwrap().to_owned()
    }

    /// Whether a shell command fails.
    pub fn fails(&self, flags: &[&str], command: &str) -> bool {
        self.data(flags, command)["exit_code"] != 0
    }
}

/// Parses stdout as an envelope.
pub fn envelope(output: &Output) -> Value {
    let stdout = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

/// A unique number to mark processes of one test, used as the duration of a `sleep`.
pub fn marker() -> String {
    let mut bytes = [0; 4];
    let random = fs::File::open("/dev/urandom").unwrap();
    std::io::Read::read_exact(&mut &random, &mut bytes).unwrap();
    format!("9{:010}", u32::from_ne_bytes(bytes))
}

/// The number of processes that have the marker as an argument.
pub fn marked(marker: &str) -> usize {
    with_marker(marker).len()
}

/// The processes that have the marker as an argument.
pub fn with_marker(marker: &str) -> Vec<Pid> {
    processes(|argument| argument == marker)
}

/// Whether a process has an argument that contains the marker, such as the shell that runs the command.
pub fn is_mentioned(marker: &str) -> bool {
    !processes(|argument| argument.contains(marker)).is_empty()
}

/// The processes with an argument that matches.
fn processes(matches: impl Fn(&str) -> bool) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let matches = |path: &Path| {
        let arguments = fs::read(path.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).split('\0').any(&matches)
    };
    let meant = entries.filter(|entry| matches(&entry.path()));
    meant.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Waits until `condition` holds; returns false if it does not within `time`.
pub fn within(time: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let until = Instant::now() + time;
    while Instant::now() < until {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    condition()
}
