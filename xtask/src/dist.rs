//! Builds the program for others: one file that needs no libraries.

use std::path::Path;
use std::process::Command;

use crate::workspace::{Workspace, run};

const TARGET: &str = "x86_64-unknown-linux-musl";

/// What `ldd` prints for a static program: the first for one that is position-independent.
const STATIC: &[&str] = &["statically linked", "not a dynamic executable"];

pub(crate) fn build(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    if !words.is_empty() {
        return Err("usage: cargo xtask dist".to_owned());
    }
    if !has_target(workspace) {
        return Err(format!(
            "cannot build for {TARGET}: the toolchain does not have this target; run `rustup target add {TARGET}`"
        ));
    }
    let flags = ["build", "--release", "--locked", "--package", "eyelet-cli", "--target", TARGET];
    run(workspace.cargo().args(flags))?;
    let program = workspace.root.join("target").join(TARGET).join("release/eyelet");
    check_static(&program)?;
    run(Command::new(&program).arg("--version"))?;
    println!("{}: static", program.display());
    Ok(())
}

/// Compiles the program for the target, without building it.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let flags = ["check", "--locked", "--package", "eyelet-cli", "--target", TARGET];
    run(workspace.cargo().args(flags))
}

/// Whether the toolchain has the standard library for the target.
fn has_target(workspace: &Workspace) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(&workspace.root);
    let output = rustc.args(["--print", "target-libdir", "--target", TARGET]).output();
    output.is_ok_and(|output| {
        let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success() && Path::new(&directory).is_dir()
    })
}

/// Fails unless `ldd` says that the program needs no libraries.
fn check_static(program: &Path) -> Result<(), String> {
    let output = Command::new("ldd").env("LC_ALL", "C").arg(program).output();
    let output = output.map_err(|error| format!("cannot start `ldd`: {error}"))?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    if STATIC.iter().any(|words| text.contains(words)) {
        return Ok(());
    }
    Err(format!("{} is not static; ldd prints:\n{text}", program.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_needs_libraries_is_not_static() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(check_static(&own).is_ok(), cfg!(target_feature = "crt-static"));
    }
}
