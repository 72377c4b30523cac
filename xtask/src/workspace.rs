//! Where the repository is, and how cargo and other programs are run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository. Located at run time, so a clone can be moved.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self, String> {
        // Set by `cargo run`; the directory of this package.
        let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let start = match package {
            Some(package) => package,
            None => {
                let current = std::env::current_dir();
                current
                    .map_err(|error| format!("cannot determine the working directory: {error}"))?
            }
        };
        let mut directories = start.ancestors();
        let root = directories.find(|directory| directory.join("xtask/Cargo.toml").is_file());
        let root = root.ok_or("not in eyelet's repository; run `cargo xtask` inside it")?;
        Ok(Workspace { root: root.to_owned() })
    }

    /// The directory of tools that tests run.
    pub(crate) fn tools(&self) -> PathBuf {
        self.root.join("target/tools")
    }

    /// The directory of MCP clients for `language`.
    pub(crate) fn clients(&self, language: &str) -> PathBuf {
        self.root.join("target/clients").join(language)
    }

    /// Cargo in the repository: the same cargo that runs this program.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// Another program, run in the repository.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    pub(crate) fn read(&self, path: impl AsRef<Path>) -> Result<String, String> {
        let path = path.as_ref();
        std::fs::read_to_string(self.root.join(path))
            .map_err(|error| format!("{}: {error}", path.display()))
    }
}

/// Runs a command to its end with its output visible. Any exit code but 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status();
    let words = [command.get_program()].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    let status = status.map_err(|error| format!("cannot start `{}`: {error}", words.join(" ")))?;
    if status.success() { Ok(()) } else { Err(format!("`{}`: {status}", words.join(" "))) }
}
