//! The shell that runs commands.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType};

use crate::call::Environment;

/// Where programs are looked for when the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// `bash` from the `PATH`, else `sh`.
pub(super) fn find(environment: &Environment) -> PathBuf {
    let path = environment.get("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
    let found = |name: &str| {
        // A relative folder would let the working directory choose the shell.
        std::env::split_paths(path)
            .filter(|folder| folder.is_absolute())
            .map(|folder| folder.join(name))
            .find(|candidate| is_executable(candidate))
    };
    found("bash").or_else(|| found("sh")).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// The shell's arguments for a command.
pub(super) fn arguments(command: &str) -> [&str; 3] {
    // Without the dashes a command that begins with one would be taken for an option.
    ["-c", "--", command]
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok()
        && rustix::fs::stat(path)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}
