//! How `eyelet` fails: one line on stderr that says what to do, and an exit code.

use std::io;
use std::panic;
use std::process::ExitCode;

use eyelet::{FunctionCallError, ToolError};

use crate::show;

/// The tool, or writing its answer, failed.
pub(crate) const FAILED: u8 = 1;
/// The command line is wrong.
const USAGE: u8 = 2;

/// Why the command ends without its answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) message: String,
    pub(crate) exit: u8,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure { message: message.into(), exit: USAGE }
    }

    pub(crate) fn report(self) -> ExitCode {
        show::error(&self.message);
        ExitCode::from(self.exit)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure { message: format!("cannot write the answer: {error}"), exit: FAILED }
    }
}

impl From<ToolError> for Failure {
    fn from(error: ToolError) -> Self {
        Failure { message: error.message, exit: FAILED }
    }
}

impl From<FunctionCallError> for Failure {
    fn from(error: FunctionCallError) -> Self {
        match error {
            FunctionCallError::RespondToModel(error) => error.into(),
            FunctionCallError::Fatal(message) => {
                Failure { message: format!("internal failure: {message}"), exit: FAILED }
            }
        }
    }
}

/// The router answers for a tool that panics; where it happened is told in one line.
pub(crate) fn tell_panics_on_stderr() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(|place| format!(" at {place}")).unwrap_or_default();
        show::error(&format!("internal failure{place}; please report it"));
    }));
}
