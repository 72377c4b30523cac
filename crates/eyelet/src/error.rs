//! Errors of two kinds: for the model, and for the host only.

use std::fmt;
use std::io;

use serde::Serialize;

/// Why a call failed. The list is closed: a host may match on all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Bad arguments: wrong JSON, a number out of range, a bad pattern or glob.
    InvalidInput,
    /// There is no tool of that name.
    UnknownTool,
    /// The file or directory does not exist.
    NotFound,
    /// The system refused access.
    PermissionDenied,
    /// The path is outside of the roots.
    OutsideRoot,
    /// The path is not a directory.
    NotADirectory,
    /// The path is not a regular file.
    NotAFile,
    /// The reply or the input exceeds a hard limit.
    TooLarge,
    /// The time limit was reached before there was a result.
    TimedOut,
    /// The caller cancelled the call.
    Cancelled,
    /// The search engine failed or is missing.
    SearchFailed,
    /// The sandbox policy cannot be enforced here.
    SandboxUnavailable,
    /// Too many calls at once.
    Busy,
    /// Any other system error.
    IoError,
}

impl ErrorCode {
    /// Every code, in the order of the specification.
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

    /// The code's name in the envelope.
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

    /// The code of a system error.
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

/// An error that a model can read and react to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ToolError {
    /// The kind of error.
    pub code: ErrorCode,
    /// What failed and what to do, in lower case without a full stop.
    pub message: String,
    /// More details for programs, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<serde_json::Value>,
}

impl ToolError {
    /// An error of the given code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        ToolError { code, message: message.into(), details: None }
    }

    /// An `invalid_input` error.
    pub fn invalid_input(message: impl Into<String>) -> Self {
        ToolError::new(ErrorCode::InvalidInput, message)
    }

    /// `what: <system error>`, with the code of the system error.
    pub fn io(what: impl fmt::Display, error: &io::Error) -> Self {
        ToolError::new(ErrorCode::from_io(error), format!("{what}: {error}"))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// How a call through the router fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FunctionCallError {
    /// For the model, which can correct its arguments or try something else.
    RespondToModel(ToolError),
    /// For the host: a bug or a broken host. No argument of a model causes it.
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
