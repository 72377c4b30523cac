//! `eyelet setup CLIENT --check`: is the entry there, and does the server answer.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::clients::{Client, Scope};
use super::entry::{self, NAME, Started};
use super::file;
use crate::failure::{FAILED, Failure};

/// Time for the server's first answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Time for its end; then it is ended.
const PATIENCE_AT_THE_END: Duration = Duration::from_secs(2);

/// Most bytes of the server's first answer.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// What is found, as lines; a failure where the client could not use the server.
pub(crate) fn check(client: &Client, scopes: &[Scope], project: &Path) -> Result<String, Failure> {
    let (place, started) = find(client, scopes, project)?;
    let name = client.name;
    if started.is_off {
        return Err(file::failure(&place, &format!("has `{NAME}` switched off for {name}")));
    }
    let program = program(&started.command, project).ok_or_else(|| {
        let command = &started.command;
        let again = format!("`eyelet setup {name} --write` names the one that runs now");
        file::failure(&place, &format!("starts `{command}`, which is not there; {again}"))
    })?;
    let answer = answer(&program, &started, project).map_err(|reason| {
        let words = words(&started);
        Failure { message: format!("{name} is set up, but `{words}` {reason}"), exit: FAILED }
    })?;
    let (place, words) = (place.display(), words(&started));
    Ok(format!("{name} is set up in {place}\n`{words}` answers as {answer}\n"))
}

/// The first file that has the entry.
fn find(client: &Client, scopes: &[Scope], project: &Path) -> Result<(PathBuf, Started), Failure> {
    let mut looked = Vec::new();
    for scope in scopes {
        let place = client.file(*scope, project)?;
        let text = file::read(&place)?.unwrap_or_default();
        let said = client.format.read(&text).map_err(|reason| file::failure(&place, &reason))?;
        if let Some(entry) = said.get(client.servers).and_then(|servers| servers.get(NAME)) {
            let started = entry::started(client, entry, project);
            let started = started
                .ok_or_else(|| file::failure(&place, &format!("names no command for `{NAME}`")))?;
            return Ok((place, started));
        }
        looked.push(place.display().to_string());
    }
    let (name, looked) = (client.name, looked.join(" and "));
    let message = format!(
        "{name} is not set up: no `{NAME}` in {looked}; `eyelet setup {name} --write` sets it up"
    );
    Err(Failure { message, exit: FAILED })
}

fn program(command: &str, project: &Path) -> Option<PathBuf> {
    if !command.contains('/') {
        return entry::on_path(command);
    }
    Some(project.join(command)).filter(|file| entry::is_program(file))
}

fn words(started: &Started) -> String {
    let words = std::iter::once(&started.command).chain(&started.arguments);
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Who answers the protocol's first question; or why nobody does.
fn answer(program: &Path, started: &Started, project: &Path) -> Result<String, String> {
    let child = Command::new(program)
        .args(&started.arguments)
        .envs(started.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut server = Server(child.map_err(|error| format!("does not start: {error}"))?);
    let question = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "eyelet-setup", "version": env!("CARGO_PKG_VERSION") },
        },
    });
    let stdin = server.0.stdin.as_mut();
    // One that ended already says why on its stderr.
    let _ = stdin.map(|stdin| stdin.write_all(format!("{question}\n").as_bytes()));
    let line = server.first_line()?;
    let answer: Value = serde_json::from_str(&line)
        .map_err(|_| "answers something that is not of the protocol".to_owned())?;
    let about = |key: &str| answer.pointer(&format!("/result/{key}")).and_then(Value::as_str);
    let Some(name) = about("serverInfo/name") else {
        return Err("answers, but not as a server does".to_owned());
    };
    if name != NAME {
        return Err(format!("answers as `{name}`, which is not eyelet"));
    }
    let version = about("serverInfo/version").unwrap_or("of unknown version");
    let protocol = about("protocolVersion").unwrap_or("of unknown version");
    Ok(format!("{name} {version}, protocol {protocol}"))
}

/// A server that ends with the check.
struct Server(Child);

impl Server {
    fn first_line(&mut self) -> Result<String, String> {
        let stdout = self.0.stdout.take().ok_or("has no stdout")?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout.take(MAX_ANSWER_BYTES)).read_line(&mut line);
            // Nobody may be waiting any more.
            let _ = sender.send(read.map(|_| line));
        });
        let seconds = PATIENCE.as_secs();
        match receiver.recv_timeout(PATIENCE) {
            Ok(Ok(line)) if !line.is_empty() => Ok(line),
            Ok(_) => Err(self.last_words()),
            Err(_) => Err(format!("does not answer within {seconds} seconds")),
        }
    }

    /// What a server that ended said last.
    fn last_words(&mut self) -> String {
        let mut said = String::new();
        if self.ended()
            && let Some(stderr) = self.0.stderr.take()
        {
            let _ = stderr.take(MAX_ANSWER_BYTES).read_to_string(&mut said);
        }
        match said.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("ends at once: {}", line.trim()),
            None => "ends without an answer".to_owned(),
        }
    }

    /// Waits for its end, within the patience.
    fn ended(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < PATIENCE_AT_THE_END {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return true;
            }
            thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its stdin asks it to end.
        drop(self.0.stdin.take());
        if !self.ended() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
