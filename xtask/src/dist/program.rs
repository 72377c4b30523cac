//! Builds the program: one file that needs no libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files::output;
use crate::workspace::{Workspace, run};

/// The target of releases.
const MUSL: &str = "x86_64-unknown-linux-musl";
/// The target if the toolchain lacks `MUSL`: glibc can be linked statically too, but cannot load its modules then.
const GNU: &str = "x86_64-unknown-linux-gnu";

/// What `ldd` prints for a static program: the first for one that is position-independent.
const STATIC: &[&str] = &["statically linked", "not a dynamic executable"];

/// Whether programs for this target may be published.
pub(super) fn is_for_others(target: &str) -> bool {
    target == MUSL
}

/// A program, and the target for which it was built.
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) target: &'static str,
    /// What a reader of the summary has to know about it.
    pub(super) note: Option<String>,
}

/// Builds the program without libraries and symbols.
pub(super) fn build(workspace: &Workspace) -> Result<Program, String> {
    let (target, note) = target(workspace)?;
    // Cargo's and the project's own paths would end up in messages of the program.
    let home = cargo_home()?;
    let renamed = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let rustflags = [
        "-Ctarget-feature=+crt-static".to_owned(),
        renamed(&home, "/cargo"),
        renamed(&workspace.root, "/eyelet"),
    ];
    let mut build = workspace.cargo();
    build
        .args(["build", "--release", "--locked", "--package", "eyelet-cli", "--target", target])
        .args(["--config", "profile.release.strip=\"symbols\"", "--config"])
        .arg(format!("target.{target}.rustflags={rustflags:?}"))
        // This variable would replace the flags above.
        .env_remove("RUSTFLAGS");
    run(&mut build)?;
    let path = workspace.root.join("target").join(target).join("release/eyelet");
    check_static(&path)?;
    Ok(Program { path, target, note })
}

/// The program that the tests use, for a rehearsal.
pub(super) fn of_tests(path: PathBuf) -> Program {
    Program { path, target: GNU, note: None }
}

/// Compiles the program for the target of releases, without building it.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    let flags = ["check", "--locked", "--package", "eyelet-cli", "--target", MUSL];
    run(workspace.cargo().args(flags))
}

/// The target to build for, with a note if it is not that of releases.
fn target(workspace: &Workspace) -> Result<(&'static str, Option<String>), String> {
    if has_target(workspace, MUSL) {
        return Ok((MUSL, None));
    }
    let install = format!("run `rustup target add {MUSL}`");
    if has_target(workspace, GNU) && has_static_glibc() {
        let note = format!(
            "do not publish this program: it contains glibc, because the toolchain does not have the target {MUSL}. The \
             program can crash when a lookup of a user or host needs a module of /etc/nsswitch.conf, such as systemd, \
             sss or mdns4. For a release, {install}"
        );
        return Ok((GNU, Some(note)));
    }
    Err(format!(
        "cannot build a static program: the toolchain does not have the target {MUSL}, and there is no static \
         glibc; {install}, or install glibc's static library (Debian: apt-get install libc6-dev)"
    ))
}

/// Whether the toolchain has the standard library for the target.
fn has_target(workspace: &Workspace, target: &str) -> bool {
    let mut rustc = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    rustc.current_dir(&workspace.root).args(["--print", "target-libdir", "--target", target]);
    output(&mut rustc).is_ok_and(|directory| Path::new(directory.trim()).is_dir())
}

/// The C compiler prints the path of a library that it has, and else only the name.
fn has_static_glibc() -> bool {
    let path = output(Command::new("cc").arg("-print-file-name=libc.a"));
    cfg!(target_arch = "x86_64") && path.is_ok_and(|path| Path::new(path.trim()).is_absolute())
}

pub(super) fn cargo_home() -> Result<PathBuf, String> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    home.ok_or_else(|| "cannot locate cargo's directory: set CARGO_HOME or HOME".to_owned())
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
