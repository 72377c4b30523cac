//! A real source tree: the directory of `--corpus`, the Linux source from a Debian package, or the
//! crate sources that cargo has downloaded.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::contender::output;
use crate::options::io_error;

/// A tree and its description in the report.
#[derive(Clone)]
pub(crate) struct Corpus {
    pub(crate) path: PathBuf,
    pub(crate) about: About,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Corpus {
    /// Unpacks a package into `folder` if needed.
    pub(crate) fn find(given: Option<&Path>, folder: &Path) -> Result<Corpus> {
        let (path, name) = match given {
            Some(path) => (path.to_owned(), "directory given with --corpus".to_owned()),
            None => linux(folder).or_else(|why| {
                println!("== no Linux source ({why}); using the crate sources of cargo");
                registry()
            })?,
        };
        let (files, bytes) = count_files(&path)?;
        Ok(Corpus { path, about: About { name, files, bytes } })
    }
}

/// Unpacks the Debian package of the Linux source without installing it.
fn linux(folder: &Path) -> Result<(PathBuf, String)> {
    let tree = folder.join("corpus");
    let name_file = folder.join("corpus.name");
    if let Ok(name) = fs::read_to_string(&name_file) {
        return Ok((tree, name));
    }
    let package = newest_package()?;
    println!("== unpacking {package} (once)");
    let package_dir = folder.join("package");
    for old in [&tree, &package_dir] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(io_error)?;
        }
        fs::create_dir_all(old).map_err(io_error)?;
    }
    let (package_text, tree_text) = (text(&package_dir)?, text(&tree)?);
    output(&["env", "-C", package_text, "apt-get", "download", &package])?;
    let archive = find_by_ending(&package_dir, ".deb")?;
    output(&["dpkg-deb", "-x", text(&archive)?, package_text])?;
    let sources = find_by_ending(&package_dir.join("usr/src"), ".tar.xz")?;
    output(&["tar", "-xf", text(&sources)?, "-C", tree_text, "--strip-components=1"])?;
    remove_catch_all_rule(&tree.join(".gitignore"))?;
    output(&["git", "init", "--quiet", tree_text])?;
    let file = archive.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("Linux source (Debian package {})", file.replace("_all", ""));
    fs::remove_dir_all(&package_dir).map_err(io_error)?;
    fs::write(&name_file, &name).map_err(io_error)?;
    Ok((tree, name))
}

/// The package that `linux-source` depends on.
fn newest_package() -> Result<String> {
    let printed = output(&["apt-cache", "depends", "linux-source"])?;
    String::from_utf8_lossy(&printed)
        .lines()
        .find_map(|line| line.trim().strip_prefix("Depends: linux-source-"))
        .map(|version| format!("linux-source-{version}"))
        .ok_or_else(|| "apt has no package linux-source".into())
}

/// Removes the rule that ignores the whole tree; it is meant for the package's own repository.
fn remove_catch_all_rule(ignore_file: &Path) -> Result<()> {
    let rules = fs::read_to_string(ignore_file).map_err(io_error)?;
    let rules: Vec<&str> = rules.lines().filter(|rule| *rule != "/*").collect();
    fs::write(ignore_file, rules.join("\n") + "\n").map_err(io_error)
}

fn registry() -> Result<(PathBuf, String)> {
    let home = match (std::env::var_os("CARGO_HOME"), std::env::var_os("HOME")) {
        (Some(cargo), _) => PathBuf::from(cargo),
        (None, Some(home)) => PathBuf::from(home).join(".cargo"),
        (None, None) => {
            return Err(
                "cannot locate the crate sources of cargo: neither CARGO_HOME nor HOME is set"
                    .into(),
            );
        }
    };
    let path = home.join("registry/src");
    if !path.is_dir() {
        return Err("no corpus: cargo has not downloaded crate sources; use --corpus DIR".into());
    }
    Ok((path, "crate sources downloaded by cargo".into()))
}

/// Counts the files below a directory and their bytes, without symlinks and `.git`.
fn count_files(top: &Path) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(io_error)? {
            let entry = entry.map_err(io_error)?;
            let kind = entry.file_type().map_err(io_error)?;
            if kind.is_dir() && entry.file_name() != ".git" {
                directories.push(entry.path());
            } else if kind.is_file() {
                files += 1;
                bytes += entry.metadata().map_err(io_error)?.len();
            }
        }
    }
    Ok((files, bytes))
}

fn find_by_ending(directory: &Path, ending: &str) -> Result<PathBuf> {
    let mut paths =
        fs::read_dir(directory).map_err(io_error)?.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.as_os_str().to_string_lossy().ends_with(ending))
        .ok_or_else(|| format!("the package contains no *{ending} file"))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| "path is not UTF-8".into())
}
