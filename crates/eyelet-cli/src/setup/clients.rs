//! The clients: which file each reads, in which form, and where it starts its servers.

use std::env;
use std::path::{Path, PathBuf};

use clap::ValueEnum;

use super::format::Format;
use crate::failure::Failure;

/// An agent that can start `eyelet mcp`. A new one is an entry in `CLIENTS`.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    /// The key under which its file holds the servers.
    pub(crate) servers: &'static str,
    pub(crate) shape: Shape,
    /// Its files in a project, of which the first that is there counts, else the first of all.
    project: &'static [&'static str],
    user: Option<User>,
    /// The scope that is meant where none is said.
    pub(crate) usual: Scope,
    pub(crate) starts: Starts,
    /// What a person has to know or do after the file of a scope is written.
    notes: &'static [(Scope, &'static str)],
}

/// What the entry of a server looks like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// `command` and `args`.
    Plain,
    /// The same with `type: stdio`.
    Stdio,
    /// The same with `type: local` and the tools that may be used.
    Copilot,
    /// `type: local`, and `command` as a list.
    Opencode,
    /// `cmd` and `args`, and what else Goose wants to know.
    Goose,
}

/// Where a client starts its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Starts {
    /// In the project that it works on.
    InProject,
    /// Somewhere, but it writes the project's folder for this word.
    Where(&'static str),
    /// Somewhere: the project has to be named.
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

/// A client's file for all projects: a folder, and the file's names in it.
#[derive(Debug)]
struct User {
    folder: fn(&Home) -> PathBuf,
    files: &'static [&'static str],
}

const WORKSPACE: Starts = Starts::Where("${workspaceFolder}");

pub(crate) const CLIENTS: &[Client] = &[
    Client {
        name: "claude-code",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Stdio,
        project: &[".mcp.json"],
        user: Some(User {
            folder: |home| home.or_variable("CLAUDE_CONFIG_DIR", ""),
            files: &[".claude.json"],
        }),
        usual: Scope::Project,
        starts: Starts::InProject,
        notes: &[(Scope::Project, "Claude Code asks once before it starts a project's server.")],
    },
    Client {
        name: "claude-desktop",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[],
        user: Some(User {
            folder: |home| home.applications("Claude"),
            files: &["claude_desktop_config.json"],
        }),
        usual: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[(Scope::User, "Quit Claude Desktop and start it again.")],
    },
    Client {
        name: "codex",
        format: Format::Toml,
        servers: "mcp_servers",
        shape: Shape::Plain,
        project: &[".codex/config.toml"],
        user: Some(User {
            folder: |home| home.or_variable("CODEX_HOME", ".codex"),
            files: &["config.toml"],
        }),
        usual: Scope::User,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Codex reads a project's file only where the project is trusted.",
        )],
    },
    Client {
        name: "gemini-cli",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[".gemini/settings.json"],
        user: Some(User {
            folder: |home| home.or_variable_with("GEMINI_CLI_HOME", ".gemini"),
            files: &["settings.json"],
        }),
        usual: Scope::Project,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Gemini CLI starts a project's servers only where the folder is trusted.",
        )],
    },
    Client {
        name: "cursor",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[".cursor/mcp.json"],
        user: Some(User { folder: |home| home.path.join(".cursor"), files: &["mcp.json"] }),
        usual: Scope::Project,
        starts: WORKSPACE,
        notes: &[(
            Scope::Project,
            "A project's server has to be switched on once in Cursor's settings.",
        )],
    },
    Client {
        name: "vscode",
        format: Format::Json,
        servers: "servers",
        shape: Shape::Stdio,
        project: &[".vscode/mcp.json"],
        user: Some(User {
            folder: |home| home.applications("Code").join("User"),
            files: &["mcp.json"],
        }),
        usual: Scope::Project,
        starts: WORKSPACE,
        notes: &[(Scope::Project, "VS Code asks once whether the server is to be trusted.")],
    },
    Client {
        name: "copilot-cli",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Copilot,
        project: &[".mcp.json"],
        user: Some(User {
            folder: |home| home.or_variable("COPILOT_HOME", ".copilot"),
            files: &["mcp-config.json"],
        }),
        usual: Scope::User,
        starts: Starts::InProject,
        notes: &[(
            Scope::Project,
            "Copilot CLI reads a project's file only where the folder is trusted.",
        )],
    },
    Client {
        name: "opencode",
        format: Format::Json,
        servers: "mcp",
        shape: Shape::Opencode,
        project: &["opencode.json", "opencode.jsonc"],
        user: Some(User {
            folder: |home| home.config().join("opencode"),
            files: &["opencode.json", "opencode.jsonc"],
        }),
        usual: Scope::Project,
        starts: Starts::InProject,
        notes: &[],
    },
    Client {
        name: "zed",
        format: Format::Json,
        servers: "context_servers",
        shape: Shape::Plain,
        project: &[".zed/settings.json"],
        user: Some(User { folder: Home::zed, files: &["settings.json"] }),
        usual: Scope::Project,
        starts: Starts::InProject,
        notes: &[(Scope::Project, "Zed starts a project's servers once the project is trusted.")],
    },
    Client {
        name: "windsurf",
        format: Format::Json,
        servers: "mcpServers",
        shape: Shape::Plain,
        project: &[],
        user: Some(User {
            folder: |home| home.path.join(".codeium/windsurf"),
            files: &["mcp_config.json"],
        }),
        usual: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[(Scope::User, "Refresh the servers in Windsurf's settings.")],
    },
    Client {
        name: "goose",
        format: Format::Yaml,
        servers: "extensions",
        shape: Shape::Goose,
        project: &[],
        user: Some(User { folder: |home| home.config().join("goose"), files: &["config.yaml"] }),
        usual: Scope::User,
        starts: Starts::Elsewhere,
        notes: &[(Scope::User, "Goose sees it in its next session.")],
    },
];

pub(crate) fn named(name: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.name == name)
}

impl Client {
    /// The scopes that it has, the one that overrides the other first.
    pub(crate) fn scopes(&self) -> Vec<Scope> {
        let project = (!self.project.is_empty()).then_some(Scope::Project);
        let user = self.user.as_ref().map(|_| Scope::User);
        project.into_iter().chain(user).collect()
    }

    pub(crate) fn note(&self, scope: Scope) -> Option<&'static str> {
        self.notes.iter().find(|(of, _)| *of == scope).map(|(_, note)| *note)
    }

    /// Its file in that scope.
    pub(crate) fn file(&self, scope: Scope, project: &Path) -> Result<PathBuf, Failure> {
        let (folder, files) = match (scope, &self.user) {
            (Scope::Project, _) => (project.to_owned(), self.project),
            (Scope::User, Some(user)) => ((user.folder)(&Home::find()?), user.files),
            (Scope::User, None) => (PathBuf::new(), [].as_slice()),
        };
        let there = files.iter().find(|file| folder.join(file).exists());
        there.or(files.first()).map(|file| folder.join(file)).ok_or_else(|| {
            let (name, scope) = (self.name, scope.as_str());
            Failure::usage(format!("{name} has no {scope} file; leave out --scope {scope}"))
        })
    }
}

/// The home of who runs this, and the folders that hang on it.
#[derive(Debug)]
pub(crate) struct Home {
    path: PathBuf,
}

impl Home {
    pub(crate) fn find() -> Result<Self, Failure> {
        let path = absolute_variable("HOME").ok_or_else(|| {
            Failure::usage("HOME is not the path of a folder, so that no user file can be found")
        })?;
        Ok(Home { path })
    }

    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub(crate) fn config(&self) -> PathBuf {
        absolute_variable("XDG_CONFIG_HOME").unwrap_or_else(|| self.path.join(".config"))
    }

    /// Where desktop programs keep their folder.
    fn applications(&self, program: &str) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.path.join("Library/Application Support").join(program);
        }
        self.config().join(program)
    }

    /// Zed does not ask for `$XDG_CONFIG_HOME` on macOS.
    fn zed(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            return self.path.join(".config/zed");
        }
        self.config().join("zed")
    }

    /// The folder that a variable names, else the one in the home.
    fn or_variable(&self, variable: &str, folder: &str) -> PathBuf {
        absolute_variable(variable).unwrap_or_else(|| self.path.join(folder))
    }

    /// The folder in the home that a variable names, else in the usual one.
    fn or_variable_with(&self, variable: &str, folder: &str) -> PathBuf {
        absolute_variable(variable).unwrap_or_else(|| self.path.clone()).join(folder)
    }
}

fn absolute_variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}
