//! Every rule of SPEC.md and every attack in SECURITY.md names a test, every named test exists, and no rule number is used
//! twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::Workspace;

/// A SPEC.md with fewer rules was not parsed right.
const FEWEST_RULES: usize = 80;
/// The same for the table of attacks in SECURITY.md.
const FEWEST_ATTACKS: usize = 50;

/// The prefix of a crate's integration tests in SPEC.md.
const CRATES: &[(&str, &str)] = &[
    ("eyelet", ""),
    ("eyelet-cli", "cli::"),
    ("eyelet-mcp", "mcp::"),
    ("eyelet-sandbox", "sandbox::"),
    ("properties", "property::"),
];

pub(super) fn check(workspace: &Workspace) -> Result<(), String> {
    let spec = workspace.read("SPEC.md")?;
    let security = workspace.read("SECURITY.md")?;
    let mut tests = BTreeSet::new();
    for (name, prefix) in CRATES {
        let directory = workspace.root.join("crates").join(name);
        for file in rust_files(&directory.join("tests/it"))? {
            let module = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            tests.extend(functions(&file)?.iter().map(|test| format!("{prefix}{module}::{test}")));
        }
        for file in rust_files(&directory.join("src"))? {
            tests.extend(functions(&file)?.iter().map(|test| format!("unit::{test}")));
        }
    }
    let rules = rules(&spec);
    let attacks = attacks(&security);
    let mut complaints = complaints(&rules, &tests);
    complaints.extend(attacks.iter().filter_map(|attack| complaint(attack, &tests)));
    if attacks.len() < FEWEST_ATTACKS {
        return Err(format!(
            "found only {} attacks in SECURITY.md; expected at least {FEWEST_ATTACKS}",
            attacks.len()
        ));
    }
    if rules.len() < FEWEST_RULES {
        return Err(format!(
            "found only {} rules in SPEC.md; expected at least {FEWEST_RULES}",
            rules.len()
        ));
    }
    if complaints.is_empty() {
        println!("   {} rules, {} attacks", rules.len(), attacks.len());
        return Ok(());
    }
    Err(complaints.join("\n"))
}

/// The rules: a number, and the text up to the next rule.
fn rules(spec: &str) -> Vec<(&str, &str)> {
    let rules = spec.split("\n- **").skip(1).filter_map(|rule| rule.split_once("** "));
    rules.map(|(number, text)| (number, text.split("\n\n").next().unwrap_or(text))).collect()
}

fn complaints(rules: &[(&str, &str)], tests: &BTreeSet<String>) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut numbers = BTreeSet::new();
    for (number, text) in rules {
        if !numbers.insert(number) {
            complaints.push(format!("{number} is used twice"));
        }
        let mut named =
            text.split('`').filter(|name| name.contains("::") && !name.contains(' ')).peekable();
        if named.peek().is_none() {
            complaints.push(format!("{number} names no test"));
        }
        let missing = named.filter(|name| !tests.contains(*name));
        complaints
            .extend(missing.map(|name| format!("{number} names {name}, which does not exist")));
    }
    complaints
}

/// The attacks: the rows of their table.
fn attacks(security: &str) -> Vec<&str> {
    let table = security.split("| attack |").nth(1).unwrap_or_default();
    let rows = table.lines().skip(2);
    rows.take_while(|row| row.starts_with('|')).collect()
}

/// SECURITY.md names tests without the prefix of their crate.
fn complaint(attack: &str, tests: &BTreeSet<String>) -> Option<String> {
    let cell = attack.trim_end_matches([' ', '|']).rsplit('|').next().unwrap_or_default();
    let Some(test) = cell.split('`').nth(1) else {
        return Some(format!("SECURITY.md names no test in {attack}"));
    };
    let end = format!("::{test}");
    let exists = tests.iter().any(|own| own == test || own.ends_with(&end));
    (!exists).then(|| format!("SECURITY.md names {test}, which does not exist"))
}

fn rust_files(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    if !directory.is_dir() {
        return Ok(files);
    }
    for entry in fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// The names of the test functions in a file.
fn functions(file: &Path) -> Result<Vec<String>, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(tests_in(&text).map(str::to_owned).collect())
}

/// The functions below `#[test]`; other attributes may stand between.
fn tests_in(text: &str) -> impl Iterator<Item = &str> {
    text.split("#[test]\n").skip(1).filter_map(|rest| {
        let mut lines = rest.lines().map(str::trim_start);
        let function = lines.find(|line| !line.starts_with("#["))?;
        function.strip_prefix("fn ")?.split('(').next()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_without_an_existing_test_are_reported() {
        let spec = "# S\n\n- **A1** Holds. `a::holds`\n- **A2** Names none.\n- **A1** Twice. `a::gone`\n\n## Next\n";
        let tests = BTreeSet::from(["a::holds".to_owned()]);
        assert_eq!(
            complaints(&rules(spec), &tests),
            ["A2 names no test", "A1 is used twice", "A1 names a::gone, which does not exist"]
        );
    }

    #[test]
    fn attacks_without_an_existing_test_are_reported() {
        let security = "| attack | T1 | test |\n|---|---|---|\n| a | b | `m::holds` |\n| c `d` | e | `gone` (eyelet) |\n| f | g | |\n\n| h | i |\n";
        let tests = BTreeSet::from(["sandbox::m::holds".to_owned()]);
        let attacks = attacks(security);
        let complaints: Vec<_> =
            attacks.iter().filter_map(|attack| complaint(attack, &tests)).collect();
        let gone = "SECURITY.md names gone, which does not exist";
        assert_eq!(complaints, [gone, "SECURITY.md names no test in | f | g | |"]);
    }

    #[test]
    fn tests_are_found_with_their_attributes() {
        let text = "#[test]\nfn one() {}\nfn helper() {}\n    #[test]\n    #[ignore = \"slow\"]\n    fn two() {}\n";
        assert_eq!(tests_in(text).collect::<Vec<_>>(), ["one", "two"]);
    }
}
