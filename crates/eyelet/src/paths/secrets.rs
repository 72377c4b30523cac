//! The paths that the table of secrets means for a user.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::paths::secret_table::{SECRET_VARIABLES, SECRETS, SecretKind};

/// Directories that a variable may name, but that contain much more than secrets. The same applies to the home
/// and to directories around it. `/dev/null` stands for no file.
const SHARED: &[&str] =
    &["/", "/etc", "/mnt", "/opt", "/run", "/srv", "/tmp", "/usr", "/var", "/var/tmp"];

/// The most entries of a directory whose symlinks are followed.
const MAX_ENTRIES: usize = 1000;

/// The paths that the table means for a user with these home directories and variables, each also with
/// its symlinks resolved.
pub(crate) fn paths(homes: &[PathBuf], environment: &Environment) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = RealFolders::default();
    for secret in SECRETS {
        for path in secret.paths().flat_map(|path| expand(path, homes, environment)) {
            let (real, is_folder) = folders.resolve(&path);
            if is_folder && secret.kind == SecretKind::Credentials {
                found.extend(linked_files(&real));
            }
            found.extend([path, real]);
        }
    }
    found
}

/// The absolute paths that `text` stands for.
fn expand(text: &str, homes: &[PathBuf], environment: &Environment) -> Vec<PathBuf> {
    let (start, rest) = text.split_once('/').unwrap_or((text, ""));
    let below = |folder: &Path| match rest.is_empty() {
        true => folder.to_owned(),
        false => folder.join(rest),
    };
    let Some(variable) = start.strip_prefix('$') else {
        return match start {
            "~" => homes.iter().map(|home| below(home)).collect(),
            _ => vec![text.into()],
        };
    };
    let mut folders = environment.get(variable).map(values).unwrap_or_default();
    folders.retain(|folder| {
        let is_shared = SHARED.iter().any(|shared| folder == Path::new(shared));
        let holds_home = homes.iter().any(|home| home.starts_with(folder));
        let is_device = folder.starts_with("/dev");
        !is_device && (!rest.is_empty() || !(is_shared || holds_home))
    });
    let default = SECRET_VARIABLES.iter().find(|(name, _)| *name == variable);
    let default = default.map(|(_, folder)| expand(folder, homes, environment));
    folders.iter().chain(default.iter().flatten()).map(|folder| below(folder)).collect()
}

/// The paths in a variable, which may be a list such as that of `KUBECONFIG`.
fn values(value: &OsStr) -> Vec<PathBuf> {
    let whole = PathBuf::from(value);
    let parts = std::env::split_paths(value).filter(|part| *part != whole);
    let mut paths: Vec<_> = parts.chain([whole.clone()]).collect();
    paths.retain(|path| path.is_absolute());
    paths
}

/// Directories without symlinks, by their paths with symlinks. Most secrets share a few directories, and most
/// do not exist.
#[derive(Default)]
struct RealFolders(BTreeMap<PathBuf, PathBuf>);

impl RealFolders {
    /// The path with the symlinks of its existing part resolved, and whether it is a directory. A program may
    /// create the rest of the path later.
    fn resolve(&mut self, path: &Path) -> (PathBuf, bool) {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return (path.to_owned(), true);
        };
        let real = match self.0.get(folder) {
            Some(real) => real.join(name),
            None => {
                let (real, _) = self.resolve(folder);
                self.0.insert(folder.to_owned(), real.clone());
                real.join(name)
            }
        };
        match fs::symlink_metadata(&real) {
            Ok(found) if found.is_symlink() => {
                let target = fs::canonicalize(&real).unwrap_or(real);
                let is_folder = target.is_dir();
                (target, is_folder)
            }
            Ok(found) => (real, found.is_dir()),
            Err(_) => (real, false),
        }
    }
}

/// The files to which the symlinks in `directory` lead.
fn linked_files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let is_link = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_symlink());
    let links = entries.take(MAX_ENTRIES).filter(is_link);
    let targets = links.filter_map(|link| fs::canonicalize(link.path()).ok());
    targets.filter(|target| target.is_file()).collect()
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
