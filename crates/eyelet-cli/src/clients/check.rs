//! `eyelet setup CLIENT --check`: checks that the entry exists and that the server answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client_list::{Client, Scope};
use super::config_file;
use super::entry::{self, LaunchCommand, NAME};
use crate::failure::Failure;

/// How long to wait for the server's first answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for its exit before killing it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum size of the server's first answer.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// Reports the working setup as lines, or fails if the client could not use the server.
pub(crate) fn check(client: &Client, scopes: &[Scope], project: &Path) -> Result<String, Failure> {
    let (place, launch) = find(client, scopes, project)?;
    let name = client.name;
    if launch.is_off {
        let place = place.display();
        return Err(Failure::new(format!("{place}: `{NAME}` is disabled; enable it")));
    }
    let program = program(&launch.command, project).ok_or_else(|| {
        let (place, command, advice) = (place.display(), &launch.command, client.advice());
        Failure::new(format!("{place}: no program `{command}`; {advice}"))
    })?;
    let answer = handshake(&program, &launch, project).map_err(|reason| {
        let words = words(&launch);
        Failure::new(format!("{name} is set up, but `{words}` {reason}"))
    })?;
    let (place, words) = (place.display(), words(&launch));
    Ok(format!("{name} is set up in {place}\n`{words}` answers as {answer}\n"))
}

/// The first file that has the entry.
fn find(
    client: &Client,
    scopes: &[Scope],
    project: &Path,
) -> Result<(PathBuf, LaunchCommand), Failure> {
    let mut searched = Vec::new();
    for scope in scopes {
        let place = client.file(*scope, project)?;
        let text = config_file::read(&place)?.unwrap_or_default();
        let parsed = client
            .format
            .read(&text)
            .map_err(|reason| Failure::new(format!("cannot read {}: {reason}", place.display())))?;
        if let Some(entry) = parsed.get(client.servers).and_then(|servers| servers.get(NAME)) {
            let launch = entry::launch_command(client, entry, project);
            let launch = launch.ok_or_else(|| {
                let (place, advice) = (place.display(), client.advice());
                Failure::new(format!("{place}: `{NAME}` has no command; {advice}"))
            })?;
            return Ok((place, launch));
        }
        searched.push(place.display().to_string());
    }
    let (name, files, advice) = (client.name, searched.join(" or "), client.advice());
    Err(Failure::new(format!("{name} is not set up: no `{NAME}` in {files}; {advice}")))
}

fn program(command: &str, project: &Path) -> Option<PathBuf> {
    if !command.contains('/') {
        return entry::on_path(command);
    }
    Some(project.join(command)).filter(|file| entry::is_program(file))
}

fn words(launch: &LaunchCommand) -> String {
    let words = std::iter::once(&launch.command).chain(&launch.arguments);
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// The name and version that the server reports in its handshake, or why it does not.
fn handshake(program: &Path, launch: &LaunchCommand, project: &Path) -> Result<String, String> {
    let child = Command::new(program)
        .args(&launch.arguments)
        .envs(launch.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut server = Server(child.map_err(|error| format!("does not start: {error}"))?);
    let request = json!({
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
    // If the server has already exited, its stderr says why.
    let _ = stdin.map(|stdin| stdin.write_all(format!("{request}\n").as_bytes()));
    let line = server.first_line()?;
    let answer: Value =
        serde_json::from_str(&line).map_err(|_| "sends a reply that is not JSON".to_owned())?;
    let about = |key: &str| answer.pointer(&format!("/result/{key}")).and_then(Value::as_str);
    let Some(name) = about("serverInfo/name") else {
        return Err("sends a reply without a server name".to_owned());
    };
    if name != NAME {
        return Err(format!("is another server: `{name}`"));
    }
    let version = about("serverInfo/version").unwrap_or("(unknown version)");
    let protocol = about("protocolVersion").unwrap_or("unknown");
    Ok(format!("{name} {version}, protocol {protocol}"))
}

/// A server that is stopped when dropped.
struct Server(Child);

impl Server {
    fn first_line(&mut self) -> Result<String, String> {
        let stdout = self.0.stdout.take().ok_or("has no stdout")?;
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout.take(MAX_ANSWER_BYTES)).read_line(&mut line);
            // The receiver may have timed out.
            let _ = sender.send(read.map(|_| line));
        });
        let seconds = ANSWER_TIMEOUT.as_secs();
        match receiver.recv_timeout(ANSWER_TIMEOUT) {
            Ok(Ok(line)) if !line.is_empty() => Ok(line),
            Ok(_) => Err(self.exit_reason()),
            Err(_) => Err(format!("does not answer within {seconds} seconds")),
        }
    }

    /// The last line on stderr of a server that exited.
    fn exit_reason(&mut self) -> String {
        let mut stderr_text = String::new();
        if self.has_exited()
            && let Some(stderr) = self.0.stderr.take()
        {
            let _ = stderr.take(MAX_ANSWER_BYTES).read_to_string(&mut stderr_text);
        }
        match stderr_text.lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("exits: {}", line.trim()),
            None => "exits without a reply".to_owned(),
        }
    }

    /// Waits for its exit; returns false after the timeout.
    fn has_exited(&mut self) -> bool {
        let start = Instant::now();
        while start.elapsed() < EXIT_TIMEOUT {
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
        // The server exits when its stdin closes.
        drop(self.0.stdin.take());
        if !self.has_exited() {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}
