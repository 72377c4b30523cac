//! What `eyelet` prints about itself: definitions, completions, the manual page.

use std::io;
use std::process::ExitCode;

use clap::{Arg, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use eyelet::{DefinitionFormat, ToolRouter, render_definitions};

use crate::args::{Cli, SURROUNDINGS};
use crate::failure::Failure;
use crate::show;

pub(crate) fn tools(format: DefinitionFormat) -> Result<ExitCode, Failure> {
    let definitions = render_definitions(&ToolRouter::new().definitions(), format);
    show::lines(&format!("{definitions:#}"))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn completions(shell: Shell) -> Result<ExitCode, Failure> {
    // Into memory first: the generator panics where it cannot write.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "eyelet", &mut script);
    show::lines(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn man() -> Result<ExitCode, Failure> {
    show::lines(&manual()?)?;
    Ok(ExitCode::SUCCESS)
}

/// One page: the command with the flags that all of its commands share, then each of them.
fn manual() -> io::Result<String> {
    let mut whole = Cli::command();
    whole.build();
    let mut page = Vec::new();
    let top = Man::new(whole.clone());
    top.render_title(&mut page)?;
    top.render_name_section(&mut page)?;
    top.render_synopsis_section(&mut page)?;
    top.render_options_section(&mut page)?;
    let mut page = String::from_utf8_lossy(&page).into_owned();
    for command in whole.get_subcommands() {
        let man = Man::new(command.clone().mut_args(without_shared_flags));
        let mut section = Vec::new();
        man.render_description_section(&mut section)?;
        man.render_synopsis_section(&mut section)?;
        man.render_options_section(&mut section)?;
        let section = String::from_utf8_lossy(&section).replace(".SH DESCRIPTION\n", "");
        page.push_str(&format!(".SH \"eyelet {}\"\n", command.get_name()));
        page.push_str(&section.replace("\n.SH ", "\n.SS "));
        if let Some(exit_status) = command.get_after_help() {
            page.push_str(&format!(".PP\n{exit_status}\n"));
        }
    }
    Ok(page)
}

fn without_shared_flags(argument: Arg) -> Arg {
    let shared = argument.get_help_heading() == Some(SURROUNDINGS) || argument.get_id() == "help";
    argument.hide(shared)
}
