//! The settings files that commands must not change.

/// Paths at the top of each root and of each repository's work tree that commands can neither change nor
/// create: settings with which a program starts other programs, later and outside of the sandbox. The
/// supervisor adds the config and hooks of git.
///
/// A directory stands for everything in it. Deeper in the tree, files with these names are ordinary files.
pub const PROTECTED_PATHS: &[&str] = &[
    ".cargo/config",
    ".cargo/config.toml",
    ".claude",
    ".codex",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".devcontainer",
    ".devcontainer.json",
    ".gemini",
    ".idea",
    ".mcp.json",
    ".opencode",
    ".vscode",
    ".zed/settings.json",
    ".zed/tasks.json",
    "opencode.json",
    "opencode.jsonc",
];
