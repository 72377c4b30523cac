//! The clients that `eyelet setup` supports.

use std::fs;
use std::path::PathBuf;
use testkit::TempTree;
use testkit::cli::eyelet;
use testkit::eyelet_bin;

/// A client: its name, its file in the home directory or in the project, and the content of a file with
/// comments and another server. The entry is expected at `<ENTRY>`.
pub(crate) struct Client {
    pub(crate) name: &'static str,
    file: File,
    written: &'static str,
}

enum File {
    Home(&'static str),
    Project(&'static str),
}

const SERVERS_IN_JSON: &str = r#"// first
{
    "theme": "dark",   // oddly spaced
    "KEY": {
        "other": {"command": "x",  "args": [ ]}<,>
<ENTRY>    }, /* and
    this */ "last": [1,2 , 3]
}
"#;

pub(crate) const CLIENTS: &[Client] = &[
    Client { name: "claude-code", file: File::Project(".mcp.json"), written: SERVERS_IN_JSON },
    Client {
        name: "claude-desktop",
        file: File::Home(".config/Claude/claude_desktop_config.json"),
        written: SERVERS_IN_JSON,
    },
    Client {
        name: "codex",
        file: File::Home(".codex/config.toml"),
        written: "# first\nmodel   = \"x\" # oddly spaced\n\n[mcp_servers.other]\ncommand = 'y'\n<ENTRY>\n# of tui\n[tui]\na=1\n",
    },
    Client {
        name: "gemini-cli",
        file: File::Project(".gemini/settings.json"),
        written: SERVERS_IN_JSON,
    },
    Client { name: "cursor", file: File::Project(".cursor/mcp.json"), written: SERVERS_IN_JSON },
    Client { name: "vscode", file: File::Project(".vscode/mcp.json"), written: SERVERS_IN_JSON },
    Client {
        name: "copilot-cli",
        file: File::Home(".copilot/mcp-config.json"),
        written: SERVERS_IN_JSON,
    },
    Client { name: "opencode", file: File::Project("opencode.json"), written: SERVERS_IN_JSON },
    Client { name: "zed", file: File::Project(".zed/settings.json"), written: SERVERS_IN_JSON },
    Client {
        name: "windsurf",
        file: File::Home(".codeium/windsurf/mcp_config.json"),
        written: SERVERS_IN_JSON,
    },
    Client { name: "goose", file: File::Home(".config/goose/config.yaml"), written: "" },
];

/// The clients whose files `--write` edits.
pub(crate) fn writable() -> impl Iterator<Item = &'static Client> {
    CLIENTS.iter().filter(|client| client.name != "goose")
}

impl Client {
    /// Whether its file is in the project.
    pub(crate) fn is_of_project(&self) -> bool {
        matches!(self.file, File::Project(_))
    }

    pub(crate) fn path(&self, tree: &TempTree) -> PathBuf {
        match self.file {
            File::Home(file) => tree.beside().join(file),
            File::Project(file) => tree.path().join(file),
        }
    }

    /// The key of the servers.
    pub(crate) fn key(&self) -> &'static str {
        match self.name {
            "vscode" => "servers",
            "opencode" => "mcp",
            "zed" => "context_servers",
            _ => "mcpServers",
        }
    }

    /// The content of the file: without the entry, before it, and after it.
    pub(crate) fn parts(&self) -> (String, String, String) {
        let written = self.written.replace("KEY", self.key());
        let (before, after) = written.split_once("<ENTRY>").unwrap();
        let plain = format!("{before}{after}").replace("<,>", "");
        (plain, before.replace("<,>", ","), after.to_owned())
    }

    pub(crate) fn put(&self, tree: &TempTree, text: &str) -> PathBuf {
        let path = self.path(tree);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

/// Runs `eyelet setup`. Replaces the paths that differ between runs.
pub(crate) fn setup(tree: &TempTree, arguments: &[&str]) -> String {
    redact(tree, &eyelet(tree, [&["setup"], arguments].concat()))
}

pub(crate) fn redact(tree: &TempTree, text: &str) -> String {
    let text = text.replace(eyelet_bin().to_str().unwrap(), "/bin/eyelet");
    tree.redact(&text).replace(tree.beside().to_str().unwrap(), "/home")
}

pub(crate) fn files_beside(path: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
