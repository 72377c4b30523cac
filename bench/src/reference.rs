//! The reference MCP server for files, from npm. `bench/reference` pins its version and dependencies;
//! the first run installs it under `target/`.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::contender::output;
use crate::options::io_error;

const PROGRAM: &str = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js";

/// The command that starts it; the caller appends the directories that it may access.
pub(crate) fn words(project: &Path) -> Result<Vec<String>> {
    let pinned = project.join("bench/reference");
    let folder = project.join("target/clients/reference");
    let lock = fs::read_to_string(pinned.join("package-lock.json")).map_err(io_error)?;
    let done = folder.join("installed.json");
    if !fs::read_to_string(&done).is_ok_and(|installed| installed == lock) {
        println!("== installing the reference server (once)");
        fs::create_dir_all(&folder).map_err(io_error)?;
        for name in ["package.json", "package-lock.json", ".npmrc"] {
            fs::copy(pinned.join(name), folder.join(name)).map_err(io_error)?;
        }
        let prefix = folder.to_string_lossy();
        let quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        output(&[&["npm", "ci", "--prefix", &prefix], &quietly[..]].concat())?;
        fs::write(&done, lock).map_err(io_error)?;
    }
    let program = folder.join(PROGRAM).into_os_string().into_string();
    Ok(vec!["node".into(), program.map_err(|_| "path is not UTF-8")?])
}
