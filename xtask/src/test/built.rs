//! The programs that `cargo test` builds: one build for all steps.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::workspace::Workspace;

/// The programs of one `cargo test --workspace`.
pub(crate) struct Built {
    /// Test programs, each with its package.
    pub(super) tests: Vec<TestProgram>,
    /// The library's examples.
    pub(super) examples: Vec<PathBuf>,
    pub(crate) eyelet: PathBuf,
    pub(super) conformance_server: PathBuf,
}

/// A test program and the crate that it tests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    pub(super) package: String,
    pub(super) path: PathBuf,
}

/// Builds what is not up to date, with the features of the step `tests`.
pub(crate) fn built(workspace: &Workspace) -> Result<Built, String> {
    let output = workspace
        .cargo()
        .args(["test", "--no-run", "--workspace", "--locked", "--quiet", "--message-format=json"])
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo test --no-run: {}", output.status));
    }
    programs(&String::from_utf8_lossy(&output.stdout))
}

/// Cargo's target directory.
pub(crate) fn target(workspace: &Workspace) -> PathBuf {
    let set = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    workspace.root.join(set.unwrap_or_else(|| "target".into()))
}

/// Reads the programs from cargo's messages, one JSON object a line.
fn programs(messages: &str) -> Result<Built, String> {
    let (mut tests, mut examples) = (Vec::new(), Vec::new());
    let (mut eyelet, mut conformance_server) = (None, None);
    for line in messages.lines() {
        let Some(program) = between(line, "\"executable\":\"", "\"") else { continue };
        let program = unescape(program);
        // `path+file:///…/crates/eyelet-cli#0.1.0`, or `…/crates/eyelet#eyelet@0.1.0`.
        let package = between(line, "\"package_id\":\"", "#").unwrap_or_default();
        let package = package.rsplit('/').next().unwrap_or_default();
        let is_test = between(line, "\"profile\":{", "}")
            .is_some_and(|profile| profile.contains("\"test\":true"));
        let is_example = line.contains("\"kind\":[\"example\"]");
        if is_test && !is_example {
            tests.push(TestProgram { package: package.to_owned(), path: program });
        } else if is_example && !is_test && package == "eyelet" {
            examples.push(program);
        } else if is_named(&program, "eyelet") {
            eyelet = Some(program);
        } else if is_named(&program, "conformance_server") {
            conformance_server = Some(program);
        }
    }
    let eyelet = eyelet.ok_or("cargo test built no program `eyelet`")?;
    let conformance_server =
        conformance_server.ok_or("cargo test built no program `conformance_server`")?;
    Ok(Built { tests, examples, eyelet, conformance_server })
}

fn is_named(program: &Path, name: &str) -> bool {
    program.file_name().is_some_and(|found| found == name)
}

/// A path as JSON writes it: of all escapes only these two occur in one.
fn unescape(text: &str) -> PathBuf {
    text.replace("\\\\", "\\").into()
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(start)?;
    rest.split_once(end).map(|(inside, _)| inside)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_cargos_messages() {
        let messages = r#"{"reason":"compiler-artifact","package_id":"path+file:///a b/crates/eyelet#0.1.0","target":{"kind":["lib"],"test":true},"profile":{"opt_level":"0","test":false},"executable":null}
{"reason":"compiler-artifact","package_id":"path+file:///a b/crates/eyelet#0.1.0","target":{"kind":["test"],"test":true},"profile":{"opt_level":"0","test":true},"executable":"/t/deps/it-1"}
{"reason":"compiler-artifact","package_id":"path+file:///a b/crates/eyelet#0.1.0","target":{"kind":["example"],"test":false},"profile":{"opt_level":"0","test":false},"executable":"/t/debug/examples/embed"}
{"reason":"compiler-artifact","package_id":"path+file:///a b/crates/eyelet-cli#0.1.0","target":{"kind":["bin"],"test":true},"profile":{"opt_level":"0","test":false},"executable":"/t/debug/eyelet"}
{"reason":"compiler-artifact","package_id":"path+file:///a b/crates/eyelet-mcp#0.1.0","target":{"kind":["example"],"test":false},"profile":{"opt_level":"0","test":false},"executable":"/t/debug/examples/conformance_server"}
{"reason":"build-finished","success":true}"#;
        let built = programs(messages).unwrap();
        let test = TestProgram { package: "eyelet".to_owned(), path: "/t/deps/it-1".into() };
        assert_eq!(built.tests, [test]);
        assert_eq!(built.examples, [PathBuf::from("/t/debug/examples/embed")]);
        assert_eq!(built.eyelet, PathBuf::from("/t/debug/eyelet"));
        let server = PathBuf::from("/t/debug/examples/conformance_server");
        assert_eq!(built.conformance_server, server);
    }
}
