//! The clients that `eyelet setup` supports: which file each reads, in which format, and where it starts its
//! servers.

use std::path::{Path, PathBuf};

use clap::ValueEnum;

use crate::failure::Failure;
use crate::home::Home;

/// The language of a client's config file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Format {
    /// With comments and trailing commas.
    Json,
    Toml,
    Yaml,
}

/// An agent that can start `eyelet mcp`. To support another one, add it to `CLIENTS`.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    /// The key of the servers in its file.
    pub(crate) servers: &'static str,
    pub(crate) shape: Shape,
    /// The possible config files of the client in a project. eyelet uses the first file that
    /// exists, or the first of the list if none exists.
    project: &'static [&'static str],
    /// The directory of its file for all projects.
    user_folder: fn(&Home) -> PathBuf,
    /// The possible names of that file.
    user: &'static [&'static str],
    /// The scope without `--scope`.
    pub(crate) default_scope: Scope,
    pub(crate) starts: Starts,
    /// The field that limits the time of a call, and a value that lets every command end.
    pub(crate) timeout: Option<(&'static str, u64)>,
    /// What the user must know or do after the file of this scope is written.
    note: Option<(Scope, &'static str)>,
}

/// The layout of a server's entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// `command` and `args`.
    Plain,
    /// `type: stdio`, `command` and `args`.
    Stdio,
    /// `type: local`, `command`, `args` and the allowed tools.
    Copilot,
    /// `type: local`, and `command` as a list.
    Opencode,
    /// `cmd`, `args` and the other fields that Goose requires.
    Goose,
}

/// Where a client starts its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// In the project.
    InProject,
    /// Elsewhere, but it replaces this placeholder by the project's directory.
    ElsewhereWithPlaceholder(&'static str),
    /// Elsewhere: the entry must name the project.
    Elsewhere,
}

impl Starts {
    /// A word of an entry after the client replaced its placeholder.
    pub(crate) fn with_project(self, word: &str, project: &Path) -> String {
        match self {
            Starts::ElsewhereWithPlaceholder(placeholder) => {
                word.replace(placeholder, &project.to_string_lossy())
            }
            Starts::InProject | Starts::Elsewhere => word.to_owned(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scope {
    Project,
    User,
}

impl Scope {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Scope::Project => "project",
            Scope::User => "user",
        }
    }
}

// Commands end after at most 600 seconds; the rest is for starting them and for the reply.
const SECONDS: u64 = 660;
const MILLISECONDS: u64 = SECONDS * 1000;

const WORKSPACE: Starts = Starts::ElsewhereWithPlaceholder("${workspaceFolder}");

/// The most common values.
const COMMON: Client = Client {
    name: "",
    format: Format::Json,
    servers: "mcpServers",
    shape: Shape::Plain,
    project: &[],
    user_folder: Home::config,
    user: &[],
    default_scope: Scope::Project,
    starts: Starts::InProject,
    timeout: None,
    note: None,
};

pub(crate) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        shape: Shape::Stdio,
        project: &[".mcp.json"],
        user_folder: |home| home.or_variable("CLAUDE_CONFIG_DIR", ""),
        user: &[".claude.json"],
        timeout: Some(("timeout", MILLISECONDS)),
        note: in_project(
            "Claude Code asks for your approval once before it starts a server that a project configures.",
        ),
        ..COMMON
    },
    Client {
        name: "claude-desktop",
        user_folder: |home| home.applications("Claude"),
        user: &["claude_desktop_config.json"],
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        note: Some((Scope::User, "Quit Claude Desktop and start it again.")),
        ..COMMON
    },
    Client {
        name: "codex",
        format: Format::Toml,
        servers: "mcp_servers",
        project: &[".codex/config.toml"],
        user_folder: |home| home.or_variable("CODEX_HOME", ".codex"),
        user: &["config.toml"],
        default_scope: Scope::User,
        timeout: Some(("tool_timeout_sec", SECONDS)),
        note: in_project("Trust the project in Codex; otherwise, Codex does not read this file."),
        ..COMMON
    },
    Client {
        name: "gemini-cli",
        project: &[".gemini/settings.json"],
        user_folder: |home| home.or_variable_with("GEMINI_CLI_HOME", ".gemini"),
        user: &["settings.json"],
        timeout: Some(("timeout", MILLISECONDS)),
        note: in_project(
            "Trust the folder in Gemini CLI; otherwise, Gemini CLI does not start the server.",
        ),
        ..COMMON
    },
    Client {
        name: "cursor",
        project: &[".cursor/mcp.json"],
        user_folder: |home| home.path.join(".cursor"),
        user: &["mcp.json"],
        starts: WORKSPACE,
        note: in_project("Enable the server once in Cursor's settings."),
        ..COMMON
    },
    Client {
        name: "vscode",
        servers: "servers",
        shape: Shape::Stdio,
        project: &[".vscode/mcp.json"],
        user_folder: |home| home.applications("Code").join("User"),
        user: &["mcp.json"],
        starts: WORKSPACE,
        note: in_project("VS Code asks once whether to trust the server."),
        ..COMMON
    },
    Client {
        name: "copilot-cli",
        shape: Shape::Copilot,
        project: &[".mcp.json"],
        user_folder: |home| home.or_variable("COPILOT_HOME", ".copilot"),
        user: &["mcp-config.json"],
        default_scope: Scope::User,
        timeout: Some(("timeout", MILLISECONDS)),
        note: in_project(
            "Trust the folder in Copilot CLI; otherwise, Copilot CLI does not read this file.",
        ),
        ..COMMON
    },
    Client {
        name: "opencode",
        servers: "mcp",
        shape: Shape::Opencode,
        project: &["opencode.json", "opencode.jsonc"],
        user_folder: |home| home.config().join("opencode"),
        user: &["opencode.json", "opencode.jsonc"],
        timeout: Some(("timeout", MILLISECONDS)),
        ..COMMON
    },
    Client {
        name: "zed",
        servers: "context_servers",
        project: &[".zed/settings.json"],
        user_folder: Home::zed,
        user: &["settings.json"],
        timeout: Some(("timeout", SECONDS)),
        note: in_project("Trust the project in Zed; otherwise, Zed does not start the server."),
        ..COMMON
    },
    Client {
        name: "windsurf",
        user_folder: |home| home.path.join(".codeium/windsurf"),
        user: &["mcp_config.json"],
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        note: Some((Scope::User, "Refresh the servers in Windsurf's settings.")),
        ..COMMON
    },
    Client {
        name: "goose",
        format: Format::Yaml,
        servers: "extensions",
        shape: Shape::Goose,
        user_folder: |home| home.config().join("goose"),
        user: &["config.yaml"],
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        timeout: Some(("timeout", SECONDS)),
        ..COMMON
    },
];

const fn in_project(note: &'static str) -> Option<(Scope, &'static str)> {
    Some((Scope::Project, note))
}

pub(crate) fn client_named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

impl Client {
    /// The scopes of the client, in order of precedence.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let project = (!self.project.is_empty()).then_some(Scope::Project);
        project.into_iter().chain([Scope::User]).collect()
    }

    /// What to do if the entry is missing or wrong.
    pub(crate) fn advice(&self) -> String {
        match self.format {
            Format::Json | Format::Toml => format!("run `eyelet setup {} --write`", self.name),
            Format::Yaml => {
                format!("run `eyelet setup {}` and add the printed entry by hand", self.name)
            }
        }
    }

    pub(crate) fn note(&self, scope: Scope) -> Option<&'static str> {
        self.note.filter(|(note_scope, _)| *note_scope == scope).map(|(_, note)| note)
    }

    /// The config file of the client in a scope.
    pub(crate) fn file(&self, scope: Scope, project: &Path) -> Result<PathBuf, Failure> {
        let (folder, files) = match scope {
            Scope::Project => (project.to_owned(), self.project),
            Scope::User => ((self.user_folder)(&Home::find()?), self.user),
        };
        let existing = files.iter().find(|file| folder.join(file).exists());
        existing.or(files.first()).map(|file| folder.join(file)).ok_or_else(|| {
            let (name, scope) = (self.name, scope.as_str());
            Failure::usage(format!("{name} has no {scope} config file; omit --scope {scope}"))
        })
    }
}

#[cfg(test)]
#[path = "client_list_tests.rs"]
mod tests;
