//! A search skips what the walk of `rg` skips, in a tree with any ignore files.

use std::collections::BTreeSet;
use std::path::Path;

use eyelet::tools::{FindFiles, FindFilesArgs};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use ignore::WalkBuilder;
use testkit::RandomRepo;

use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "ignore_files", start };

fn start() -> Check {
    Box::new(|choices| {
        let bytes = choices.rest();
        let repo = RandomRepo::chosen(testkit::Choices::from_bytes(&bytes), false);
        // Without variables, there are no excludes of the user.
        let turn = TurnContext::new(repo.root(), SandboxPolicy::Off).expect("the path is absolute");
        let args = FindFilesArgs { limit: Some(2000), ..FindFilesArgs::new("*") };
        let report = FindFiles.run(args, &turn).expect("the tree can be searched");
        let found: BTreeSet<String> = report.files.into_iter().collect();
        assert_eq!(found, walked(repo.root()), "{}", repo.describe());
    })
}

/// The files that `rg --files` lists.
fn walked(top: &Path) -> BTreeSet<String> {
    let walk =
        WalkBuilder::new(top).git_global(false).add_custom_ignore_filename(".rgignore").build();
    // Like `rg`, skip what cannot be read.
    walk.filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        // Names that are not UTF-8 are only counted.
        .filter_map(|entry| entry.path().to_str().map(str::to_owned))
        .collect()
}
