//! Installs pinned programs and libraries from the registries of crates, Python and Node into `target`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{Workspace, run};

/// Builds a program of a crate unless it is installed, and returns its path. Little optimisation: building these programs takes
/// longer than all their runs. `arguments` are further ones of `cargo install`.
pub(crate) fn install_crate(
    workspace: &Workspace,
    package: &str,
    version: &str,
    program: &str,
    arguments: &[&str],
) -> Result<PathBuf, String> {
    let tools = workspace.tools();
    let path = tools.join("bin").join(program);
    // Cargo's own list of what it installed there.
    let installed = fs::read_to_string(tools.join(".crates.toml")).unwrap_or_default();
    if path.exists() && installed.contains(&format!("\"{package} {version} (")) {
        return Ok(path);
    }
    let mut install = workspace.cargo();
    install
        .args(["install", package, "--version", version, "--locked", "--force"])
        .args(["--profile", "dev", "--config", "profile.dev.opt-level=1"])
        .args(["--config", "profile.dev.debug=false"])
        .args(arguments)
        .arg("--root")
        .arg(&tools)
        .arg("--target-dir")
        .arg(tools.join("build"));
    run(&mut install)?;
    Ok(path)
}

/// Installs the packages that a file of requirements pins, and returns the path of the Python that has them.
pub(crate) fn install_python(
    workspace: &Workspace,
    requirements: &str,
    directory: &Path,
) -> Result<PathBuf, String> {
    let python = directory.join("bin/python");
    let pinned = workspace.read(requirements)?;
    let done = directory.join("installed.txt");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == pinned) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
    run(Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
        .args(["--no-deps", "--requirement", requirements])
        .current_dir(&workspace.root))?;
    fs::write(&done, pinned).map_err(|error| format!("{}: {error}", done.display()))?;
    Ok(python)
}

/// Copies the files of `source`, a directory with a `package-lock.json`, and installs the packages of the lock beside the copies.
pub(crate) fn install_node(
    workspace: &Workspace,
    source: &str,
    directory: &Path,
) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{source}: {error}");
    fs::create_dir_all(directory).map_err(wrong)?;
    for entry in fs::read_dir(workspace.root.join(source)).map_err(wrong)? {
        let file = entry.map_err(wrong)?;
        if file.path().is_file() {
            fs::copy(file.path(), directory.join(file.file_name())).map_err(wrong)?;
        }
    }
    let lock = workspace.read(Path::new(source).join("package-lock.json"))?;
    let done = directory.join("installed.json");
    if fs::read_to_string(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    run(Command::new("npm")
        // Not `ci`: it refuses a lock file without the other platforms' optional parts.
        .args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"])
        .arg("--loglevel=error")
        .current_dir(directory))?;
    fs::write(&done, lock).map_err(|error| format!("{}: {error}", done.display()))
}
