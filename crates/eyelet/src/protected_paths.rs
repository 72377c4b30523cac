//! The settings files that commands must not change.

/// Relative paths that sandboxed commands can neither change nor create at the top of each root and
/// of each git work tree. These files are settings that make a program start other programs later,
/// outside the sandbox. The supervisor also protects the config and hooks of git.
///
/// A directory stands for everything in it. Deeper in the tree, files with these names are not
/// protected.
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
