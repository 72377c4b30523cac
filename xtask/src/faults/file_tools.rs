//! `read`, `grep_files`, `find_files` and `list_dir`: the reply is the same as without a fault, or an error.

use std::cell::Cell;

use super::{Scenario, Seen, Stage};

/// The system calls that these tools use.
const CALLS: &[&str] =
    &["openat2", "openat", "getdents64", "statx", "fstat", "newfstatat", "clone3", "clone"];

/// Errors that do not depend on the file. For others the tools skip the file or list the directory without
/// its entries, as specified.
const SHORTAGES: &[&str] = &["EINTR", "EMFILE", "ENFILE", "ENOMEM"];

pub(super) struct FileTools {
    stage: Stage,
    calls: Vec<[String; 2]>,
    /// The reply of each call without a fault.
    replies: Vec<String>,
    /// The index of the current call.
    turn: Cell<usize>,
}

impl FileTools {
    pub(super) fn new(stage: &Stage) -> Result<Self, String> {
        for name in ["tree", "home", "tmp"] {
            stage.folder(name)?;
        }
        let tree = stage.top.join("tree");
        for folder in ["a/b", "a/c", "d/b", "d/e/f"] {
            for number in 0..6 {
                let text = format!("needle {number}\n").repeat(1 + 300 * number);
                stage.file(&tree.join(folder).join(format!("{number}.txt")), &text)?;
            }
        }
        let lines: String = (0..40_000).map(|number| format!("line {number}\n")).collect();
        stage.file(&tree.join("long.txt"), &lines)?;
        stage.file(&tree.join(".ignore"), "5.txt\n")?;
        let path = tree.display();
        let calls = [
            ["read", "{\"path\":\"long.txt\",\"offset\":39000,\"limit\":3}"],
            ["grep_files", "{\"pattern\":\"needle [34]\"}"],
            ["grep_files", "{\"pattern\":\"nowhere\"}"],
            ["grep_files", "{\"pattern\":\"needle [34]\",\"show\":\"lines\"}"],
            ["find_files", "{\"pattern\":\"*3*\"}"],
            ["list_dir", &format!("{{\"dir_path\":\"{path}\",\"depth\":9,\"limit\":99}}")],
        ];
        let calls = calls.map(|call| call.map(str::to_owned)).into();
        let mut tools =
            FileTools { stage: stage.clone(), calls, replies: Vec::new(), turn: Cell::new(0) };
        for turn in 0..tools.calls.len() {
            tools.turn.set(turn);
            tools.replies.push(stage.run(&[], &tools.command())?.stdout);
        }
        Ok(tools)
    }
}

impl Scenario for FileTools {
    fn name(&self) -> String {
        format!("read, grep_files, find_files, list_dir (uid {})", self.stage.user.unwrap_or(0))
    }

    fn reset(&self) -> Result<(), String> {
        self.turn.set((self.turn.get() + 1) % self.calls.len());
        Ok(())
    }

    fn command(&self) -> Vec<String> {
        let root = self.stage.top.join("tree").display().to_string();
        let eyelet = self.stage.eyelet.display().to_string();
        let call = self.calls.get(self.turn.get()).cloned().unwrap_or_default();
        let words = [&eyelet, "--root", &root, "--cwd", &root, "call"];
        words.iter().map(|&word| word.to_owned()).chain(call).collect()
    }

    fn faults(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (CALLS, SHORTAGES)
    }

    fn complaints(&self, seen: &Seen) -> Vec<String> {
        let reply = self.replies.get(self.turn.get()).map_or("", String::as_str);
        let is_error = seen.code != Some(0);
        let is_right = !reply.is_empty() && seen.stdout == reply;
        if is_error || is_right { Vec::new() } else { vec!["wrong reply".to_owned()] }
    }
}
