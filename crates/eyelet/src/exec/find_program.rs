//! Finds programs in the `PATH` of the turn's environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType};

use crate::environment::Environment;

/// Used if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// The first executable file of that name.
pub(crate) fn find(name: &str, environment: &Environment) -> Option<PathBuf> {
    let path = environment.get("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
    // With a relative entry, the working directory would choose the program.
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|candidate| is_executable(candidate))
}

/// The shell that runs commands: `bash`, else `sh`.
pub(crate) fn shell(environment: &Environment) -> PathBuf {
    let found = find("bash", environment).or_else(|| find("sh", environment));
    found.unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// The shell's arguments for a command.
pub(crate) fn shell_arguments(command: &str) -> [&str; 3] {
    // Without the dashes, a command that starts with `-` would be an option.
    ["-c", "--", command]
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok()
        && rustix::fs::stat(path)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}
