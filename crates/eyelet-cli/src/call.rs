//! `eyelet call`: one call as a program makes it.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use eyelet::limits::MAX_ARGUMENT_BYTES;
use eyelet::{
    AttachmentMode, Envelope, ErrorCode, FunctionCallError, ToolError, ToolInvocation, ToolOutput,
    ToolRouter,
};

use crate::args::{Call, Surroundings};
use crate::failure::{FAILED, Failure};
use crate::{show, turn};

pub(crate) fn run(command: &Call, before: &Surroundings) -> Result<ExitCode, Failure> {
    let outcome = outcome(command, before)?;
    if command.text {
        show::lines(&outcome?.function()?.content)?;
        return Ok(ExitCode::SUCCESS);
    }
    let exit = envelope(&outcome)?;
    // The process ends here: to free an answer of a million pieces one by one is of no use to anyone.
    std::mem::forget(outcome);
    Ok(exit)
}

/// Prints the envelope; whether the tool ran decides the exit code.
pub(crate) fn envelope(
    outcome: &Result<ToolOutput, FunctionCallError>,
) -> Result<ExitCode, Failure> {
    let envelope = Envelope::new(outcome, AttachmentMode::Inline);
    show::json(&envelope)?;
    Ok(if envelope.ok { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

fn outcome(
    command: &Call,
    before: &Surroundings,
) -> Result<Result<ToolOutput, FunctionCallError>, Failure> {
    let turn = turn::build(&before.with(&command.surroundings))?;
    let arguments = match arguments(&command.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(Err(error.into())),
    };
    let name = command.tool.to_string_lossy();
    Ok(ToolRouter::new().call(&ToolInvocation::new(&name, arguments, &turn)))
}

/// The JSON text of the call, from the command line or, for `-`, from stdin.
fn arguments(given: &OsStr) -> Result<String, ToolError> {
    let bytes = if given == "-" { stdin()? } else { given.as_bytes().to_vec() };
    String::from_utf8(bytes).map_err(|error| {
        let error = error.utf8_error();
        ToolError::invalid_input(format!("failed to parse function arguments: {error}"))
    })
}

fn stdin() -> Result<Vec<u8>, ToolError> {
    let mut bytes = Vec::new();
    let one_too_many = MAX_ARGUMENT_BYTES as u64 + 1;
    io::stdin()
        .lock()
        .take(one_too_many)
        .read_to_end(&mut bytes)
        .map_err(|error| ToolError::io("stdin cannot be read", &error))?;
    if bytes.len() > MAX_ARGUMENT_BYTES {
        let message = format!("arguments on stdin are above {MAX_ARGUMENT_BYTES} bytes");
        return Err(ToolError::new(ErrorCode::TooLarge, message));
    }
    Ok(bytes)
}
