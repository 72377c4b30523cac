//! Finds programs in the `PATH` of the turn's environment.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, FileType};

use crate::environment::{DEFAULT_PATH, Environment};
use crate::text::escape;

/// Where every user can create files.
const TEMP_DIRS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm"];

/// A program that eyelet runs outside the sandbox, located once: later changes of symlinks have no
/// effect.
#[derive(Debug)]
pub(crate) struct HelperProgram {
    /// Its path in a directory of the `PATH`.
    pub(crate) path: PathBuf,
    /// The file to run: `path` with symlinks resolved.
    pub(crate) file: PathBuf,
    folder: PathBuf,
    real_folder: PathBuf,
}

impl HelperProgram {
    /// Every program of that name, in the order of the `PATH`.
    pub(crate) fn find_all(name: &str, environment: &Environment) -> Vec<HelperProgram> {
        let located = |folder: PathBuf| {
            let path = folder.join(name);
            let file = std::fs::canonicalize(&path).ok().filter(|_| is_executable(&path))?;
            let real_folder = std::fs::canonicalize(&folder).ok()?;
            Some(HelperProgram { path, file, folder, real_folder })
        };
        folders(environment).filter_map(located).collect()
    }

    /// The first of `programs` that is in none of these directories. The error says why there is none.
    pub(crate) fn first_outside<'p>(
        programs: &'p [HelperProgram],
        directories: &[PathBuf],
    ) -> Result<&'p HelperProgram, String> {
        let is_inside = |program: &HelperProgram| {
            let paths = [&program.folder, &program.real_folder, &program.file];
            let mut paths = paths.into_iter();
            paths.any(|path| directories.iter().any(|directory| path.starts_with(directory)))
        };
        match (programs.iter().find(|program| !is_inside(program)), programs.first()) {
            (Some(program), _) => Ok(program),
            (None, Some(refused)) => Err(format!(
                "found only in `{}`, which is in a root or a temp directory: commands could replace \
                 programs there",
                escape::name(refused.folder.as_os_str())
            )),
            (None, None) => Err("not found on PATH".to_owned()),
        }
    }
}

/// The temp directories, with and without symlinks in their paths.
pub(crate) fn temp_dirs(environment: &Environment) -> Vec<PathBuf> {
    let own = environment.get("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let all: Vec<_> = TEMP_DIRS.iter().map(PathBuf::from).chain(own).collect();
    let real = all.iter().filter_map(|path| std::fs::canonicalize(path).ok());
    real.chain(all.clone()).collect()
}

/// The shell that runs commands: `bash`, else `sh`. It runs in the sandbox, so it may be in a root.
pub(crate) fn shell(environment: &Environment) -> PathBuf {
    let find = |name: &str| find(name, environment);
    find("bash").or_else(|| find("sh")).unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

/// The first program of that name on the `PATH`, for commands in the sandbox.
pub(crate) fn find(name: &str, environment: &Environment) -> Option<PathBuf> {
    let mut candidates = folders(environment).map(|folder| folder.join(name));
    candidates.find(|candidate| is_executable(candidate))
}

/// The shell's arguments for a command.
pub(crate) fn shell_arguments(command: &str) -> [&str; 3] {
    // Without the dashes, a command that starts with `-` would be an option.
    ["-c", "--", command]
}

/// The directories of the `PATH`. With a relative one, the working directory would choose the program.
fn folders(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let path = environment.get("PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

fn is_executable(path: &Path) -> bool {
    rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::empty()).is_ok()
        && rustix::fs::stat(path)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

#[cfg(test)]
#[path = "find_program_tests.rs"]
mod tests;
