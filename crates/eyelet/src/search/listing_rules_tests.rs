use std::fs::File;

use testkit::TempTree;

use super::*;
use crate::limits::TIME_LIMIT;
use crate::sandbox_policy::SandboxPolicy;

#[test]
fn a_listing_that_skips_ignored_entries_fails_with_the_systems_error() {
    let tree = TempTree::new("file");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).unwrap();
    let rules = ListingRules::new(&turn, tree.path());
    let unreadable = Directory::from_handle(File::open(tree.path().join("file")).unwrap().into());
    let read =
        rules.read(&unreadable, &rules.above(), &[], &turn.stop_check(TIME_LIMIT), |_, _| {});
    assert_eq!(read.map(drop).unwrap_err().kind(), io::ErrorKind::NotADirectory);
}
