//! Any pattern and glob ends in bounded time with a consistent result, or with an error.

use std::collections::BTreeSet;
use std::path::Path;

use eyelet::tools::{FindFiles, FindFilesArgs, Found, GrepFiles, GrepFilesArgs, Ignored, Show};
use eyelet::{ErrorCode, SandboxPolicy, Tool as _, ToolError, TurnContext};
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use testkit::{Choices, INCLUDES, PATTERNS, TempTree};

use crate::target::{Check, Target};

/// The target.
pub const TARGET: Target = Target { name: "patterns", start };

const TREE: &str = r"
    a/b/foo.rs = needle\nfoo bar\n
    a/b/x.c = x\ty\n123\n
    src/main.rs = fn main() {}\nneedle\r\n
    src/lib/mod.rs = näh\nStraße ΣΑΣ 日本語\n
    [ab]/{x} = a needle here\n\nneedle
    .hidden/f.txt = needle\n
    ünï.txt = Needle\nNEEDLE\n
    x y/-dash = \0needle\n
    empty =
";

const PIECES: [&str; 24] = [
    "a", "needle", "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", ".", r"\b", r"\pL",
    "{2,9}", "(?i)", "[^a-z]", r"\n", "**", "/", "!",
];

fn start() -> Check {
    let tree = TempTree::new(TREE);
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Off).expect("the path is absolute");
    Box::new(move |choices| match choices.bool() {
        true => check_pattern(&turn, choices),
        false => check_glob(&turn, tree.path(), choices),
    })
}

/// A pattern or glob: a common one, one of pieces, or any text.
fn text(common: &[&str], choices: &mut Choices<'_>) -> String {
    match choices.u8(0..4) {
        0 => (*choices.pick(common)).to_owned(),
        1 => String::from_utf8_lossy(&choices.bytes(200)).into_owned(),
        _ => {
            let mut text = String::new();
            for _ in 0..choices.usize(1..12) {
                let times = if choices.u8(..) > 250 { choices.usize(1..300) } else { 1 };
                text += &choices.pick(&PIECES).repeat(times);
            }
            text
        }
    }
}

/// The three forms of a result agree.
fn check_pattern(turn: &TurnContext, choices: &mut Choices<'_>) {
    let pattern = text(PATTERNS, choices);
    let include = (choices.u8(0..4) == 3).then(|| text(INCLUDES, choices));
    let grep = |show| {
        let (show, limit) = (Some(show), Some(2000));
        GrepFiles.run(
            GrepFilesArgs { include: include.clone(), show, limit, ..GrepFilesArgs::new(&pattern) },
            turn,
        )
    };
    let files = match grep(Show::Files) {
        Ok(report) => report.files,
        Err(error) => {
            return check_error(&error);
        }
    };
    // A pattern may need 100 MiB when compiled, and a second for that.
    if pattern.len() > 100 || pattern.matches('{').count() > 3 {
        return;
    }
    let of_files: BTreeSet<String> = files.into_iter().collect();
    let mut counted = BTreeSet::new();
    let mut count = 0;
    match grep(Show::Count).expect("the pattern is valid").found {
        Found::Count(counts) => {
            for file in counts {
                assert!(file.lines > 0);
                count += file.lines;
                counted.insert(file.path);
            }
        }
        other => panic!("not counts: {other:?}"),
    }
    assert_eq!(counted, of_files);
    match grep(Show::Lines).expect("the pattern is valid").found {
        Found::Lines(page) => {
            let found: BTreeSet<String> = page.files.iter().map(|file| file.path.clone()).collect();
            assert_eq!(found, of_files);
            let lines = page.files.iter().map(|file| file.matches.len() as u64 + file.more);
            assert_eq!(lines.sum::<u64>(), count);
        }
        other => panic!("not lines: {other:?}"),
    }
}

/// The files that match a glob are those that the walk of `rg` finds with it.
fn check_glob(turn: &TurnContext, top: &Path, choices: &mut Choices<'_>) {
    let glob = text(INCLUDES, choices);
    let args = FindFilesArgs {
        ignored: Some(Ignored::Show),
        limit: Some(2000),
        ..FindFilesArgs::new(&glob)
    };
    let found = match FindFiles.run(args, turn) {
        Ok(report) => report.files.into_iter().collect(),
        Err(error) => return check_error(&error),
    };
    let glob = glob.trim();
    let escaped = if glob.starts_with('#') { format!("\\{glob}") } else { glob.to_owned() };
    let overrides = OverrideBuilder::new(top).add(&escaped).and_then(|builder| builder.build());
    let overrides = overrides.unwrap_or_else(|error| panic!("{glob:?}: {error}"));
    let walk = WalkBuilder::new(top).standard_filters(false).overrides(overrides).build();
    let expected: BTreeSet<String> = walk
        .map(|entry| entry.expect("the tree can be read"))
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.path().to_str().expect("the names are UTF-8").to_owned())
        .collect();
    let found: BTreeSet<String> = found;
    assert_eq!(found, expected, "{glob:?}");
}

fn check_error(error: &ToolError) {
    assert!(matches!(error.code, ErrorCode::InvalidInput | ErrorCode::TooLarge), "{error:?}");
    assert!(!error.message.is_empty());
}
