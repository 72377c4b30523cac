//! The steps that cargo does.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::Workspace;

pub(crate) fn format(workspace: &Workspace) -> Result<(), String> {
    run(command(workspace).args(["fmt", "--all", "--check"]))
}

/// The benches, too: nobody would see that they do not compile any more.
pub(crate) fn clippy(workspace: &Workspace) -> Result<(), String> {
    for manifest in ["Cargo.toml", "bench/Cargo.toml"] {
        let what = ["clippy", "--workspace", "--all-targets", "--locked", "--manifest-path"];
        run(command(workspace).args(what).args([manifest, "--", "-D", "warnings"]))?;
    }
    Ok(())
}

pub(crate) fn documentation(workspace: &Workspace) -> Result<(), String> {
    let what = ["doc", "--workspace", "--no-deps", "--locked"];
    run(command(workspace).args(what).env("RUSTDOCFLAGS", "-D warnings"))
}

pub(crate) fn test(workspace: &Workspace) -> Result<(), String> {
    run(command(workspace).args(["test", "--workspace", "--locked"]))
}

/// Builds and runs each example of the library; it has to exit 0.
pub(crate) fn examples(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.root.join("crates/eyelet/examples");
    let Ok(entries) = fs::read_dir(&folder) else { return Ok(()) };
    let mut examples: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", folder.display()))?;
    examples.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    examples.sort();
    for name in examples.iter().filter_map(|path| path.file_stem()) {
        run(command(workspace)
            .args(["run", "--locked", "--package", "eyelet", "--example"])
            .arg(name))?;
    }
    Ok(())
}

/// The programs that `cargo test` made.
pub(crate) struct Built {
    pub(crate) tests: Vec<PathBuf>,
    pub(crate) eyelet: PathBuf,
    pub(crate) conformance_server: PathBuf,
}

pub(crate) fn built(workspace: &Workspace) -> Result<Built, String> {
    let output = command(workspace)
        .args(["test", "--no-run", "--workspace", "--locked", "--quiet", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo test --no-run: {}", output.status));
    }
    programs(&String::from_utf8_lossy(&output.stdout))
}

/// Reads cargo's messages, one JSON object a line, as far as it takes to find the programs.
fn programs(messages: &str) -> Result<Built, String> {
    let mut tests = Vec::new();
    let (mut eyelet, mut conformance_server) = (None, None);
    for line in messages.lines() {
        let Some(program) = between(line, "\"executable\":\"", "\"") else { continue };
        let is_test = between(line, "\"profile\":{", "}")
            .is_some_and(|profile| profile.contains("\"test\":true"));
        if is_test {
            tests.push(program.into());
        } else if program.ends_with("/eyelet") {
            eyelet = Some(program.into());
        } else if program.ends_with("/conformance_server") {
            conformance_server = Some(program.into());
        }
    }
    let eyelet = eyelet.ok_or("cargo test made no program `eyelet`")?;
    let conformance_server =
        conformance_server.ok_or("cargo test made no program `conformance_server`")?;
    Ok(Built { tests, eyelet, conformance_server })
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

/// Cargo, in the workspace; the one that runs this, where cargo does.
pub(crate) fn command(workspace: &Workspace) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(&workspace.root);
    command
}

/// Runs a command to its end, its output visible.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status =
        command.status().map_err(|error| format!("{command:?} does not start: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_programs_and_eyelet_are_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","target":{"test":true},"profile":{"opt_level":"0","test":false},"executable":null}
{"reason":"compiler-artifact","target":{"test":true},"profile":{"opt_level":"0","test":true},"executable":"/t/deps/it-1"}
{"reason":"compiler-artifact","target":{"test":true},"profile":{"opt_level":"0","test":false},"executable":"/t/debug/eyelet"}
{"reason":"compiler-artifact","target":{"test":false},"profile":{"opt_level":"0","test":false},"executable":"/t/debug/examples/conformance_server"}
{"reason":"build-finished","success":true}"#;
        let built = programs(messages).unwrap();
        assert_eq!(built.tests, [PathBuf::from("/t/deps/it-1")]);
        assert_eq!(built.eyelet, PathBuf::from("/t/debug/eyelet"));
        let server = PathBuf::from("/t/debug/examples/conformance_server");
        assert_eq!(built.conformance_server, server);
    }
}
