//! The result of a command of `bash`, and the errors of one that did not run.

use crate::context::TurnContext;
use crate::error::{ErrorCode, Hint, ToolError};
use crate::exec::blocked;
use crate::exec::command_spec::CommandSpec;
use crate::exec::outcome::{CommandOutcome, EndedCommand};
use crate::exec::refusal::Refusal;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::escape;

/// The result of a command, with what the sandbox refused to it.
pub(super) fn ended(
    spec: &CommandSpec,
    outcome: Result<CommandOutcome, Refusal>,
    turn: &TurnContext,
) -> Result<EndedCommand, ToolError> {
    let outcome = outcome.map_err(|refusal| match refusal {
        Refusal::Io(error) if spec.directory.is_removed() => {
            unusable(&escape::name(spec.directory_shown.as_os_str()), &error)
        }
        refusal @ (Refusal::Io(_) | Refusal::Unavailable(_) | Refusal::Later(_)) => {
            refused(refusal, turn)
        }
    })?;
    let findings = blocked::find(&outcome, &spec.command, &spec.directory_shown, turn);
    Ok(EndedCommand { outcome, findings })
}

pub(super) fn refused(refusal: Refusal, turn: &TurnContext) -> ToolError {
    let reason = match refusal {
        Refusal::Io(error) => return failed(&error),
        Refusal::Later(reason) => {
            let message = format!("cannot run the command yet: {reason}");
            return ToolError::new(ErrorCode::SandboxUnavailable, message);
        }
        Refusal::Unavailable(reason) => reason,
    };
    let failure = |message| ToolError::new(ErrorCode::SandboxUnavailable, message);
    let lacks_namespaces =
        turn.settings.as_ref().is_some_and(|settings| settings.lacks_namespaces_for_hosts());
    match turn.sandbox() {
        _ if lacks_namespaces => {
            failure(format!("the allowed hosts cannot be enforced here: {reason}"))
                .with_hint(Hint::AllowNamespaces)
        }
        SandboxPolicy::Full => failure(format!("cannot run the command: {reason}")),
        policy @ (SandboxPolicy::Off | SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite) => {
            failure(format!("sandbox policy `{policy}` cannot be enforced here: {reason}"))
                .with_hint(Hint::AllowCommands)
        }
    }
}

pub(super) fn unusable(cwd: &str, error: &std::io::Error) -> ToolError {
    ToolError::io(format_args!("cannot use cwd `{cwd}`"), error)
}

fn failed(error: &std::io::Error) -> ToolError {
    let mut failure = ToolError::io("cannot run the command", error);
    if error.kind() == std::io::ErrorKind::ArgumentListTooLong {
        failure.code = ErrorCode::TooLarge;
    }
    failure
}
