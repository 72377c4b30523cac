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
    /// Its possible files in a project. The first that exists is used, or else the first.
    project: &'static [&'static str],
    user: Option<UserFile>,
    /// The scope without `--scope`.
    pub(crate) default_scope: Scope,
    pub(crate) starts: Starts,
    /// What the user must know or do after the file of a scope is written.
    notes: &'static [(Scope, &'static str)],
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

/// A client's file for all projects: its directory and its possible names.
#[derive(Debug)]
struct UserFile {
    folder: fn(&Home) -> PathBuf,
    files: &'static [&'static str],
}

const WORKSPACE: Starts = Starts::ElsewhereWithPlaceholder("${workspaceFolder}");

pub(crate) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Stdio,
        project: &[".mcp.json"],
        user: Some(UserFile {
            folder: |home| home.or_variable("CLAUDE_CONFIG_DIR", ""),
            files: &[".claude.json"],
        }),
        default_scope: Scope::Project,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Claude Code asks once before it starts the server of a project.",
        )],
    },
    Client {
        name: "claude-desktop",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[],
        user: Some(UserFile {
            folder: |home| home.applications("Claude"),
            files: &["claude_desktop_config.json"],
        }),
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[(Scope::User, "Quit Claude Desktop and start it again.")],
    },
    Client {
        name: "codex",
        format: Format::Toml,
        servers: "mcp_servers",
        shape: Shape::Plain,
        project: &[".codex/config.toml"],
        user: Some(UserFile {
            folder: |home| home.or_variable("CODEX_HOME", ".codex"),
            files: &["config.toml"],
        }),
        default_scope: Scope::User,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Codex reads a project's config file only if the project is trusted.",
        )],
    },
    Client {
        name: "gemini-cli",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[".gemini/settings.json"],
        user: Some(UserFile {
            folder: |home| home.or_variable_with("GEMINI_CLI_HOME", ".gemini"),
            files: &["settings.json"],
        }),
        default_scope: Scope::Project,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Gemini CLI starts the servers of a project only if the folder is trusted.",
        )],
    },
    Client {
        name: "cursor",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[".cursor/mcp.json"],
        user: Some(UserFile { folder: |home| home.path.join(".cursor"), files: &["mcp.json"] }),
        default_scope: Scope::Project,
        starts: WORKSPACE,
        notes: &[(Scope::Project, "Enable the server once in Cursor's settings.")],
    },
    Client {
        name: "vscode",
        format: Format::Json,
        servers: "servers",
        shape: Shape::Stdio,
        project: &[".vscode/mcp.json"],
        user: Some(UserFile {
            folder: |home| home.applications("Code").join("User"),
            files: &["mcp.json"],
        }),
        default_scope: Scope::Project,
        starts: WORKSPACE,
        notes: &[(Scope::Project, "VS Code asks once whether to trust the server.")],
    },
    Client {
        name: "copilot-cli",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Copilot,
        project: &[".mcp.json"],
        user: Some(UserFile {
            folder: |home| home.or_variable("COPILOT_HOME", ".copilot"),
            files: &["mcp-config.json"],
        }),
        default_scope: Scope::User,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Copilot CLI reads a project's config file only if the folder is trusted.",
        )],
    },
    Client {
        name: "opencode",
        format: Format::Json,
        servers: "mcp",
        shape: Shape::Opencode,
        project: &["opencode.json", "opencode.jsonc"],
        user: Some(UserFile {
            folder: |home| home.config().join("opencode"),
            files: &["opencode.json", "opencode.jsonc"],
        }),
        default_scope: Scope::Project,
        starts: Starts::InProject,
        notes: &[],
    },
    Client {
        name: "zed",
        format: Format::Json,
        servers: "context_servers",
        shape: Shape::Plain,
        project: &[".zed/settings.json"],
        user: Some(UserFile { folder: Home::zed, files: &["settings.json"] }),
        default_scope: Scope::Project,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Zed starts the servers of a project after you trust the project.",
        )],
    },
    Client {
        name: "windsurf",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[],
        user: Some(UserFile {
            folder: |home| home.path.join(".codeium/windsurf"),
            files: &["mcp_config.json"],
        }),
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[(Scope::User, "Refresh the servers in Windsurf's settings.")],
    },
    Client {
        name: "goose",
        format: Format::Yaml,
        servers: "extensions",
        shape: Shape::Goose,
        project: &[],
        user: Some(UserFile {
            folder: |home| home.config().join("goose"),
            files: &["config.yaml"],
        }),
        default_scope: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[],
    },
];

pub(crate) fn client_named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

impl Client {
    /// Its scopes, in order of precedence.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let project = (!self.project.is_empty()).then_some(Scope::Project);
        let user = self.user.as_ref().map(|_| Scope::User);
        project.into_iter().chain(user).collect()
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
        self.notes.iter().find(|(note_scope, _)| *note_scope == scope).map(|(_, note)| *note)
    }

    /// Its file in a scope.
    pub(crate) fn file(&self, scope: Scope, project: &Path) -> Result<PathBuf, Failure> {
        let (folder, files) = match (scope, &self.user) {
            (Scope::Project, _) => (project.to_owned(), self.project),
            (Scope::User, Some(user)) => ((user.folder)(&Home::find()?), user.files),
            (Scope::User, None) => (PathBuf::new(), [].as_slice()),
        };
        let existing = files.iter().find(|file| folder.join(file).exists());
        existing.or(files.first()).map(|file| folder.join(file)).ok_or_else(|| {
            let (name, scope) = (self.name, scope.as_str());
            Failure::usage(format!("{name} has no {scope} config file; omit --scope {scope}"))
        })
    }
}
