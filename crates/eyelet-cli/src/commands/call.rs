//! `eyelet call`: calls a tool for a program, with JSON in and out.

use std::ffi::OsStr;
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::ExitCode;

use eyelet::limits::MAX_ARGUMENT_BYTES;
use eyelet::{ErrorCode, FunctionCallError, ToolError, ToolInvocation, ToolOutput, ToolRouter};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{CallFlags, ContextFlags};
use crate::{context, print};

pub(crate) fn run(flags: &CallFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let outcome = outcome(flags, before)?;
    if flags.text {
        print::lines(&outcome?.reply()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let exit = tool_runner::print_envelope(&outcome)?;
    // The process exits now; freeing a large output piece by piece would only take time.
    std::mem::forget(outcome);
    Ok(exit)
}

fn outcome(
    flags: &CallFlags,
    before: &ContextFlags,
) -> Result<Result<ToolOutput, FunctionCallError>, Failure> {
    let turn = context::build(&before.with(&flags.context))?;
    let arguments = match arguments(&flags.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Ok(Err(error.into())),
    };
    let name = flags.tool.to_string_lossy();
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
        .map_err(|error| ToolError::io("cannot read stdin", &error))?;
    if bytes.len() > MAX_ARGUMENT_BYTES {
        let message = format!("arguments on stdin exceed {MAX_ARGUMENT_BYTES} bytes");
        return Err(ToolError::new(ErrorCode::TooLarge, message));
    }
    Ok(bytes)
}
