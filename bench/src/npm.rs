//! Peers from npm, installed under `target/clients`. `bench/npm` pins their versions and dependencies.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::benches::text;
use crate::contender::output;
use crate::options::io_error;

/// Installs `bench/npm/NAME` and returns the command that runs `script`, a file of one of its packages.
pub(crate) fn install(name: &str, script: &str, project: &Path) -> Result<Vec<String>> {
    let pinned = project.join("bench/npm");
    let folder = project.join("target/clients").join(name);
    let lock = fs::read_to_string(pinned.join(name).join("package-lock.json")).map_err(io_error)?;
    let done = folder.join("installed.json");
    if !fs::read_to_string(&done).is_ok_and(|installed| installed == lock) {
        println!("== installing {name} (once)");
        fs::create_dir_all(&folder).map_err(io_error)?;
        fs::copy(pinned.join(".npmrc"), folder.join(".npmrc")).map_err(io_error)?;
        for file in ["package.json", "package-lock.json"] {
            fs::copy(pinned.join(name).join(file), folder.join(file)).map_err(io_error)?;
        }
        let prefix = folder.to_string_lossy();
        let quietly = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        output(&[&["npm", "ci", "--prefix", &prefix], &quietly[..]].concat())?;
        fs::write(&done, lock).map_err(io_error)?;
    }
    Ok(vec!["node".into(), text(folder.join("node_modules").join(script))?])
}
