//! `eyelet tools`: prints the definitions of the tools that `eyelet mcp` offers with the same flags.

use std::process::ExitCode;

use eyelet::render_definitions;

use crate::commands::mcp;
use crate::failure::Failure;
use crate::flags::{ContextFlags, ToolsFlags};
use crate::{config, context, print};

pub(crate) fn run(flags: &ToolsFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let context_flags = before.with(&flags.context);
    let policy = context_flags.sandbox.unwrap_or(config::SERVER_POLICY);
    let router = mcp::router(&flags.tools, policy)?;
    let turn = context::unconfined(&context_flags, policy)?;
    let definitions = render_definitions(&router.definitions_in(&turn), flags.format);
    print::lines(&format!("{definitions:#}"))?;
    Ok(ExitCode::SUCCESS)
}
