//! The man page and the completions, printed by the program and checked by the programs that read them.

use std::path::PathBuf;
use std::process::Command;

use super::Dist;
use super::files::{output, write};
use crate::test::needs::{FISH, MAN, MANDOC, Need, ZSH};

/// A shell, the file of its completions in the release, and what is missing if the shell cannot be run.
pub(super) struct Shell {
    pub(super) name: &'static str,
    pub(super) file: &'static str,
    need: Option<&'static Need>,
}

pub(super) const SHELLS: [Shell; 3] = [
    Shell { name: "bash", file: "completions/eyelet.bash", need: None },
    Shell { name: "zsh", file: "completions/_eyelet", need: Some(&ZSH) },
    Shell { name: "fish", file: "completions/eyelet.fish", need: Some(&FISH) },
];

pub(super) const MAN_PAGE: &str = "eyelet.1";

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let page = man_page(dist);
    write(&page, output(Command::new(&dist.program.path).arg("man"))?)?;
    check_man_page(dist)?;
    for shell in SHELLS {
        let script = dist.out.join(shell.file);
        let completions = ["completions", shell.name];
        write(&script, output(Command::new(&dist.program.path).args(completions))?)?;
        if dist.has(shell.need) {
            output(Command::new(shell.name).arg("-n").arg(&script))?;
        }
    }
    Ok(())
}

pub(super) fn man_page(dist: &Dist<'_>) -> PathBuf {
    dist.out.join(MAN_PAGE)
}

fn check_man_page(dist: &mut Dist<'_>) -> Result<(), String> {
    let page = man_page(dist);
    if dist.has(Some(&MANDOC)) {
        // Warnings are about macros that the crate clap_mangen writes, and change nothing that a reader sees.
        output(Command::new("mandoc").args(["-T", "lint", "-W", "error"]).arg(&page))?;
    }
    if dist.has(Some(&MAN)) {
        let mut man = Command::new("man");
        man.args(["--warnings", "--encoding=UTF-8", "--local-file"]).arg(&page);
        let formatted = man.env("LC_ALL", "C.UTF-8").env("MANPAGER", "cat").output();
        let formatted = formatted.map_err(|error| format!("cannot start `man`: {error}"))?;
        let text = String::from_utf8_lossy(&formatted.stdout);
        // Its exit code is 0 even if it warns.
        if !formatted.stderr.is_empty() || !text.contains("eyelet grep-files") {
            let warnings = String::from_utf8_lossy(&formatted.stderr);
            return Err(format!("`man --warnings` on {}:\n{warnings}", page.display()));
        }
    }
    Ok(())
}
