//! `eyelet tools`: prints the tools' definitions.

use std::process::ExitCode;

use eyelet::{DefinitionFormat, ToolRouter, render_definitions};

use crate::failure::Failure;
use crate::print;

pub(crate) fn run(format: DefinitionFormat) -> Result<ExitCode, Failure> {
    let definitions = render_definitions(&ToolRouter::new().definitions(), format);
    print::lines(&format!("{definitions:#}"))?;
    Ok(ExitCode::SUCCESS)
}
