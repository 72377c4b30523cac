//! The conformance suite of the protocol, over HTTP: what runs against which server, and why the
//! rest does not apply.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::built::built;
use super::mcp_clients::node;
use crate::workspace::{Workspace, run};

/// What becomes of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// `eyelet mcp --http` passes it.
    Eyelet,
    /// It calls tools of its own: eyelet's server with these added passes it.
    Fixtures,
    /// It asks for something that eyelet does not have, by design.
    Never(&'static str),
}

use Run::{Eyelet, Fixtures, Never};

const ONE_BLOCK: &str = "a reply contains one block of text and, for an image file, one image: some clients do not \
                         pass other content to the model";
const NO_LOGGING: &str = "eyelet declares no logging: its replies contain all messages";
const ASKS_NOTHING: &str = "no tool asks the client's model or user anything";
const NO_RESOURCES: &str = "eyelet declares no resources: models read files with a tool";
const NO_PROMPTS: &str = "eyelet declares no prompts";

/// Every scenario for servers that the suite has.
const SCENARIOS: &[(&str, Run)] = &[
    ("server-initialize", Eyelet),
    ("ping", Eyelet),
    ("tools-list", Eyelet),
    ("server-sse-multiple-streams", Eyelet),
    ("dns-rebinding-protection", Eyelet),
    ("tools-call-simple-text", Fixtures),
    ("tools-call-image", Fixtures),
    ("tools-call-error", Fixtures),
    ("tools-call-with-progress", Fixtures),
    ("json-schema-2020-12", Fixtures),
    ("server-sse-polling", Fixtures),
    ("tools-call-audio", Never(ONE_BLOCK)),
    ("tools-call-embedded-resource", Never(ONE_BLOCK)),
    ("tools-call-mixed-content", Never(ONE_BLOCK)),
    ("tools-call-with-logging", Never(NO_LOGGING)),
    ("logging-set-level", Never(NO_LOGGING)),
    ("tools-call-sampling", Never(ASKS_NOTHING)),
    ("tools-call-elicitation", Never(ASKS_NOTHING)),
    ("elicitation-sep1034-defaults", Never(ASKS_NOTHING)),
    ("elicitation-sep1330-enums", Never(ASKS_NOTHING)),
    ("completion-complete", Never("there is nothing to complete without prompts and resources")),
    ("resources-list", Never(NO_RESOURCES)),
    ("resources-read-text", Never(NO_RESOURCES)),
    ("resources-read-binary", Never(NO_RESOURCES)),
    ("resources-templates-read", Never(NO_RESOURCES)),
    ("resources-subscribe", Never(NO_RESOURCES)),
    ("resources-unsubscribe", Never(NO_RESOURCES)),
    ("prompts-list", Never(NO_PROMPTS)),
    ("prompts-get-simple", Never(NO_PROMPTS)),
    ("prompts-get-with-args", Never(NO_PROMPTS)),
    ("prompts-get-embedded-resource", Never(NO_PROMPTS)),
    ("prompts-get-with-image", Never(NO_PROMPTS)),
];

/// Runs every scenario that applies. All of them have to pass, and none may be missing above.
pub(super) fn check(workspace: &Workspace) -> Result<(), String> {
    let known: BTreeSet<_> = SCENARIOS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let suite = suite(workspace)?;
    if known != suite {
        let difference: Vec<_> = known.symmetric_difference(&suite).collect();
        return Err(format!("the suite and the list in xtask differ in {difference:?}"));
    }
    let built = built(workspace)?;
    pass(workspace, &built.eyelet, &["mcp", "--http", "127.0.0.1:0", "--http-origin"], Eyelet)?;
    pass(workspace, &built.conformance_server, &[], Fixtures)?;
    for (name, run) in SCENARIOS {
        if let Never(reason) = run {
            println!("conformance {name}: does not apply: {reason}");
        }
    }
    Ok(())
}

/// The names of the suite's scenarios for servers.
fn suite(workspace: &Workspace) -> Result<BTreeSet<String>, String> {
    let program = "node_modules/@modelcontextprotocol/conformance/dist/index.js";
    let output = Command::new(node(workspace))
        .arg(workspace.clients("js").join(program))
        .arg("list")
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    let names = server_scenarios(&String::from_utf8_lossy(&output.stdout));
    if names.is_empty() { Err(format!("{program} lists nothing: {output:?}")) } else { Ok(names) }
}

/// What stands below `Server scenarios`, a line `  - NAME [VERSIONS]` each.
fn server_scenarios(list: &str) -> BTreeSet<String> {
    let lines = list.lines().skip_while(|line| !line.starts_with("Server scenarios")).skip(1);
    let names = lines.map_while(|line| line.trim_start().strip_prefix("- "));
    names.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Runs the scenarios of a server. Its program takes origins after `arguments`.
fn pass(
    workspace: &Workspace,
    program: &Path,
    arguments: &[&str],
    server: Run,
) -> Result<(), String> {
    let scenarios = SCENARIOS.iter().filter(|(_, run)| *run == server).map(|(name, _)| *name);
    run(Command::new(node(workspace))
        .arg(workspace.clients("js").join("conformance.mjs"))
        .args(scenarios)
        .arg("--")
        .arg(program)
        .args(arguments)
        .current_dir(&workspace.root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suite_lists_scenarios_of_servers_and_of_clients() {
        let list = "Server scenarios (test against a server):\n  - ping [2025-11-25]\n  - a [x,y]\n\n\
                    Client scenarios (test against a client):\n  - initialize [2025-06-18]\n";
        let names: Vec<_> = server_scenarios(list).into_iter().collect();
        assert_eq!(names, ["a", "ping"]);
    }
}
