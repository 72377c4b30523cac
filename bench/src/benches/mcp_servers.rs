//! The MCP servers that the benchmarks compare, and how each of them does the same work.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Setup, text};
use crate::contender::Side;
use crate::options::io_error;
use crate::peers::{
    DESKTOP_COMMANDER, MCP_RIPGREP, Peer, Peers, RIPGREP, RUST_MCP_FILESYSTEM, SERVER_FILESYSTEM,
};
use crate::server::{Call, Server};

pub(super) const EYELET: &str = "eyelet mcp";
pub(super) const NOTE: &str = "The other MCP servers are peers from npm and crates.io. The same client calls \
     all servers over pipes. `desktop-commander` runs without a network and with its telemetry off, because \
     it could otherwise send reports or download a browser during the run.";

/// The servers that [`all`] starts.
pub(super) const PEERS: [&Peer; 4] =
    [&SERVER_FILESYSTEM, &RUST_MCP_FILESYSTEM, &DESKTOP_COMMANDER, &MCP_RIPGREP];

/// A server, confined to one directory if the server can do that.
#[derive(Clone)]
pub(super) struct McpServer {
    pub(super) name: &'static str,
    kind: Kind,
    words: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Eyelet,
    Reference,
    RustMcp,
    DesktopCommander,
    McpRipgrep,
}

/// eyelet and the peers that are not missing. eyelet comes first.
pub(super) fn all(setup: &Setup, folder: &str) -> Result<Vec<McpServer>> {
    let eyelet = [&setup.eyelet, "mcp", "--root", folder, "--cwd", folder];
    let words = eyelet.map(str::to_owned).into();
    let mut servers = vec![McpServer { name: EYELET, kind: Kind::Eyelet, words }];
    for peer in PEERS {
        servers.extend(McpServer::peer(peer, &setup.peers, &setup.project, folder)?);
    }
    Ok(servers)
}

/// Reports each server that is installed but does not start as missing.
pub(super) fn exclude_broken(setup: &mut Setup) -> Result<()> {
    let folder = text(setup.project.join("bench"))?;
    for peer in PEERS {
        let server = McpServer::peer(peer, &setup.peers, &setup.project, &folder)?;
        if let Some(Err(reason)) = server.map(|server| server.start()) {
            setup.peers.exclude(peer, format!("the server does not start: {reason}"));
        }
    }
    Ok(())
}

impl McpServer {
    fn peer(peer: &Peer, peers: &Peers, project: &Path, folder: &str) -> Result<Option<McpServer>> {
        let Some(words) = peers.words(peer) else { return Ok(None) };
        let (kind, before, after) = if peer.name == SERVER_FILESYSTEM.name {
            (Kind::Reference, Vec::new(), vec![folder.to_owned()])
        } else if peer.name == RUST_MCP_FILESYSTEM.name {
            (Kind::RustMcp, Vec::new(), vec![folder.to_owned()])
        } else if peer.name == DESKTOP_COMMANDER.name {
            (Kind::DesktopCommander, offline(project)?, vec!["--no-onboarding".to_owned()])
        } else {
            let path = peers.required(&RIPGREP).map(|rg| path_with(&rg)).unwrap_or_default();
            (Kind::McpRipgrep, vec!["env".to_owned(), path], Vec::new())
        };
        let words = [&before[..], words, &after[..]].concat();
        Ok(Some(McpServer { name: peer.name, kind, words }))
    }

    pub(super) fn side(&self) -> Side {
        if self.kind == Kind::Eyelet { Side::Ours } else { Side::Peer }
    }

    pub(super) fn start(&self) -> Result<Server> {
        Server::start(&self.words)
    }

    /// Starts the process without initializing the session.
    pub(super) fn spawn(&self) -> Result<Server> {
        Server::spawn(&self.words)
    }

    /// Lists a directory, or `None` if the server cannot.
    pub(super) fn list(&self, folder: &str) -> Option<Call> {
        let (tool, arguments) = match self.kind {
            Kind::Eyelet => ("list_dir", json!({ "dir_path": folder })),
            Kind::Reference | Kind::RustMcp => ("list_directory", json!({ "path": folder })),
            Kind::DesktopCommander => ("list_directory", json!({ "path": folder, "depth": 1 })),
            Kind::McpRipgrep => return None,
        };
        Some(Call { tool, arguments })
    }

    /// The names in the reply to [`McpServer::list`].
    pub(super) fn names(&self, reply: &str) -> BTreeSet<String> {
        let name = |line: &str| match self.kind {
            Kind::Eyelet => Some(line.trim_end_matches('/').to_owned()),
            _ => line.split_once("] ").map(|(_, name)| name.to_owned()),
        };
        let header = usize::from(self.kind == Kind::Eyelet);
        reply.lines().skip(header).filter_map(name).collect()
    }

    /// Reads a text file, or `None` if the server cannot.
    pub(super) fn read(&self, path: &str) -> Option<Call> {
        let tool = match self.kind {
            Kind::Eyelet => "read",
            Kind::Reference | Kind::RustMcp => "read_text_file",
            Kind::DesktopCommander => "read_file",
            Kind::McpRipgrep => return None,
        };
        Some(Call { tool, arguments: json!({ "path": path }) })
    }

    /// The text of the file in the reply to [`McpServer::read`], without a header.
    pub(super) fn body<'r>(&self, reply: &'r str) -> &'r str {
        match self.kind {
            Kind::Eyelet => reply.split_once('\n').map_or("", |(_, body)| body),
            Kind::DesktopCommander => reply.split_once("\n\n").map_or("", |(_, body)| body),
            Kind::Reference | Kind::RustMcp | Kind::McpRipgrep => reply,
        }
    }

    /// Searches for lines, or `None` if the server cannot. The pattern is case-sensitive.
    pub(super) fn search(&self, pattern: &str, folder: &str) -> Option<Call> {
        let (tool, arguments) = match self.kind {
            Kind::Eyelet => {
                ("grep_files", json!({ "pattern": pattern, "path": folder, "show": "lines" }))
            }
            Kind::McpRipgrep => ("search", json!({ "pattern": pattern, "path": folder })),
            Kind::RustMcp => (
                "search_files_content",
                json!({
                    // Without the flag, this server ignores case.
                    "query": format!("(?-i:{pattern})"),
                    "is_regex": true,
                    "pattern": "**/*",
                    "path": folder
                }),
            ),
            Kind::DesktopCommander => (
                "start_search",
                json!({
                    "pattern": pattern,
                    "path": folder,
                    "searchType": "content",
                    "ignoreCase": false,
                    "contextLines": 0
                }),
            ),
            Kind::Reference => return None,
        };
        Some(Call { tool, arguments })
    }

    /// Finds files by their names, with a glob.
    pub(super) fn find(&self, glob: &str, folder: &str) -> Call {
        let (tool, arguments) = match self.kind {
            Kind::Eyelet => ("find_files", json!({ "pattern": glob, "path": folder })),
            Kind::McpRipgrep => ("list-files", json!({ "filePattern": glob, "path": folder })),
            Kind::Reference | Kind::RustMcp => {
                ("search_files", json!({ "pattern": glob, "path": folder }))
            }
            Kind::DesktopCommander => (
                "start_search",
                json!({
                    "pattern": glob,
                    "path": folder,
                    "searchType": "files",
                    "ignoreCase": false
                }),
            ),
        };
        Call { tool, arguments }
    }

    /// Runs a command, or `None` if the server cannot. eyelet has benchmarks of its own for that.
    pub(super) fn run(&self, command: &str) -> Option<Call> {
        let arguments = json!({ "command": command, "timeout_ms": 5000 });
        let can = self.kind == Kind::DesktopCommander;
        can.then_some(Call { tool: "start_process", arguments })
    }

    /// Makes the call and returns all replies. One server searches in the background; its client asks for
    /// the results until they are complete.
    pub(super) fn ask(&self, server: &mut Server, call: &Call) -> Result<Vec<String>> {
        let mut replies = vec![server.call(call)?.1];
        if self.kind != Kind::DesktopCommander || call.tool != "start_search" {
            return Ok(replies);
        }
        let session = replies[0].split_whitespace().skip_while(|word| *word != "session:").nth(1);
        let session = session.ok_or_else(|| format!("no session in `{}`", replies[0]))?;
        let arguments = json!({ "sessionId": session, "offset": 0, "length": 100_000 });
        let more = Call { tool: "get_more_search_results", arguments };
        loop {
            let reply = server.call(&more)?.1;
            if reply.contains("\nStatus: COMPLETED\n") {
                replies.push(reply);
                return Ok(replies);
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    /// The paths and line numbers in the replies to [`McpServer::search`]; paths are relative to `folder`.
    pub(super) fn lines(&self, replies: &[String], folder: &str) -> BTreeSet<(String, u64)> {
        let mut found = BTreeSet::new();
        let mut heading = String::new();
        for line in replies.iter().flat_map(|reply| reply.lines()) {
            let relative =
                |path: &str| path.trim_start_matches(folder).trim_matches('/').to_owned();
            match self.kind {
                Kind::McpRipgrep | Kind::DesktopCommander => {
                    let mut parts = line.trim_start_matches("📄 ").splitn(3, [':', ' ']);
                    if let (Some(path), Some(Ok(number))) =
                        (parts.next(), parts.next().map(str::parse))
                    {
                        found.insert((relative(path), number));
                    }
                }
                Kind::Eyelet | Kind::RustMcp | Kind::Reference => {
                    let number = line.trim_start().split(':').next().map(str::parse);
                    match number {
                        Some(Ok(number)) => {
                            found.insert((heading.clone(), number));
                        }
                        _ => heading = relative(line),
                    }
                }
            }
        }
        found
    }

    /// The paths in the replies to [`McpServer::find`], relative to `folder`.
    pub(super) fn paths(&self, replies: &[String], folder: &str) -> BTreeSet<String> {
        let lines = replies.iter().flat_map(|reply| reply.lines());
        let paths = lines.filter_map(|line| line.trim_start_matches("📁 ").strip_prefix(folder));
        paths.map(|path| path.trim_start_matches('/').to_owned()).collect()
    }
}

/// The definitions of the tools as the model receives them: names, descriptions and schemas.
pub(super) fn definitions(server: &mut Server) -> Result<Vec<Value>> {
    let (_, result) = server.ask("tools/list", &json!({}))?;
    let tools = result.get("tools").and_then(Value::as_array).ok_or("the server lists no tools")?;
    if tools.is_empty() {
        return Err("the server lists no tools".into());
    }
    let shown = |tool: &Value| {
        json!({
            "name": tool["name"],
            "description": tool["description"],
            "inputSchema": tool["inputSchema"]
        })
    };
    Ok(tools.iter().map(shown).collect())
}

/// `PATH` with the directory of `program` first.
fn path_with(program: &str) -> String {
    let folder = program.rsplit_once('/').map_or("", |(folder, _)| folder);
    format!("PATH={folder}:{}", std::env::var("PATH").unwrap_or_default())
}

/// Runs a server without a network and with a home directory of its own, which has its settings.
fn offline(project: &Path) -> Result<Vec<String>> {
    let home = project.join("target/clients/desktop-commander/home");
    let settings = home.join(".claude-server-commander");
    fs::create_dir_all(&settings).map_err(io_error)?;
    let json = json!({ "telemetryEnabled": false, "allowedDirectories": ["/"] });
    fs::write(settings.join("config.json"), json.to_string()).map_err(io_error)?;
    let home = format!("HOME={}", text(home)?);
    Ok(["unshare", "--map-root-user", "--net", "env", &home].map(str::to_owned).into())
}
