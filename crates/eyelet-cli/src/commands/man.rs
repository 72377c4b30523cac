//! `eyelet man`: prints the manual page.

use std::io;
use std::process::ExitCode;

use clap::{Arg, CommandFactory as _};
use clap_mangen::Man;

use crate::failure::Failure;
use crate::flags::{CONTEXT_HEADING, Cli};
use crate::print;

pub(crate) fn run() -> Result<ExitCode, Failure> {
    print::lines(&manual()?)?;
    Ok(ExitCode::SUCCESS)
}

/// One page: the flags that all commands share, then each command.
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
    let shared =
        argument.get_help_heading() == Some(CONTEXT_HEADING) || argument.get_id() == "help";
    argument.hide(shared)
}
