//! The licences of the crates that the program contains: most demand that copies come with their text.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use super::Dist;
use super::files::{at, output, write};
use super::program::cargo_home;

/// Beginnings of the names of files with licences, in upper case.
const NAMES: &[&str] = &["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

const HEAD: &str = "\
The program eyelet contains Rust's standard library (MIT or Apache-2.0), a C library (musl under MIT or, in builds for a
`gnu` target, glibc under LGPL-2.1-or-later), and the libraries below. The texts of their licences follow.
";

/// A crate that is compiled into the program.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    licence: String,
}

pub(super) fn file(dist: &Dist<'_>) -> PathBuf {
    dist.scratch.join("THIRD-PARTY-LICENSES.txt")
}

pub(super) fn build(dist: &mut Dist<'_>) -> Result<(), String> {
    let mut text = HEAD.to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for part in crates(dist)?.iter().filter(|part| !part.is_own()) {
        let name = format!("{} {}", part.name, part.version);
        let licences = licence_texts(part)?;
        let missing = if licences.is_empty() { "; the crate contains no licence text" } else { "" };
        text.push_str(&format!("\n  {name}: {}{missing}", part.licence));
        for licence in licences {
            texts.entry(licence).or_default().push(name.clone());
        }
    }
    for (licence, crates) in texts {
        let line = "-".repeat(80);
        text.push_str(&format!("\n\n{line}\n{}\n{line}\n\n{licence}", crates.join(", ")));
    }
    write(&file(dist), text + "\n")
}

/// The crates of the program, without those that only generate code.
pub(super) fn crates(dist: &Dist<'_>) -> Result<Vec<Crate>, String> {
    let mut tree = dist.workspace.cargo();
    tree.args(["tree", "--locked", "--package", "eyelet-cli", "--prefix", "none"])
        .args(["--edges", "normal,no-proc-macro", "--format", "{p}\t{l}"])
        .args(["--target", dist.program.target]);
    parse(&output(&mut tree)?)
}

/// Reads lines such as `memchr v2.7.0<TAB>MIT`, with `(PATH)` after the version of a crate of this workspace.
fn parse(tree: &str) -> Result<Vec<Crate>, String> {
    let parsed = tree.lines().filter(|line| !line.is_empty()).map(|line| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let licence = licence.trim_end_matches(" (*)");
        Some(Crate { name: name.into(), version: version.into(), licence: licence.into() })
    });
    let parsed: Option<Vec<_>> = parsed.collect();
    let mut crates = parsed.ok_or_else(|| format!("cannot read `cargo tree`:\n{tree}"))?;
    crates.sort();
    crates.dedup();
    Ok(crates)
}

impl Crate {
    fn is_own(&self) -> bool {
        self.name == "eyelet" || self.name.starts_with("eyelet-")
    }
}

/// The texts in the source of a crate, as cargo downloaded it.
fn licence_texts(part: &Crate) -> Result<Vec<String>, String> {
    let registries = cargo_home()?.join("registry/src");
    let name = format!("{}-{}", part.name, part.version);
    let registries = fs::read_dir(&registries).map_err(at(&registries))?;
    let mut sources = registries.filter_map(Result::ok).map(|entry| entry.path().join(&name));
    let source = sources.find(|source| source.is_dir());
    let source = source.ok_or_else(|| format!("no source of {name} in cargo's directory"))?;
    let mut texts = Vec::new();
    for file in fs::read_dir(&source).map_err(at(&source))?.filter_map(Result::ok) {
        let upper = file.file_name().to_string_lossy().to_uppercase();
        if file.path().is_file() && NAMES.iter().any(|name| upper.starts_with(name)) {
            let bytes = fs::read(file.path()).map_err(at(&file.path()))?;
            let text = String::from_utf8_lossy(&bytes).replace('\r', "");
            texts.push(text.trim_matches('\n').to_owned());
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_are_read_from_cargos_tree() {
        let tree = "eyelet-cli v0.2.0 (/a b/crates/eyelet-cli)\tMIT OR Apache-2.0\nmemchr v2.7.0\tMIT\n\
                    memchr v2.7.0\tMIT (*)\n";
        let crates = parse(tree).unwrap();
        let names: Vec<_> = crates.iter().map(|part| (part.name.as_str(), part.is_own())).collect();
        assert_eq!(names, [("eyelet-cli", true), ("memchr", false)]);
        assert_eq!((crates[1].version.as_str(), crates[1].licence.as_str()), ("2.7.0", "MIT"));
        assert!(parse("nonsense").is_err());
    }
}
