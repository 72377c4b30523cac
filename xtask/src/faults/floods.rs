//! A command that prints more than is shown: of what is kept nothing may be missing unless that is told.

use std::fs;

use super::{ERRORS, Scene, Seen, Stage};

/// How the output comes here, and where it goes.
const CALLS: &[&str] = &[
    "read",
    "write",
    "pipe2",
    "fcntl",
    "ioctl",
    "openat",
    "mkdirat",
    "fstat",
    "flock",
    "getrandom",
    "ppoll",
];

/// How many numbers are printed, one a line.
const NUMBERS: usize = 400_000;

pub(super) struct Floods {
    stage: Stage,
    /// What the command prints.
    output: String,
}

impl Floods {
    pub(super) fn new(stage: &Stage) -> Self {
        let output = (1..=NUMBERS).map(|number| format!("{number}\n")).collect();
        Floods { stage: stage.clone(), output }
    }

    /// What does not hold of an answer. The command itself may have failed, too: then it printed the start.
    fn complaint(&self, answer: &str) -> Option<&'static str> {
        let total = after(answer, "\"stdout_total_bytes\":")
            .and_then(|rest| rest.split([',', '}']).next()?.parse::<usize>().ok());
        let Some(came) = total.and_then(|total| self.output.get(..total)) else {
            return Some("another total");
        };
        let shown = after(answer, "\"stdout\":\"").and_then(|rest| rest.split('"').next());
        let shown = shown.unwrap_or_default().replace("\\n", "\n");
        let is_cut = answer.contains("\"stdout_truncated\":true");
        if !came.starts_with(&shown) || is_cut == (shown == came) {
            return Some("something else is shown");
        }
        let is_told = answer.contains("\"stdout_spill_error\":\"");
        let file = after(answer, "\"stdout_file\":\"").and_then(|rest| rest.split('"').next());
        let kept = file.map(|file| fs::read_to_string(file).unwrap_or_default());
        match kept {
            Some(kept) if kept != came && !is_told => Some("the file has something else"),
            None if is_cut && !is_told => Some("the rest is nowhere, and nobody said so"),
            Some(_) | None => None,
        }
    }
}

impl Scene for Floods {
    fn name(&self) -> String {
        format!("a flood (uid {})", self.stage.user.unwrap_or(0))
    }

    fn lay(&self) -> Result<(), String> {
        for name in ["w", "home", "tmp"] {
            self.stage.folder(name)?;
        }
        Ok(())
    }

    fn command(&self) -> Vec<String> {
        let root = self.stage.top.join("w").display().to_string();
        let eyelet = self.stage.eyelet.display().to_string();
        let arguments = format!("{{\"command\":\"exec seq {NUMBERS}\",\"timeout_secs\":6}}");
        let words = [&eyelet, "--cwd", &root, "--sandbox", "full", "call", "bash", &arguments];
        words.map(str::to_owned).into()
    }

    fn faults(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (CALLS, ERRORS)
    }

    fn complaints(&self, seen: &Seen) -> Vec<String> {
        let is_answer = seen.stdout.starts_with("{\"ok\":true,");
        let complaint = match seen.code {
            Some(0) if is_answer => self.complaint(&seen.stdout),
            Some(0) => Some("it exits 0 without an answer"),
            // An answer that could not be written is told as such.
            Some(_) | None => None,
        };
        complaint.map(str::to_owned).into_iter().collect()
    }
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    Some(text.split_once(key)?.1)
}
