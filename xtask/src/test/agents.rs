//! The real agents, set up by `eyelet setup`, report what they see. They are large and come from npm.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::built::built;
use crate::workspace::{Workspace, run};

/// An agent, and what it has to say of a server that it was set up with.
struct Agent {
    client: &'static str,
    package: &'static str,
    program: &'static str,
    /// The scope that it reads without being asked to trust anything.
    scope: &'static str,
    question: &'static [&'static str],
    /// What one line of its answer has to hold; `EYELET` is the path of the program.
    answer: &'static [&'static str],
}

const AGENTS: &[Agent] = &[
    Agent {
        client: "claude-code",
        package: "@anthropic-ai/claude-code@2.1.197",
        program: "claude",
        scope: "user",
        question: &["mcp", "list"],
        answer: &["eyelet: EYELET mcp", "Connected"],
    },
    Agent {
        client: "gemini-cli",
        package: "@google/gemini-cli@0.61.0",
        program: "gemini",
        scope: "project",
        question: &["mcp", "list"],
        answer: &["eyelet: EYELET mcp (stdio)", "- Connected"],
    },
    Agent {
        client: "opencode",
        package: "opencode-ai@1.18.33",
        program: "opencode",
        scope: "project",
        question: &["mcp", "list"],
        answer: &["eyelet", "connected"],
    },
    Agent {
        client: "codex",
        package: "@openai/codex@0.166.0",
        program: "codex",
        scope: "user",
        question: &["mcp", "get", "eyelet"],
        answer: &["command: EYELET"],
    },
    Agent {
        client: "copilot-cli",
        package: "@github/copilot@1.0.102",
        program: "copilot",
        scope: "user",
        question: &["mcp", "get", "eyelet"],
        answer: &["Command: EYELET mcp"],
    },
];

/// Time for an agent's answer.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) fn check(workspace: &Workspace) -> Result<(), String> {
    install(workspace)?;
    let eyelet = built(workspace)?.eyelet;
    let scratch = Scratch::new(&workspace.root.join("target/clients-scratch"))?;
    let mut failed = Vec::new();
    println!("{:12} {:10} {:22} output", "client", "version", "arguments");
    for agent in AGENTS {
        let version = agent.ask(workspace, &scratch, &["--version"])?;
        let version = version.split_whitespace().find(|word| word.starts_with(is_digit));
        let version = version.unwrap_or("?").trim_end_matches('.');
        let question = agent.question.join(" ");
        let said = agent.set_up(&eyelet, &scratch).and_then(|()| {
            let answer = agent.ask(workspace, &scratch, agent.question)?;
            agent.judge(&answer, &eyelet)
        });
        let told = said.as_ref().unwrap_or_else(|wrong| wrong).replace('\n', "\n    ");
        println!("{:12} {version:10} {question:22} {told}", agent.client);
        if said.is_err() {
            failed.push(agent.client);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("failed clients: {}", failed.join(", "))) }
}

fn is_digit(character: char) -> bool {
    character.is_ascii_digit()
}

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.clients("agents")
}

/// Installs what is not there yet. Remove `target/clients` to get newer ones.
fn install(workspace: &Workspace) -> Result<(), String> {
    let folder = folder(workspace);
    let program = |agent: &Agent| folder.join("node_modules/.bin").join(agent.program);
    let missing: Vec<_> = AGENTS.iter().filter(|agent| !program(agent).exists()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder);
    run(npm.args(missing.iter().map(|agent| agent.package)))
}

impl Agent {
    fn set_up(&self, eyelet: &Path, scratch: &Scratch) -> Result<(), String> {
        let mut command = scratch.command(eyelet);
        command.args(["setup", self.client, "--scope", self.scope, "--write"]);
        answer(&mut command).map(|_| ())
    }

    fn ask(
        &self,
        workspace: &Workspace,
        scratch: &Scratch,
        question: &[&str],
    ) -> Result<String, String> {
        let program = folder(workspace).join("node_modules/.bin").join(self.program);
        answer(scratch.command(&program).args(question))
    }

    /// The line that says what is expected; else all that it said.
    fn judge(&self, said: &str, eyelet: &Path) -> Result<String, String> {
        let eyelet = eyelet.to_string_lossy();
        let plain = without_colours(said);
        let holds_all = |line: &&str| {
            self.answer.iter().all(|part| line.contains(&part.replace("EYELET", &eyelet)))
        };
        let found = plain.lines().find(holds_all);
        found.map(|line| line.trim().replace(&*eyelet, "eyelet")).ok_or(plain)
    }
}

/// A home and a project for the agents alone.
struct Scratch {
    home: PathBuf,
    project: PathBuf,
}

impl Scratch {
    fn new(folder: &Path) -> Result<Self, String> {
        let scratch = Scratch { home: folder.join("home"), project: folder.join("project") };
        let made = match fs::remove_dir_all(folder) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => fs::create_dir_all(&scratch.home)
                .and_then(|()| fs::create_dir_all(&scratch.project)),
        };
        made.map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(scratch)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.project)
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.home)
            .env("TERM", "dumb")
            .env("NO_COLOR", "1")
            // Gemini CLI starts servers in trusted folders only.
            .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
            .stdin(Stdio::null());
        command
    }
}

/// All that a program prints, within the patience.
fn answer(command: &mut Command) -> Result<String, String> {
    let told = format!("{command:?}");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("{told} does not start: {error}"))?;
    let reader = |stream: Option<Box<dyn std::io::Read + Send>>| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            // What came before a failure is all there is.
            let _ = stream.map(|mut stream| stream.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        })
    };
    let stdout = reader(child.stdout.take().map(|stream| Box::new(stream) as _));
    let stderr = reader(child.stderr.take().map(|stream| Box::new(stream) as _));
    let start = Instant::now();
    let status = loop {
        match child.try_wait().map_err(|error| format!("{told}: {error}"))? {
            Some(status) => break status,
            None if start.elapsed() > PATIENCE => {
                let _ = child.kill();
                return Err(format!("{told} does not end within {} s", PATIENCE.as_secs()));
            }
            None => thread::sleep(Duration::from_millis(50)),
        }
    };
    let said = [stdout, stderr].map(|reader| reader.join().unwrap_or_default()).concat();
    if status.success() { Ok(said) } else { Err(format!("{status}\n{said}")) }
}

/// Text without the sequences that colour it.
fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    for (place, piece) in text.split("\u{1b}[").enumerate() {
        let rest = piece.split_once(|end: char| end.is_ascii_alphabetic()).map(|(_, rest)| rest);
        plain.push_str(if place == 0 { piece } else { rest.unwrap_or_default() });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_left_out() {
        assert_eq!(
            without_colours("\u{1b}[0m● eyelet \u{1b}[90mconnected\n"),
            "● eyelet connected\n"
        );
    }

    #[test]
    fn an_answer_is_judged_by_one_line() {
        let agent = &AGENTS[0];
        let eyelet = Path::new("/e");
        let said = "Checking\neyelet: /e mcp - Connected\n";
        assert_eq!(agent.judge(said, eyelet).unwrap(), "eyelet: eyelet mcp - Connected");
        assert!(agent.judge("eyelet: /e mcp - Failed\nConnected", eyelet).is_err());
    }
}
