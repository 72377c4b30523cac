//! What mdBook reads, and a check of what it wrote.
//!
//! The site has the directories of the repository, so that links work in both without changes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::links::{SUMMARY, SiteFiles, resolve};
use crate::workspace::Workspace;

/// A site with fewer links was not parsed right.
const FEWEST_LINKS: usize = 1000;

/// Copies the chapters, and the files that they link to, below `book`.
pub(super) fn copy_sources(
    workspace: &Workspace,
    files: &SiteFiles,
    book: &Path,
) -> Result<(), String> {
    if book.exists() {
        fs::remove_dir_all(book).map_err(failed(book))?;
    }
    let source = book.join("source");
    for path in files.chapters.iter().chain(&files.others) {
        let copy = source.join(path);
        let directory = copy.parent().unwrap_or(&source);
        fs::create_dir_all(directory).map_err(failed(directory))?;
        fs::copy(workspace.root.join(path), &copy).map_err(failed(path))?;
    }
    for name in ["book.toml", "site.css"] {
        let settings = Path::new("docs").join(name);
        fs::copy(workspace.root.join(&settings), book.join(name)).map_err(failed(&settings))?;
    }
    let summary = source.join("SUMMARY.md");
    fs::write(&summary, from_the_top(&workspace.read(SUMMARY)?)).map_err(failed(&summary))
}

fn failed(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// The table of contents with paths from the top of the repository.
fn from_the_top(summary: &str) -> String {
    let mut parts = summary.split("](");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let target = resolve(Path::new(SUMMARY), target).unwrap_or_default();
        text.push_str(&format!("]({}){rest}", target.display()));
    }
    text
}

/// The attributes of a page that lead somewhere, and its anchors.
#[derive(Default)]
struct Html {
    links: BTreeSet<String>,
    anchors: BTreeSet<String>,
}

/// Fails with a list of all links in the site that lead nowhere.
pub(super) fn check_html(site: &Path) -> Result<(), String> {
    let mut files = BTreeSet::new();
    collect_files(site, &mut files)?;
    let mut pages = BTreeMap::new();
    // The links of the page for wrong addresses start at the top of a server.
    let is_page = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "html");
    for path in files.iter().filter(is_page).filter(|path| !path.ends_with("404.html")) {
        let text = fs::read_to_string(path).map_err(failed(path))?;
        pages.insert(path.strip_prefix(site).unwrap_or(path).to_owned(), parse(&text));
    }
    let files: BTreeSet<_> = files.iter().filter_map(|path| path.strip_prefix(site).ok()).collect();
    let complaints = complaints(&pages, &files);
    let links: usize = pages.values().map(|page| page.links.len()).sum();
    if links < FEWEST_LINKS {
        return Err(format!(
            "found only {links} links in {}; expected at least {FEWEST_LINKS}",
            site.display()
        ));
    }
    if complaints.is_empty() {
        println!("   {links} links in {} pages of the site", pages.len());
        return Ok(());
    }
    Err(complaints.join("\n"))
}

fn complaints(pages: &BTreeMap<PathBuf, Html>, files: &BTreeSet<&Path>) -> Vec<String> {
    let mut complaints = Vec::new();
    for (path, page) in pages {
        for link in page.links.iter().filter(|link| !link.contains(':')) {
            let complaint = |what: &str| format!("{}: link to `{link}`: {what}", path.display());
            let target = resolve(path, link).ok().filter(|target| files.contains(target.as_path()));
            let Some(target) = target else {
                complaints.push(complaint("no such file"));
                continue;
            };
            let anchor = link.split_once('#').map(|(_, anchor)| anchor);
            let anchors = pages.get(&target).map(|page| &page.anchors);
            if let (Some(anchor), Some(anchors)) = (anchor, anchors)
                && !anchor.is_empty()
                && !anchors.contains(anchor)
            {
                complaints.push(complaint("no such anchor"));
            }
        }
    }
    complaints
}

fn collect_files(directory: &Path, files: &mut BTreeSet<PathBuf>) -> Result<(), String> {
    for entry in fs::read_dir(directory).map_err(failed(directory))? {
        let path = entry.map_err(failed(directory))?.path();
        if path.is_dir() {
            collect_files(&path, files)?;
        } else {
            files.insert(path);
        }
    }
    Ok(())
}

/// mdBook writes all attributes in double quotes, and escapes double quotes in text.
fn parse(text: &str) -> Html {
    let values = |name: &str| -> BTreeSet<String> {
        let start = format!(" {name}=\"");
        let values = text.split(start.as_str()).skip(1).filter_map(|rest| rest.split('"').next());
        values.map(|value| value.replace("&amp;", "&")).collect()
    };
    let mut links = values("href");
    links.extend(values("src"));
    Html { links, anchors: values("id") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_contents_starts_at_the_top() {
        assert_eq!(
            from_the_top("- [A](a.md)\n  - [B](../b/c.md)\n"),
            "- [A](docs/a.md)\n  - [B](b/c.md)\n"
        );
    }

    #[test]
    fn broken_links_of_the_site_are_reported() {
        let page = r##"<a href="b.html#there"><a href="b.html#gone"><img src="x.svg"><a href="https://a.example/">"##;
        let other = r#"<h1 class="c" id="there">"#;
        let names = ["a.html", "b.html"].map(PathBuf::from);
        let pages = names.iter().cloned().zip([page, other].map(parse)).collect();
        let files = names.iter().map(PathBuf::as_path).collect();
        assert_eq!(
            complaints(&pages, &files),
            [
                "a.html: link to `b.html#gone`: no such anchor",
                "a.html: link to `x.svg`: no such file"
            ]
        );
    }
}
