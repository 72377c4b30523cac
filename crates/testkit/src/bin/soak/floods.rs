//! Commands that together print more than the limit of saved output, while small calls are measured.

use std::time::Duration;

use fastrand::Rng;
use serde_json::json;
use testkit::TempTree;

use crate::client::{Answer, Client as _, Outcome, Pacer, Request, is_busy};
use crate::mixed_calls::Visit;
use crate::stdio_client::StdioClient;

/// How many commands print at once: as many as may run.
const COMMANDS: usize = 8;
/// How much each prints. Together it is more than the limit of a session.
const BYTES: usize = 160_000_000;
/// Small calls per second while they print.
const SMALL_CALLS_PER_SECOND: u32 = 40;

/// Runs the commands, and measures small calls until all have answered.
pub(crate) fn flood(client: &StdioClient, tree: &TempTree) {
    let text = "a line of a command that prints far more than anyone reads";
    let command = format!("yes '{text}' | head -c {BYTES}");
    let request =
        Request::call("bash", &json!({"command": command, "timeout_secs": 120}).to_string());
    let pending: Vec<_> = (0..COMMANDS).map(|_| client.send(&request)).collect();
    client.while_flooded(|| {
        std::thread::scope(|scope| {
            let answers = scope.spawn(|| {
                let answers = pending.into_iter().map(|one| client.answer(one?));
                answers.collect::<Vec<_>>()
            });
            let pacer = Pacer::new(SMALL_CALLS_PER_SECOND);
            let mut visit = Visit { client, tree, pacer: &pacer, random: Rng::new() };
            while !answers.is_finished() {
                visit.small_call();
                std::thread::sleep(Duration::from_millis(1));
            }
            match answers.join() {
                Ok(answers) => answers.into_iter().for_each(|answer| check(client, answer)),
                Err(_) => client.tally().broken("a flood's client panicked"),
            }
        });
    });
}

fn check(client: &StdioClient, answer: Result<Answer, String>) {
    let all = format!(" {BYTES} bytes, ");
    match answer.map(|answer| answer.outcome) {
        // All of it was counted, also if it could not be saved in full.
        Ok(Outcome::Text(text)) if text.contains(&all) && text.starts_with("[exit 0;") => {
            client.tally().counts().floods += 1;
        }
        Ok(Outcome::ToolError(message)) if is_busy(&message) => {}
        Ok(other) => client.tally().broken(format!("flood: {:.600}", format!("{other:?}"))),
        Err(message) => client.tally().broken(format!("flood: {message}")),
    }
}
