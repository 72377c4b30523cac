//! Renders errors for models and people. Hints name the flags of the `eyelet` command.

use eyelet::{Hint, Permission, ToolError};

/// Renders a tool error as `message; hint`.
pub fn error_text(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {}", error.message, hint_text(hint)),
        None => error.message.clone(),
    }
}

/// Renders a hint with the flag that the user can restart eyelet with.
pub fn hint_text(hint: &Hint) -> String {
    let text = match hint {
        Hint::AddRoot => "restart with --root DIR",
        Hint::LiftRoots => "restart with --root DIR or --read-anywhere",
        Hint::AllowCommands => "restart with --sandbox full to run commands unsandboxed",
        Hint::AllowNamespaces => {
            "allow namespaces: `eyelet doctor` says how, for example with eyelet's AppArmor profile"
        }
        Hint::RaiseReplyLimit => "list a subdirectory, or restart with a larger --reply-bytes",
        Hint::InstallRipgrep => {
            "install ripgrep in a directory on PATH, or restart with --search-engine embedded"
        }
        Hint::Allow(permissions) => {
            let flags: Vec<_> = permissions.iter().filter_map(flag).collect();
            return format!("allow with {}", flags.join(", "));
        }
        hint @ (Hint::Path(_) | _) => return hint.to_string(),
    };
    text.to_owned()
}

/// The flag that gives commands a permission.
fn flag(permission: &Permission) -> Option<&'static str> {
    match permission {
        Permission::Hosts => Some("--allow-host"),
        Permission::Network => Some("--network"),
        Permission::Token => Some("--env NAME"),
        Permission::Write => Some("--writable"),
        Permission::WriteRoots => Some("--sandbox workspace-write"),
        _ => None,
    }
}
