//! Errors for models and errors for hosts, and the hints that say how to fix them.

use std::fmt;
use std::io;

use serde::{Serialize, Serializer};

/// Why a call failed. No code will be added, so a host can match on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The arguments are invalid: malformed JSON, a number out of range, a bad pattern or glob.
    InvalidInput,
    /// No tool has this name.
    UnknownTool,
    /// The file or directory does not exist.
    NotFound,
    /// The operating system or the deny list denies access.
    PermissionDenied,
    /// The path is outside the roots.
    OutsideRoot,
    /// The path is not a directory.
    NotADirectory,
    /// The path is not a regular file.
    NotAFile,
    /// The reply or the input exceeds a hard limit.
    TooLarge,
    /// The call reached its time limit before it had a result.
    TimedOut,
    /// The caller cancelled the call.
    Cancelled,
    /// The program `rg` failed or is not installed.
    SearchFailed,
    /// This machine cannot enforce the sandbox policy.
    SandboxUnavailable,
    /// Too many calls are waiting.
    Busy,
    /// Any other system error.
    IoError,
}

impl ErrorCode {
    /// Every code, in the order of SPEC.md.
    pub const ALL: [ErrorCode; 14] = [
        ErrorCode::InvalidInput,
        ErrorCode::UnknownTool,
        ErrorCode::NotFound,
        ErrorCode::PermissionDenied,
        ErrorCode::OutsideRoot,
        ErrorCode::NotADirectory,
        ErrorCode::NotAFile,
        ErrorCode::TooLarge,
        ErrorCode::TimedOut,
        ErrorCode::Cancelled,
        ErrorCode::SearchFailed,
        ErrorCode::SandboxUnavailable,
        ErrorCode::Busy,
        ErrorCode::IoError,
    ];

    /// The name of the code in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            ErrorCode::InvalidInput => "invalid_input",
            ErrorCode::UnknownTool => "unknown_tool",
            ErrorCode::NotFound => "not_found",
            ErrorCode::PermissionDenied => "permission_denied",
            ErrorCode::OutsideRoot => "outside_root",
            ErrorCode::NotADirectory => "not_a_directory",
            ErrorCode::NotAFile => "not_a_file",
            ErrorCode::TooLarge => "too_large",
            ErrorCode::TimedOut => "timed_out",
            ErrorCode::Cancelled => "cancelled",
            ErrorCode::SearchFailed => "search_failed",
            ErrorCode::SandboxUnavailable => "sandbox_unavailable",
            ErrorCode::Busy => "busy",
            ErrorCode::IoError => "io_error",
        }
    }

    /// The code for a system error.
    pub fn from_io(error: &io::Error) -> ErrorCode {
        use io::ErrorKind;
        let kind = error.kind();
        if kind == ErrorKind::NotFound {
            ErrorCode::NotFound
        } else if kind == ErrorKind::PermissionDenied {
            ErrorCode::PermissionDenied
        } else if kind == ErrorKind::NotADirectory {
            ErrorCode::NotADirectory
        } else if kind == ErrorKind::IsADirectory {
            ErrorCode::NotAFile
        } else {
            ErrorCode::IoError
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What would make a failed call work. Only the host or its user can do it, not the model.
///
/// `Display` gives advice for library hosts and names no command-line flag. An interface that has
/// flags renders each hint in its own terms.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Add a root that contains the path.
    AddRoot,
    /// Add a root that contains the path, or allow reading outside the roots.
    LiftRoots,
    /// Allow commands to run without a sandbox.
    AllowCommands,
    /// Raise the size limit of a reply.
    RaiseReplyLimit,
    /// Install ripgrep, or use the embedded search engine.
    InstallRipgrep,
    /// The path that failed, escaped for display. Used if the wording of the message is fixed and
    /// has no path.
    Path(String),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::AddRoot => f.write_str("add a root that contains it"),
            Hint::LiftRoots => {
                f.write_str("add a root that contains it, or allow reading outside the roots")
            }
            Hint::AllowCommands => f.write_str("use the policy `full` to run commands unsandboxed"),
            Hint::RaiseReplyLimit => f.write_str("list a subdirectory, or raise the reply limit"),
            Hint::InstallRipgrep => {
                f.write_str("install ripgrep on PATH, or use the embedded search engine")
            }
            Hint::Path(path) => write!(f, "the path is `{path}`"),
        }
    }
}

impl Serialize for Hint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// An error that a model can read and react to. `Display` shows `message; hint`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// The kind of error.
    pub code: ErrorCode,
    /// What failed and why, in lower case without a full stop.
    pub message: String,
    /// What the host or its user can do about it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
}

impl ToolError {
    /// Creates an error with this code and message, without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError { code, message: message.into(), hint: None }
    }

    /// Adds a hint.
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Creates an `invalid_input` error.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        ToolError::new(ErrorCode::InvalidInput, message)
    }

    /// Creates an error with the message `what: <system error>` and the code of the system error.
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        ToolError::new(ErrorCode::from_io(error), format!("{what}: {error}"))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ToolError {}

/// Why a call through the router failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionCallError {
    /// An error for the model, which can correct its arguments or try something else.
    RespondToModel(ToolError),
    /// An error for the host: a bug. No arguments of a model cause it.
    Fatal(String),
}

impl fmt::Display for FunctionCallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FunctionCallError::RespondToModel(error) => error.fmt(f),
            FunctionCallError::Fatal(message) => write!(f, "fatal: {message}"),
        }
    }
}

impl std::error::Error for FunctionCallError {}

impl From<ToolError> for FunctionCallError {
    fn from(error: ToolError) -> Self {
        FunctionCallError::RespondToModel(error)
    }
}
