//! `cargo xtask docs`: the pages of `docs/SUMMARY.md` as a static site.

mod links;
mod site;

pub(crate) use links::check;

use crate::packages;
use crate::workspace::{Workspace, run};

const MDBOOK_VERSION: &str = "0.5.4";

/// Builds the site in `target/book/html`.
pub(crate) fn build(workspace: &Workspace, words: &[&str]) -> Result<(), String> {
    if !words.is_empty() {
        return Err(format!("unknown arguments: {}; run `cargo xtask docs`", words.join(" ")));
    }
    let book = workspace.root.join("target/book");
    let files = links::site_files(workspace)?;
    site::copy_sources(workspace, &files, &book)?;
    // Of its features only the search: nobody watches or serves the site with it.
    let features = ["--no-default-features", "--features", "search"];
    let mdbook = packages::install_crate(workspace, "mdbook", MDBOOK_VERSION, "mdbook", &features)?;
    run(workspace.command(mdbook).arg("build").arg(&book))?;
    site::check_html(&book.join("html"))?;
    println!("The site is in {}", book.join("html/index.html").display());
    Ok(())
}
