//! Errors for models and errors for hosts, and the hints that say how to fix them.

use std::fmt;
use std::io;
use std::time::Duration;

use serde::{Serialize, Serializer};

use crate::limits::MAX_ERROR_BYTES;
use crate::names::named;
use crate::text::truncate;

/// The reason why a call failed. Later versions add no codes, so a host can match on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
    /// The call would exceed a limit on running or waiting calls or jobs.
    Busy,
    /// The system returned another error.
    IoError,
}

impl ErrorCode {
    /// Returns the error code that corresponds to a system error.
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

// In the order of SPEC.md.
named!(ErrorCode, "error code", {
    InvalidInput = "invalid_input",
    UnknownTool = "unknown_tool",
    NotFound = "not_found",
    PermissionDenied = "permission_denied",
    OutsideRoot = "outside_root",
    NotADirectory = "not_a_directory",
    NotAFile = "not_a_file",
    TooLarge = "too_large",
    TimedOut = "timed_out",
    Cancelled = "cancelled",
    SearchFailed = "search_failed",
    SandboxUnavailable = "sandbox_unavailable",
    Busy = "busy",
    IoError = "io_error",
});

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Advice on how to make a failed call work. Most hints are for the host or its user, who can change
/// a setting; the model cannot.
///
/// `Display` gives advice for library hosts and names no command-line flag. An interface with
/// command-line flags renders each hint itself and names its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// Add a root that contains the path.
    AddRoot,
    /// Add a root that contains the path, or allow reading outside the roots.
    LiftRoots,
    /// Allow commands to run without a sandbox.
    AllowCommands,
    /// Allow eyelet to create namespaces.
    AllowNamespaces,
    /// Raise the size limit of a reply.
    RaiseReplyLimit,
    /// Install ripgrep, or use the embedded search engine.
    InstallRipgrep,
    /// Repeat the call after this duration.
    RetryIn(Duration),
    /// Give commands these permissions. The sandbox refused actions that require these permissions.
    Allow(Vec<Permission>),
    /// The working directory, escaped for display. An error has this hint if a path must be
    /// absolute and the message does not name the working directory.
    WorkingDirectory(String),
    /// The path that caused the error, escaped for display. An error has this hint if the message
    /// does not name the path.
    Path(String),
    /// A file that exists and has a similar path, escaped for display. The model can read that file
    /// instead. The envelope shows this hint as `details`.
    SimilarPath(String),
}

impl Hint {
    /// Whether it states a fact for the model instead of advice for the user.
    pub(crate) fn is_fact(&self) -> bool {
        matches!(self, Hint::WorkingDirectory(_) | Hint::SimilarPath(_))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::AddRoot => f.write_str("add a root that contains the path"),
            Hint::LiftRoots => {
                f.write_str("add a root that contains the path, or allow reading outside the roots")
            }
            Hint::AllowCommands => f.write_str("use the policy `full` to run commands unsandboxed"),
            Hint::AllowNamespaces => f.write_str(
                "install eyelet's AppArmor profile, or allow unprivileged user namespaces",
            ),
            Hint::RaiseReplyLimit => f.write_str("list a subdirectory, or raise the reply limit"),
            Hint::InstallRipgrep => f.write_str(
                "install ripgrep in a directory on PATH, or use the embedded search engine",
            ),
            Hint::RetryIn(time) => write!(f, "retry in {} s", time.as_secs()),
            Hint::Allow(permissions) => {
                let words: Vec<_> = permissions.iter().map(|one| one.in_words()).collect();
                f.write_str(&words.join(", or "))
            }
            Hint::WorkingDirectory(path) => write!(f, "the working directory is `{path}`"),
            Hint::Path(path) => write!(f, "the path is `{path}`"),
            Hint::SimilarPath(path) => write!(f, "did you mean `{path}`?"),
        }
    }
}

/// A permission that a sandboxed command may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// Connect to hosts that the user allows.
    Hosts,
    /// Use the network.
    Network,
    /// Receive a token in an environment variable.
    Token,
    /// Write to directories outside the roots.
    Write,
    /// Write to the roots.
    WriteRoots,
}

impl Permission {
    fn in_words(self) -> &'static str {
        match self {
            Permission::Hosts => "allow commands to connect to the host",
            Permission::Network => "allow commands to use the network",
            Permission::Token => "pass a token to commands in an environment variable",
            Permission::Write => "allow commands to write to the directory",
            Permission::WriteRoots => "use the policy `workspace-write`",
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
#[non_exhaustive]
pub struct ToolError {
    /// The code of the error.
    pub code: ErrorCode,
    /// A text that says what failed and why, in lower case without a full stop.
    pub message: String,
    /// Advice for the host or its user on how to avoid the error, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<Hint>,
}

impl ToolError {
    /// Creates an error with this code and message, without a hint.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError { code, message: message.into(), hint: None }
    }

    /// Adds a hint to the error.
    #[must_use]
    pub fn with_hint(mut self, hint: Hint) -> Self {
        self.hint = Some(hint);
        self
    }

    /// Truncates what quotes long arguments: the start says what failed, the end says why.
    pub(crate) fn shortened(mut self) -> Self {
        self.message = truncate::middle(self.message, MAX_ERROR_BYTES);
        if let Some(Hint::Path(path) | Hint::WorkingDirectory(path) | Hint::SimilarPath(path)) =
            &mut self.hint
        {
            *path = truncate::middle(std::mem::take(path), MAX_ERROR_BYTES);
        }
        self
    }

    /// Creates an `invalid_input` error.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        ToolError::new(ErrorCode::InvalidInput, message)
    }

    /// Creates an error with the message `what: <system error>`. [`ErrorCode::from_io`] gives its
    /// code.
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

/// The reason why a call through the router failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionCallError {
    /// An error for the model, which can correct its arguments or try something else.
    RespondToModel(ToolError),
    /// An error for the host: the tool has a bug and panicked. Arguments never make the tools of this
    /// crate panic.
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

impl FunctionCallError {
    /// Returns the error to show to a model. A `Fatal` becomes an `io_error`.
    pub fn into_tool_error(self) -> ToolError {
        match self {
            FunctionCallError::RespondToModel(error) => error,
            FunctionCallError::Fatal(message) => {
                ToolError::new(ErrorCode::IoError, format!("internal failure: {message}"))
            }
        }
    }
}

impl From<ToolError> for FunctionCallError {
    fn from(error: ToolError) -> Self {
        FunctionCallError::RespondToModel(error)
    }
}
