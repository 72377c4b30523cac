//! How `eyelet` fails: one line on stderr, and an exit code.

use std::io;
use std::panic;
use std::process::ExitCode;

use eyelet::{FunctionCallError, ToolError};

use crate::print;

/// The exit code if the command failed or its output could not be written.
pub(crate) const FAILED: u8 = 1;
/// The exit code for an invalid command line.
const USAGE: u8 = 2;

/// Why the command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) exit: u8,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: FAILED }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: USAGE }
    }

    pub(crate) fn report(self) -> ExitCode {
        print::error(&self.message);
        ExitCode::from(self.exit)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::new(format!("cannot write the output: {error}"))
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Failure::new(eyelet_mcp::error_text(&error))
    }
}

impl From<FunctionCallError> for Failure {
    fn from(error: FunctionCallError) -> Self {
        error.into_tool_error().into()
    }
}

/// Reports the location of a panic in one line. The router turns the panic itself into an answer.
pub(crate) fn report_panics_on_stderr() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
        print::error(&format!("internal failure{place}; please report this bug"));
    }));
}
