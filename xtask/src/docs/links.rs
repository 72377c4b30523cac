//! Checks the links in the pages of the repository: to files, and to headings of pages. Addresses of other
//! machines are not checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::workspace::Workspace;

/// The table of contents of the site.
pub(super) const SUMMARY: &str = "docs/SUMMARY.md";

/// The test that checks the code blocks of pages. It names each page that has some.
const TEST_OF_CODE: &str = "crates/eyelet-cli/tests/it/doc_pages.rs";

/// A repository with fewer links was not parsed right.
const FEWEST_LINKS: usize = 100;

/// The links and the headings of a page.
#[derive(Debug, Default)]
struct Page {
    links: Vec<Link>,
    anchors: BTreeSet<String>,
    has_code: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// The files of the site.
pub(super) struct SiteFiles {
    /// The pages in [`SUMMARY`].
    pub(super) chapters: BTreeSet<PathBuf>,
    /// What the chapters link to beside each other.
    pub(super) others: BTreeSet<PathBuf>,
}

/// Fails with a list of all links that lead nowhere.
pub(crate) fn check(workspace: &Workspace) -> Result<(), String> {
    site_files(workspace).map(|_| ())
}

/// Checks all pages, and finds the files of the site.
pub(super) fn site_files(workspace: &Workspace) -> Result<SiteFiles, String> {
    let mut pages = BTreeMap::new();
    for path in tracked_pages(workspace)? {
        pages.insert(path.clone(), parse(&workspace.read(&path)?));
    }
    let exists = |path: &Path| {
        let path = workspace.root.join(path);
        path.is_dir().then_some(Kind::Directory).or(path.is_file().then_some(Kind::File))
    };
    let (files, mut complaints) = examine(&pages, exists);
    complaints.extend(unchecked_code(&pages, &workspace.read(TEST_OF_CODE)?));
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    if links < FEWEST_LINKS {
        return Err(format!("found only {links} links; expected at least {FEWEST_LINKS}"));
    }
    if !complaints.is_empty() {
        return Err(complaints.join("\n"));
    }
    println!("   {links} links in {} pages", pages.len());
    Ok(files)
}

/// The Markdown files that git tracks or would track.
fn tracked_pages(workspace: &Workspace) -> Result<Vec<PathBuf>, String> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"]);
    let output = git.current_dir(&workspace.root).output();
    let output = output.map_err(|error| format!("cannot start git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let names = String::from_utf8_lossy(&output.stdout);
    let names = names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from);
    // A page that was deleted but not committed is still listed.
    Ok(names.filter(|name| workspace.root.join(name).is_file()).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File,
}

/// The files of the site, and everything that is wrong.
fn examine(
    pages: &BTreeMap<PathBuf, Page>,
    kind_of: impl Fn(&Path) -> Option<Kind>,
) -> (SiteFiles, Vec<String>) {
    let mut complaints = Vec::new();
    let summary = Path::new(SUMMARY);
    let links = pages.get(summary).map(|page| page.links.as_slice()).unwrap_or_default();
    let chapters: BTreeSet<_> =
        links.iter().filter_map(|link| resolve(summary, &link.target).ok()).collect();
    let in_docs = pages.keys().filter(|path| path.starts_with("docs") && *path != summary);
    let missing = in_docs.filter(|path| !chapters.contains(*path));
    complaints.extend(missing.map(|path| format!("{SUMMARY} does not list {}", path.display())));
    let mut others = BTreeSet::new();
    for (path, page) in pages {
        let is_chapter = chapters.contains(path);
        for link in &page.links {
            let complaint = |what: &str| {
                format!("{}:{}: link to `{}`: {what}", path.display(), link.line, link.target)
            };
            if link.target.contains("://") || link.target.starts_with("mailto:") {
                continue;
            }
            let file = match resolve(path, &link.target) {
                Ok(file) => file,
                Err(reason) => {
                    complaints.push(complaint(reason));
                    continue;
                }
            };
            let Some(kind) = kind_of(&file) else {
                complaints.push(complaint("no such file"));
                continue;
            };
            let target = pages.get(&file);
            if let Some((_, anchor)) = link.target.split_once('#')
                && !target.is_some_and(|page| page.anchors.contains(anchor))
            {
                complaints.push(complaint("no such heading"));
            }
            if !is_chapter {
                continue;
            }
            match (kind, target) {
                (Kind::Directory, _) => {
                    complaints
                        .push(complaint("a directory has no page on the site; link to a file"));
                }
                (Kind::File, Some(_)) if !chapters.contains(&file) => {
                    complaints.push(complaint(&format!("not on the site; add it to {SUMMARY}")));
                }
                (Kind::File, Some(_)) => {}
                (Kind::File, None) => {
                    others.insert(file);
                }
            }
        }
    }
    (SiteFiles { chapters, others }, complaints)
}

/// The pages for users with code blocks that the test does not check.
fn unchecked_code(pages: &BTreeMap<PathBuf, Page>, test: &str) -> Vec<String> {
    let is_unchecked = |(path, page): &(&PathBuf, &Page)| {
        let is_for_users = path.starts_with("docs") || *path == Path::new("README.md");
        is_for_users && page.has_code && !test.contains(&format!("\"{}\"", path.display()))
    };
    let complaint = |(path, _): (&PathBuf, &Page)| {
        format!("{} has code blocks; add it to {TEST_OF_CODE}", path.display())
    };
    pages.iter().filter(is_unchecked).map(complaint).collect()
}

/// The path in the repository to which a link leads.
pub(super) fn resolve(page: &Path, target: &str) -> Result<PathBuf, &'static str> {
    let target = target.split('#').next().unwrap_or_default();
    if target.is_empty() {
        return Ok(page.to_owned());
    }
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::CurDir => {}
            Component::ParentDir if path.pop() => {}
            Component::ParentDir => return Err("outside the repository"),
            Component::RootDir | Component::Prefix(_) => return Err("not a relative path"),
        }
    }
    Ok(path)
}

fn parse(text: &str) -> Page {
    let mut page = Page::default();
    let mut heading: Option<String> = None;
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                let before = text.get(..range.start).unwrap_or_default();
                let line = before.matches('\n').count() + 1;
                page.links.push(Link { line, target: dest_url.into_string() });
            }
            Event::Start(Tag::CodeBlock(_)) => page.has_code = true,
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let anchor = anchor(&heading.take().unwrap_or_default());
                let mut unique = anchor.clone();
                let mut number = 0;
                while !page.anchors.insert(unique) {
                    number += 1;
                    unique = format!("{anchor}-{number}");
                }
            }
            Event::Text(words) | Event::Code(words) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&words);
                }
            }
            _ => {}
        }
    }
    page
}

/// The anchor that mdBook and the common hosts of repositories give to a heading.
fn anchor(heading: &str) -> String {
    let kept =
        |character: &char| character.is_alphanumeric() || [' ', '-', '_'].contains(character);
    heading.trim().to_lowercase().chars().filter(kept).collect::<String>().replace(' ', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The complaints about pages and other files.
    fn complaints(pages: &[(&str, &str)], files: &[&str]) -> Vec<String> {
        let parsed = pages.iter().map(|(path, text)| (PathBuf::from(path), parse(text))).collect();
        let kind_of = |path: &Path| {
            let name = path.to_str()?;
            let below = format!("{name}/");
            let mut all = pages.iter().map(|(path, _)| *path).chain(files.iter().copied());
            let is_file = all.clone().any(|file| file == name);
            let kind = if is_file { Some(Kind::File) } else { None };
            kind.or(all.any(|file| file.starts_with(&below)).then_some(Kind::Directory))
        };
        examine(&parsed, kind_of).1
    }

    #[test]
    fn links_that_lead_nowhere_are_reported() {
        let summary = ("docs/SUMMARY.md", "[a](a.md)\n[s](../S.md)\n");
        let a = "# A `b`: c?\n# Two\n# Two\n[1](#a-b-c) [2](#two-1) [3](../S.md#s) [4](x.rs)\n\
                 [5](gone.md)\n[6](#gone) `[7](no-link)`\n\n```\n[8](no-link)\n```\n[9]\n[10](https://a.example/x)\n\n[9]: ../../up\n";
        let found = complaints(&[summary, ("docs/a.md", a), ("S.md", "# S")], &["docs/x.rs"]);
        assert_eq!(
            found,
            [
                "docs/a.md:5: link to `gone.md`: no such file",
                "docs/a.md:6: link to `#gone`: no such heading",
                "docs/a.md:11: link to `../../up`: outside the repository",
            ]
        );
    }

    #[test]
    fn pages_with_code_that_no_test_checks_are_reported() {
        let texts = [("README.md", "`a`"), ("S.md", "```\n```"), ("docs/a.md", "```\n```")];
        let pages = texts.map(|(path, text)| (PathBuf::from(path), parse(text))).into();
        let complaint = format!("docs/a.md has code blocks; add it to {TEST_OF_CODE}");
        assert_eq!(unchecked_code(&pages, "\"docs/a\""), [complaint]);
        assert!(unchecked_code(&pages, "\"docs/a.md\"").is_empty());
    }

    #[test]
    fn chapters_link_to_files_and_chapters_only() {
        let summary = ("docs/SUMMARY.md", "[a](a.md)");
        let pages = [
            summary,
            ("docs/a.md", "[1](../d) [2](../b.md)"),
            ("b.md", "[3](d)"),
            ("docs/c.md", ""),
        ];
        assert_eq!(
            complaints(&pages, &["d/file"]),
            [
                "docs/SUMMARY.md does not list docs/c.md",
                "docs/a.md:1: link to `../d`: a directory has no page on the site; link to a file",
                "docs/a.md:1: link to `../b.md`: not on the site; add it to docs/SUMMARY.md",
            ]
        );
    }
}
