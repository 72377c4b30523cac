//! Renders errors for models and people. Hints name the flags of the `eyelet` command.

use eyelet::{Hint, ToolError};

/// Renders a tool error as `message; hint`.
pub fn error_text(error: &ToolError) -> String {
    match &error.hint {
        Some(hint) => format!("{}; {}", error.message, hint_text(hint)),
        None => error.message.clone(),
    }
}

/// Renders a hint with the flag to restart with.
pub fn hint_text(hint: &Hint) -> String {
    let text = match hint {
        Hint::AddRoot => "restart with --root DIR",
        Hint::LiftRoots => "restart with --root DIR or --read-anywhere",
        Hint::AllowCommands => "restart with --sandbox full to run commands unsandboxed",
        Hint::RaiseReplyLimit => "list a subdirectory, or restart with a larger --reply-bytes",
        Hint::InstallRipgrep => "install ripgrep on PATH, or restart with --search-engine embedded",
        hint @ (Hint::Path(_) | _) => return hint.to_string(),
    };
    text.to_owned()
}
