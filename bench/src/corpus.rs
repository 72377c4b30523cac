//! A real source tree: the one that was asked for, else Linux's from Debian's package, else what
//! cargo has of the registry.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::Result;
use crate::contender::output;
use crate::options::said;

/// A tree, and what the report says of it.
#[derive(Clone)]
pub(crate) struct Corpus {
    pub(crate) path: PathBuf,
    pub(crate) about: About,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Corpus {
    /// `folder` is where a tree from a package is unpacked, once.
    pub(crate) fn find(asked: Option<&Path>, folder: &Path) -> Result<Corpus> {
        let (path, name) = match asked {
            Some(path) => (path.to_owned(), "a directory that was given with --corpus".to_owned()),
            None => linux(folder).or_else(|why| {
                println!("== no Linux tree ({why}); the cargo registry's sources instead");
                registry()
            })?,
        };
        let (files, bytes) = weigh(&path)?;
        Ok(Corpus { path, about: About { name, files, bytes } })
    }
}

/// Debian's package of the Linux tree, unpacked and not installed.
fn linux(folder: &Path) -> Result<(PathBuf, String)> {
    let tree = folder.join("corpus");
    let told = folder.join("corpus.name");
    if let Ok(name) = fs::read_to_string(&told) {
        return Ok((tree, name));
    }
    let package = newest_package()?;
    println!("== unpacking {package}, once");
    let work = folder.join("package");
    for old in [&tree, &work] {
        if old.exists() {
            fs::remove_dir_all(old).map_err(said)?;
        }
        fs::create_dir_all(old).map_err(said)?;
    }
    let (work_text, tree_text) = (text(&work)?, text(&tree)?);
    output(&["env", "-C", work_text, "apt-get", "download", &package])?;
    let archive = the_one(&work, ".deb")?;
    output(&["dpkg-deb", "-x", text(&archive)?, work_text])?;
    let sources = the_one(&work.join("usr/src"), ".tar.xz")?;
    output(&["tar", "-xf", text(&sources)?, "-C", tree_text, "--strip-components=1"])?;
    hide_nothing(&tree.join(".gitignore"))?;
    output(&["git", "init", "--quiet", tree_text])?;
    let file = archive.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("Linux's source tree, Debian's package {}", file.replace("_all", ""));
    fs::remove_dir_all(&work).map_err(said)?;
    fs::write(&told, &name).map_err(said)?;
    Ok((tree, name))
}

/// The package that `linux-source` stands for here.
fn newest_package() -> Result<String> {
    let said = output(&["apt-cache", "depends", "linux-source"])?;
    let said = String::from_utf8_lossy(&said);
    said.lines()
        .find_map(|line| line.trim().strip_prefix("Depends: linux-source-"))
        .map(|version| format!("linux-source-{version}"))
        .ok_or_else(|| "apt knows no linux-source".into())
}

/// The tree's last ignore rule hides all of it; it is meant for the package's own repository.
fn hide_nothing(ignore_file: &Path) -> Result<()> {
    let rules = fs::read_to_string(ignore_file).map_err(said)?;
    let kept: Vec<&str> = rules.lines().filter(|rule| *rule != "/*").collect();
    fs::write(ignore_file, kept.join("\n") + "\n").map_err(said)
}

fn registry() -> Result<(PathBuf, String)> {
    let home = match (std::env::var_os("CARGO_HOME"), std::env::var_os("HOME")) {
        (Some(cargo), _) => PathBuf::from(cargo),
        (None, Some(home)) => PathBuf::from(home).join(".cargo"),
        (None, None) => return Err("neither CARGO_HOME nor HOME is set".into()),
    };
    let path = home.join("registry/src");
    if !path.is_dir() {
        return Err("cargo has no sources of the registry; give --corpus DIR".into());
    }
    Ok((path, "the sources that cargo has of the registry".into()))
}

/// The files below a directory and their bytes; links and `.git` do not count.
fn weigh(top: &Path) -> Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory).map_err(said)? {
            let entry = entry.map_err(said)?;
            let kind = entry.file_type().map_err(said)?;
            if kind.is_dir() && entry.file_name() != ".git" {
                directories.push(entry.path());
            } else if kind.is_file() {
                files += 1;
                bytes += entry.metadata().map_err(said)?.len();
            }
        }
    }
    Ok((files, bytes))
}

fn the_one(directory: &Path, ending: &str) -> Result<PathBuf> {
    let mut paths =
        fs::read_dir(directory).map_err(said)?.filter_map(|entry| Some(entry.ok()?.path()));
    paths
        .find(|path| path.as_os_str().to_string_lossy().ends_with(ending))
        .ok_or_else(|| format!("the package holds no *{ending}"))
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().ok_or_else(|| "a path is not UTF-8".into())
}
