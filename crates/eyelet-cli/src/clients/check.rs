//! `eyelet setup CLIENT --check`: checks that the entry exists and that the server answers.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client_list::{Client, Scope, Starts};
use super::config_file;
use super::entry::{self, Executable, NAME};
use super::launch_command::{LaunchCommand, Serving, serving};
use crate::failure::Failure;

/// How long to wait for the server's first answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait for its exit before killing it.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum size of the server's first answer.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// Reports the working setup as lines, or fails if the client could not use the server. `starts_server`
/// says whether eyelet starts its server on stdin and stdout with these arguments.
pub(crate) fn check(
    client: &Client,
    scopes: &[Scope],
    project: &Path,
    starts_server: fn(&[String]) -> bool,
) -> Result<String, Failure> {
    let Found { scope, place, entry, mut launch } = find(client, scopes, project)?;
    let name = client.name;
    if launch.is_off {
        let place = place.display();
        let message = format!("{place}: the entry `{entry}` is disabled; enable it in this file");
        return Err(Failure::new(message));
    }
    let mut program = program(&launch.command, project).ok_or_else(|| {
        let (place, command, advice) = (place.display(), &launch.command, client.advice());
        Failure::new(format!("{place}: program `{command}` not found; {advice}"))
    })?;
    let mut warning = String::new();
    if scope == Scope::Project {
        let checked = this_program(&program).and_then(|program| {
            let starts = starts_server(&launch.arguments);
            let refused = "does not start the server on stdin and stdout".to_owned();
            starts.then_some(program).ok_or(refused)
        });
        program = checked.map_err(|reason| {
            let (place, words, advice) = (place.display(), words(&launch), client.advice());
            Failure::new(format!("{place}: `{words}` {reason}; {advice}"))
        })?;
        let names: Vec<_> = launch.variables.drain(..).map(|(name, _)| name).collect();
        if !names.is_empty() {
            let (names, advice) = (names.join(", "), client.advice());
            warning = format!(
                "checked without the environment variables {names}, which the project's config file \
                 sets; to remove them, {advice}\n"
            );
        }
    }
    let directory = match client.starts {
        Starts::InProject | Starts::ElsewhereWithPlaceholder(_) => project,
        // The server must not depend on the directory in which it starts.
        Starts::Elsewhere => Path::new("/"),
    };
    let answer = handshake(&program, &launch, directory).map_err(|reason| {
        let words = words(&launch);
        Failure::new(format!("{name} is set up, but `{words}` {reason}"))
    })?;
    let (place, words) = (place.display(), words(&launch));
    Ok(format!("{name} is set up in {place}\n`{words}` answers as {answer}\n{warning}"))
}

/// The running program, if it is `program`. Anyone may have written a project's file, so nothing else that
/// it names is executed.
fn this_program(program: &Path) -> Result<PathBuf, String> {
    let executable = Executable::this().map_err(|failure| failure.message)?;
    match executable.is_same(program) {
        true => Ok(executable.path),
        false => {
            let reason = "was not run: --check runs the command of a project's config file only if \
                          it is this eyelet executable";
            Err(reason.to_owned())
        }
    }
}

/// The entry to check.
struct Found {
    scope: Scope,
    place: PathBuf,
    entry: String,
    launch: LaunchCommand,
}

/// The first file that has an entry for this project.
fn find(client: &Client, scopes: &[Scope], project: &Path) -> Result<Found, Failure> {
    let (name, advice) = (client.name, client.advice());
    let (mut searched, mut for_project) = (Vec::new(), String::new());
    for &scope in scopes {
        let place = client.file(scope, project)?;
        let text = config_file::read(&place)?.unwrap_or_default();
        let shown = place.display().to_string();
        let parsed = client
            .format
            .read(&text)
            .map_err(|reason| Failure::new(format!("cannot read {shown}: {reason}")))?;
        let servers = parsed.get(client.servers).and_then(Value::as_object);
        match serving(client, servers, scope, project) {
            Serving::Entry(entry, launch) => return Ok(Found { scope, place, entry, launch }),
            Serving::NoCommand => {
                let message = format!("{shown}: the entry `{NAME}` has no command; {advice}");
                return Err(Failure::new(message));
            }
            Serving::Others => for_project = format!(" for {}", project.display()),
            Serving::None => {}
        }
        searched.push(shown);
    }
    let files = searched.join(" or ");
    let message =
        format!("{name} is not set up{for_project}: no `{NAME}`{for_project} in {files}; {advice}");
    Err(Failure::new(message))
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
fn handshake(program: &Path, launch: &LaunchCommand, directory: &Path) -> Result<String, String> {
    let child = Command::new(program)
        .args(&launch.arguments)
        .envs(launch.variables.iter().map(|(name, value)| (name, value)))
        .current_dir(directory)
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
    let answer: Value = serde_json::from_str(&line)
        .map_err(|_| "does not work: the reply to `initialize` is not JSON".to_owned())?;
    let about = |key: &str| answer.pointer(&format!("/result/{key}")).and_then(Value::as_str);
    let Some(name) = about("serverInfo/name") else {
        return Err("does not work: the reply to `initialize` gives no server name".to_owned());
    };
    if name != NAME {
        return Err(format!("is another server: `{name}`"));
    }
    // The first words of the server's instructions about roots if it has none.
    if about("instructions").is_some_and(|text| text.contains("No roots are configured"))
        && directory == Path::new("/")
    {
        return Err("cannot access any files: it has no --root".to_owned());
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
