//! The calls of a client that run commands and jobs.

use serde_json::json;
use testkit::workspace::marker;

use super::{Done, Stop, Visit, text_of};
use crate::client::{Answer, Client, Outcome, Request};

impl<C: Client> Visit<'_, C> {
    pub(super) fn run_a_command(&mut self) -> Done {
        let number = self.random.u32(..);
        let command = format!("echo $(({number} + 1)); ls src | head -n 2; pwd");
        let part = (u64::from(number) + 1).to_string();
        self.text("bash", &json!({ "command": command }), &part).map(drop)
    }

    pub(super) fn fail_a_command(&mut self) -> Done {
        let (command, part) = [
            ("echo failed >&2; exit 3", "[exit 3;"),
            ("no-such-program-at-all", "[exit 127;"),
            (": > /sys/eyelet-soak", "[exit 1;"),
            ("kill -9 $$", "[exit 137;"),
        ][self.random.usize(0..4)];
        self.text("bash", &json!({ "command": command }), part).map(drop)
    }

    pub(super) fn write_a_file(&mut self) -> Done {
        let name = format!("made-{}", self.random.u64(..));
        let command =
            format!("seq 1000 > {name}; (setsid sleep 600 &); tail -n 1 {name}; rm {name}");
        self.text("bash", &json!({ "command": command }), "\n1000\n").map(drop)
    }

    pub(super) fn print_long_output(&mut self) -> Done {
        let last = self.random.usize(20_000..100_000);
        let command = format!("seq {last}; seq {last} >&2");
        let text = self.text("bash", &json!({ "command": command }), "saved to ")?;
        let file = saved_file(&text).ok_or_else(|| format!("bash {command}: {text:.300}"))?;
        // A flood may have removed it since.
        let removed = "was removed: saved output exceeded";
        let page = json!({"path": file, "tail": 1});
        let answer = self.call("read", &page)?;
        let found = match answer.outcome {
            Outcome::ToolError(message) if message.contains(removed) => return Ok(()),
            outcome => text_of(Answer { outcome, ..answer }, &page.to_string(), &last.to_string()),
        };
        found?;
        let arguments = json!({"pattern": format!("^{last}$"), "path": file});
        match self.call("grep_files", &arguments)?.outcome {
            Outcome::Text(text) if text.contains(file) => Ok(()),
            Outcome::ToolError(message) if message.contains(removed) => Ok(()),
            other => Err(Stop::Broken(format!("grep_files {arguments}: {other:?}"))),
        }
    }

    pub(super) fn time_out(&mut self) -> Done {
        let command = format!("trap '' TERM; echo begun; sleep {}", marker());
        let arguments = json!({"command": command, "timeout_secs": 3}).to_string();
        self.pacer.wait(1);
        let request = Request::call_with_progress("bash", &arguments, self.random.u64(..1 << 40));
        let text = text_of(self.client.request(&request)?, &arguments, "[timed out after 3 s")?;
        let has_output = text.contains("begun");
        if has_output { Ok(()) } else { Err(Stop::Broken(format!("bash {arguments}: {text}"))) }
    }

    pub(super) fn start_and_stop_a_job(&mut self) -> Done {
        let command = format!("echo up; exec sleep {}", marker());
        let arguments = json!({"command": command, "background": true});
        let text = self.text("bash", &arguments, "[job ")?;
        let job = job_number(&text).ok_or_else(|| format!("bash {arguments}: {text}"))?;
        self.text("jobs", &json!({}), &format!("{job}"))?;
        self.text("jobs", &json!({"job": job, "wait_secs": 1}), &format!("[job {job} running"))?;
        self.stop(job)
    }

    pub(super) fn continue_as_a_job(&mut self) -> Done {
        let command = "echo begun; sleep 2; echo ended";
        let arguments = json!({"command": command, "on_timeout": "background", "timeout_secs": 1});
        let text = self.text("bash", &arguments, "begun")?;
        if text.contains("not continued in the background") {
            // Too many jobs run already.
            return Ok(());
        }
        let job = job_number(&text).ok_or_else(|| format!("bash {arguments}: {text}"))?;
        let wait = json!({"job": job, "wait_secs": 60});
        self.text("jobs", &wait, &format!("[job {job} exited 0")).map(drop)
    }

    fn stop(&mut self, job: u64) -> Done {
        self.text("jobs", &json!({"job": job, "stop": true}), &format!("[job {job} killed"))
            .map(drop)
    }
}

/// The first file that a reply names as saved output.
fn saved_file(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("saved to ")?;
    rest.split([';', ']']).next()
}

/// The number in `[job N …`.
fn job_number(text: &str) -> Option<u64> {
    text.strip_prefix("[job ")?.split(' ').next()?.parse().ok()
}
