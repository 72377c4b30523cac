//! Checks that the modules of each crate import each other without cycles.
//!
//! Reads the sources as text: `use` declarations and inline paths that start with `crate`, `super`, `self` or
//! the name of a child module. Code under `#[cfg(test)]` and `*_tests.rs` files do not count, nor does a
//! parent that only declares `mod child;`. Imports through macros are not seen.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

/// The module that `lib.rs` or `main.rs` holds.
const CRATE_ROOT: &str = "crate";

/// Which modules each module imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

/// Fails if modules of any crate in `crates/` import each other in a cycle, and names each cycle.
pub(super) fn check(root: &Path) -> Result<(), String> {
    let mut found = Vec::new();
    let mut crates: Vec<_> = entries(&root.join("crates"))?;
    crates.sort();
    for folder in crates.iter().filter(|folder| folder.join("src").is_dir()) {
        let src = folder.join("src");
        let mut modules = BTreeMap::new();
        read_modules(&src, &src, &mut modules)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.extend(cycles(&modules).into_iter().map(|cycle| format!("{name}: {cycle}")));
    }
    match found.is_empty() {
        true => Ok(()),
        false => Err(format!("modules import each other in a cycle:\n  {}", found.join("\n  "))),
    }
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error| format!("cannot read {}: {error}", folder.display());
    let entries = fs::read_dir(folder).map_err(failed)?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(failed)).collect()
}

/// Adds the source of every module below `folder`, by the module's name.
fn read_modules(
    src: &Path,
    folder: &Path,
    modules: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    for path in entries(folder)? {
        if path.is_dir() {
            read_modules(src, &path, modules)?;
            continue;
        }
        let relative = path.strip_prefix(src).unwrap_or(&path).to_string_lossy().into_owned();
        if let Some(name) = module_name(&relative) {
            let source = fs::read_to_string(&path)
                .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            modules.insert(name, source);
        }
    }
    Ok(())
}

/// The module that a file of `src/` holds: `crate::a::b` for `a/b.rs` and `a/b/mod.rs`.
fn module_name(file: &str) -> Option<String> {
    let name = file.strip_suffix(".rs").filter(|name| !name.ends_with("_tests"))?;
    let name = name.strip_suffix("/mod").unwrap_or(name);
    Some(match name {
        "lib" | "main" => CRATE_ROOT.to_owned(),
        name => format!("{CRATE_ROOT}::{}", name.replace('/', "::")),
    })
}

/// The import cycles between the modules of one crate: a shortest one for each group of modules that all import
/// each other.
fn cycles(modules: &BTreeMap<String, String>) -> Vec<String> {
    let imports: Imports = modules
        .iter()
        .map(|(name, source)| (name.clone(), imports(name, source, modules)))
        .collect();
    let mut reported = BTreeSet::new();
    let mut cycles = Vec::new();
    for module in imports.keys() {
        if reported.contains(module) {
            continue;
        }
        if let Some(cycle) = shortest_cycle(module, &imports) {
            let group: Vec<_> = imports
                .keys()
                .filter(|other| {
                    reaches(module, other, &imports) && reaches(other, module, &imports)
                })
                .cloned()
                .collect();
            let others = group.len() + 1 - cycle.len();
            let mut text = cycle.join(" -> ");
            if others > 0 {
                text.push_str(&format!(
                    " (part of a group of {}: {})",
                    group.len(),
                    group.join(", ")
                ));
            }
            cycles.push(text);
            reported.extend(group);
        }
    }
    cycles
}

/// The shortest chain of imports from `module` back to itself.
fn shortest_cycle(module: &str, imports: &Imports) -> Option<Vec<String>> {
    let mut queue = VecDeque::from([vec![module.to_owned()]]);
    let mut seen = BTreeSet::new();
    while let Some(chain) = queue.pop_front() {
        for next in imports.get(chain.last()?).into_iter().flatten() {
            let mut longer = chain.clone();
            longer.push(next.clone());
            if next == module {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                queue.push_back(longer);
            }
        }
    }
    None
}

fn reaches(from: &str, to: &str, imports: &Imports) -> bool {
    let mut todo = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(module) = todo.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                todo.push(next);
            }
        }
    }
    false
}

/// The modules that `module` imports.
fn imports(module: &str, source: &str, modules: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code = without_tests(&without_comments(source));
    let mut paths = Vec::new();
    let mut rest = code.as_str();
    let mut inline = String::new();
    while let Some(start) = next_use(rest) {
        let (before, statement) = rest.split_at(start);
        let end = statement.find(';').unwrap_or(statement.len());
        inline.push_str(before);
        expand("", statement["use".len()..end].trim(), &mut paths);
        rest = &statement[end..];
    }
    inline.push_str(rest);
    paths.extend(inline_paths(&inline));
    let mut found: BTreeSet<_> =
        paths.iter().filter_map(|path| resolve(module, path, modules)).collect();
    found.remove(module);
    found
}

/// Where the next `use` declaration starts.
fn next_use(code: &str) -> Option<usize> {
    code.match_indices("use ").map(|(at, _)| at).find(|at| {
        let before = code[..*at].trim_end_matches([' ', '\t']);
        before.is_empty()
            || before.ends_with(['\n', '}', ';', '{', ')', ']'])
            || before.ends_with("pub")
    })
}

/// Adds every path of a `use` tree, with its groups written out.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let Some((head, group)) = tree.split_once('{') else {
        let path = tree.split(" as ").next().unwrap_or(tree).trim();
        paths.push(format!("{prefix}{path}"));
        return;
    };
    let prefix = format!("{prefix}{}", head.trim());
    let group = group.trim_end().strip_suffix('}').unwrap_or(group);
    let (mut depth, mut start) = (0_usize, 0);
    for (at, character) in group.char_indices().chain([(group.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                let part = group[start..at].trim();
                if !part.is_empty() {
                    expand(&prefix, part, paths);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
}

/// The paths of two segments and more that stand in the code.
fn inline_paths(code: &str) -> Vec<String> {
    let is_path = |character: char| character.is_alphanumeric() || "_:".contains(character);
    code.split(|character| !is_path(character))
        .filter(|word| word.contains("::") && !word.starts_with(':'))
        .map(|word| word.trim_end_matches(':').to_owned())
        .collect()
}

/// The module that a path in `module` leads to, if it is one of this crate.
fn resolve(module: &str, path: &str, modules: &BTreeMap<String, String>) -> Option<String> {
    let mut segments = path.split("::").map(str::trim).peekable();
    let mut here = match segments.next()? {
        CRATE_ROOT => CRATE_ROOT.to_owned(),
        "self" => module.to_owned(),
        "super" => parent(module)?,
        first => {
            let child = format!("{module}::{first}");
            modules.contains_key(&child).then_some(child)?
        }
    };
    while segments.next_if_eq(&"super").is_some() {
        here = parent(&here)?;
    }
    for segment in segments {
        let child = format!("{here}::{segment}");
        if !modules.contains_key(&child) {
            break;
        }
        here = child;
    }
    Some(here)
}

fn parent(module: &str) -> Option<String> {
    module.rsplit_once("::").map(|(parent, _)| parent.to_owned())
}

fn without_comments(source: &str) -> String {
    source
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Removes each item that only tests compile.
fn without_tests(code: &str) -> String {
    let mut kept = String::new();
    let mut rest = code;
    while let Some((before, item)) = rest.split_once("#[cfg(test)]") {
        kept.push_str(before);
        rest = &item[item_end(item)..];
    }
    kept + rest
}

/// Where the first item ends: at its semicolon, or at the brace that closes its body.
fn item_end(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, character) in code.char_indices() {
        match character {
            '{' => depth += 1,
            '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && !code[..at].trim_start().starts_with("use ") {
                    return at + 1;
                }
            }
            ';' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let modules = files
            .iter()
            .filter_map(|(file, source)| Some((module_name(file)?, (*source).to_owned())))
            .collect();
        cycles(&modules)
    }

    #[test]
    fn a_tree_of_imports_has_no_cycle() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\npub use a::A;"),
            ("a.rs", "use crate::b::{B, inner::C};"),
            ("b/mod.rs", "mod inner;\npub use inner::C;"),
            ("b/inner.rs", "use std::fmt;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn a_cycle_is_named() {
        let files = [
            ("lib.rs", "mod a;\nmod b;\nmod c;"),
            ("a.rs", "use crate::{b::{self, B}, z};"),
            ("b.rs", "use super::c;"),
            ("c.rs", "fn f() -> crate::a::A { todo!() }"),
        ];
        assert_eq!(found(&files), ["crate::a -> crate::b -> crate::c -> crate::a"]);
    }

    #[test]
    fn a_child_that_uses_its_parent_is_a_cycle_if_the_parent_uses_the_child() {
        let child = ("a/b.rs", "use super::A;");
        let declares = ("a/mod.rs", "mod b;\npub struct A;");
        assert_eq!(found(&[declares, child]), [""; 0]);
        let uses = ("a/mod.rs", "mod b;\npub struct A;\nfn f() { b::g() }");
        assert_eq!(found(&[uses, child]), ["crate::a -> crate::a::b -> crate::a"]);
    }

    #[test]
    fn tests_and_comments_do_not_count() {
        let a = "// use crate::b::B;\nuse crate::c::C;\n#[cfg(test)]\nmod tests {\n use crate::b::B;\n}\n";
        let files = [
            ("a.rs", a),
            ("b.rs", "#[cfg(test)]\nuse crate::c::{C, D};\nuse crate::a::A;"),
            ("c.rs", ""),
            ("a_tests.rs", "use crate::b::B;"),
        ];
        assert_eq!(found(&files), [""; 0]);
    }

    #[test]
    fn every_group_of_modules_is_reported_once() {
        let files = [
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;\nuse crate::c::C;"),
            ("c.rs", "use crate::b::B;"),
            ("d.rs", "use crate::e::E;"),
            ("e.rs", "use crate::d::D;"),
        ];
        let group = "(part of a group of 3: crate::a, crate::b, crate::c)";
        assert_eq!(
            found(&files),
            [
                format!("crate::a -> crate::b -> crate::a {group}"),
                "crate::d -> crate::e -> crate::d".to_owned()
            ]
        );
    }

    #[test]
    fn use_trees_are_written_out() {
        let mut paths = Vec::new();
        expand("", "crate::{a::{self, B}, c as d,\n e}", &mut paths);
        assert_eq!(paths, ["crate::a::self", "crate::a::B", "crate::c", "crate::e"]);
    }
}
