//! A command whose output exceeds the reply: the saved output is complete, or the reply reports an error.

use std::fs;

use super::{ERRORS, Scenario, Seen, Stage};

/// The system calls that read and save output.
const CALLS: &[&str] =
    &["read", "write", "pipe2", "fcntl", "ioctl", "openat", "mkdirat", "fstat", "flock", "ppoll"];

/// The number of lines that the command prints.
const NUMBERS: usize = 400_000;

pub(super) struct LongOutput {
    stage: Stage,
    /// The full output of the command.
    output: String,
}

impl LongOutput {
    pub(super) fn new(stage: &Stage) -> Self {
        let output = (1..=NUMBERS).map(|number| format!("{number}\n")).collect();
        LongOutput { stage: stage.clone(), output }
    }

    /// The condition that a reply violates. If the command itself fails, it prints only the start of the output.
    fn complaint(&self, reply: &str) -> Option<&'static str> {
        let total = after(reply, "\"stdout_total_bytes\":")
            .and_then(|rest| rest.split([',', '}']).next()?.parse::<usize>().ok());
        let Some(printed) = total.and_then(|total| self.output.get(..total)) else {
            return Some("the reply gives a wrong total number of bytes");
        };
        let shown = after(reply, "\"stdout\":\"").and_then(|rest| rest.split('"').next());
        let shown = shown.unwrap_or_default().replace("\\n", "\n");
        let is_truncated = reply.contains("\"stdout_truncated\":true");
        if !printed.starts_with(&shown) || is_truncated == (shown == printed) {
            return Some("the reply shows wrong output");
        }
        let is_reported = reply.contains("\"stdout_spill_error\":\"");
        let file = after(reply, "\"stdout_file\":\"").and_then(|rest| rest.split('"').next());
        let saved = file.map(|file| fs::read_to_string(file).unwrap_or_default());
        match saved {
            Some(saved) if saved != printed && !is_reported => Some("the saved output is wrong"),
            None if is_truncated && !is_reported => {
                Some("the output was not saved, and the reply does not say so")
            }
            Some(_) | None => None,
        }
    }
}

impl Scenario for LongOutput {
    fn name(&self) -> String {
        format!("long output (uid {})", self.stage.user.unwrap_or(0))
    }

    fn reset(&self) -> Result<(), String> {
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
        let is_reply = seen.stdout.starts_with("{\"ok\":true,");
        let complaint = match seen.code {
            Some(0) if is_reply => self.complaint(&seen.stdout),
            Some(0) => Some("exit code 0 without a reply"),
            // A reply that could not be written is an error.
            Some(_) | None => None,
        };
        complaint.map(str::to_owned).into_iter().collect()
    }
}

fn after<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    Some(text.split_once(key)?.1)
}
