//! A reply never exceeds its budget and always shows something; joined pages are complete.

use std::sync::Arc;

use eyelet::{
    FunctionCallError, OutputStore, ReplyBudget, SandboxPolicy, ToolInvocation, ToolRouter,
    TurnContext,
};
use serde_json::{Value, json};
use testkit::{TempTree, each_seed};

/// The smallest budget, larger ones, and those of real clients.
const BUDGETS: [usize; 8] = [4096, 5000, 11_500, 20_000, 34_000, 39_000, 49_000, 50_000];

fn turn(tree: &TempTree, bytes: usize) -> TurnContext {
    let path = std::env::var_os("PATH").map(|path| ("PATH", path));
    TurnContext::new(tree.path(), SandboxPolicy::Full)
        .unwrap()
        .with_environment(path.into_iter().collect())
        .with_output_store(Arc::new(OutputStore::session(tree.path())))
        .with_reply_budget(ReplyBudget::new(bytes))
}

/// The reply; checks its size.
fn reply(tool: &str, arguments: &Value, turn: &TurnContext, bytes: usize) -> String {
    let call = ToolInvocation::new(tool, arguments.to_string(), turn);
    let output = match ToolRouter::new().call(&call) {
        Ok(output) => output,
        Err(FunctionCallError::RespondToModel(error)) => panic!("{tool}: {}", error.message),
        Err(FunctionCallError::Fatal(message)) => panic!("{message}"),
    };
    let reply = output.reply().unwrap();
    assert!(reply.len() <= bytes, "{tool} {arguments}: {} bytes, budget {bytes}", reply.len());
    let lines = reply.lines().count();
    assert!(lines <= ReplyBudget::MAX_LINES, "{tool} {arguments}: {lines} lines");
    reply
}

/// Lines of all lengths. Some are too long for one window.
fn random_text(random: &mut fastrand::Rng) -> String {
    let mut text = String::new();
    let longest = [3, 40, 400, 499][random.usize(0..4)];
    let most = [5, 300, 4000][random.usize(0..3)];
    for _ in 0..random.usize(0..most) {
        let unit = ["a", "é", "漢", "\u{1F600}"][random.usize(0..4)];
        text.push_str(&unit.repeat(random.usize(0..=longest)));
        text.push_str(if random.u8(0..20) == 0 { "\r\n" } else { "\n" });
    }
    if random.bool() {
        text.push_str("no newline at the end");
    }
    text
}

fn next_offset(header: &str) -> Option<u64> {
    let (_, rest) = header.split_once("next offset ")?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(digits.parse().unwrap())
}

#[test]
fn the_pages_of_a_read_joined_are_the_file() {
    each_seed(24, |random| {
        let tree = TempTree::new("");
        let text = random_text(random);
        tree.file("a.txt", text.as_bytes());
        let bytes = BUDGETS[random.usize(0..BUDGETS.len())];
        let turn = turn(&tree, bytes);
        let (mut joined, mut offset) = (String::new(), 1);
        loop {
            let reply = reply("read", &json!({"path": "a.txt", "offset": offset}), &turn, bytes);
            let (header, body) = reply.split_once('\n').unwrap_or((&reply, ""));
            joined.push_str(body);
            let Some(next) = next_offset(header) else { break };
            assert!(next > offset, "{header}");
            offset = next;
        }
        assert_eq!(joined, text);
    });
}

#[test]
fn the_widest_line_fits_the_smallest_budget() {
    let tree = TempTree::new("");
    tree.file("a.txt", "\u{1F600}".repeat(600) + "\r\n" + &"\u{1F600}".repeat(500));
    let reply = reply("read", &json!({"path": "a.txt"}), &turn(&tree, 4096), 4096);
    assert!(
        reply.starts_with(
            "[lines 1-1 of 2; next offset 2; 1 line truncated, continue with column 501]\n"
        ),
        "{reply}"
    );
}

#[test]
fn the_pages_of_a_listing_joined_are_the_directory() {
    each_seed(6, |random| {
        let tree = TempTree::new("");
        let mut expected = Vec::new();
        for number in 0..random.usize(1..2500) {
            let name = format!("{number:05}{}", "x".repeat(random.usize(0..200)));
            tree.file(&name, "");
            expected.push(name);
        }
        let bytes = BUDGETS[random.usize(0..BUDGETS.len())];
        let turn = turn(&tree, bytes);
        let (mut joined, mut offset) = (Vec::new(), 1);
        loop {
            let asked = json!({"dir_path": tree.str(), "limit": 100_000, "offset": offset});
            let reply = reply("list_dir", &asked, &turn, bytes);
            let mut lines: Vec<_> = reply.lines().skip(1).map(str::to_owned).collect();
            let more = lines.last().is_some_and(|line| line.starts_with("More than "));
            if more {
                let said = lines.pop().unwrap();
                let next = joined.len() + lines.len() + 1;
                let count = lines.len();
                assert_eq!(said, format!("More than {count} entries found; next offset {next}"));
                // One more entry would not have fitted.
                let next = expected[joined.len() + lines.len()].len() + 1;
                let full = lines.len() + 2 >= ReplyBudget::MAX_LINES;
                assert!(full || reply.len() + next > bytes, "{} of {bytes}", reply.len());
            }
            assert!(!lines.is_empty());
            offset += lines.len();
            joined.append(&mut lines);
            if !more {
                break;
            }
        }
        assert_eq!(joined, expected);
    });
}

#[test]
fn the_pages_of_a_search_joined_are_all_files() {
    each_seed(6, |random| {
        let tree = TempTree::new("");
        let count = random.usize(1..400);
        for number in 0..count {
            tree.file(format!("{number}{}", "y".repeat(random.usize(0..200))), "needle\n");
        }
        let bytes = BUDGETS[random.usize(0..BUDGETS.len())];
        let turn = turn(&tree, bytes);
        let (mut joined, mut offset) = (Vec::new(), 1);
        loop {
            let asked = json!({"pattern": "needle", "limit": 2000, "offset": offset});
            let reply = reply("grep_files", &asked, &turn, bytes);
            let mut lines: Vec<_> = reply.lines().map(str::to_owned).collect();
            let next = next_offset(lines.last().unwrap());
            if next.is_some() {
                let said = lines.pop().unwrap();
                assert!(said.starts_with(&format!("More than {} files match;", lines.len())));
            }
            assert!(!lines.is_empty());
            joined.append(&mut lines);
            let Some(next) = next else { break };
            offset = next;
        }
        joined.sort();
        joined.dedup();
        assert_eq!(joined.len(), count);
    });
}

#[test]
fn only_the_reply_says_that_a_limit_truncated_the_search() {
    let tree = TempTree::new("a = needle\nb = needle\nc = needle");
    let turn = turn(&tree, 4096);
    let call = ToolInvocation::new("grep_files", r#"{"pattern":"needle","limit":2}"#, &turn);
    let output = ToolRouter::new().call(&call).unwrap();
    let content = output.function().unwrap().content;
    assert_eq!(content.lines().count(), 2);
    let said = "\nMore than 2 files match; next offset 3";
    assert_eq!(output.reply().unwrap(), content + said);
}

#[test]
fn long_output_is_truncated_to_the_budget_and_saved() {
    each_seed(16, |random| {
        let tree = TempTree::new("");
        let texts = [random_text(random), random_text(random)];
        tree.file("out", texts[0].as_bytes());
        tree.file("err", texts[1].as_bytes());
        let bytes = BUDGETS[random.usize(0..BUDGETS.len())];
        let turn = turn(&tree, bytes);
        let keep = ["head", "tail", "both"][random.usize(0..3)];
        let asked = json!({"command": "cat out; cat err >&2", "keep": keep});
        let reply = reply("bash", &asked, &turn, bytes);
        let (header, _) = reply.split_once('\n').unwrap_or((&reply, ""));
        assert!(header.starts_with("[exit 0; stdout ") && header.ends_with(']'), "{header}");
        let (stdout, stderr) = header.split_once("; stderr ").unwrap();
        for (said, text) in [(stdout, &texts[0]), (stderr.trim_end_matches(']'), &texts[1])] {
            match said.split_once("saved to ") {
                Some((_, file)) => {
                    assert_eq!(std::fs::read_to_string(file).unwrap(), *text);
                }
                None => assert!(reply.contains(text.as_str()), "{header}"),
            }
        }
    });
}

#[test]
fn the_cuts_of_a_stream_fall_between_lines() {
    let tree = TempTree::new("");
    let turn = turn(&tree, 4096);
    let reply = reply("bash", &json!({"command": "seq 100000"}), &turn, 4096);
    let (header, body) = reply.split_once('\n').unwrap();
    assert!(header.starts_with("[exit 0; stdout 100000 lines, 588895 bytes, first "), "{header}");
    let (head, rest) = body.split_once("\n[").unwrap();
    let (marker, tail) = rest.split_once("]\n").unwrap();
    assert!(marker.ends_with(" bytes truncated"));
    let numbers = |text: &str| text.lines().filter(|line| line.parse::<u64>().is_ok()).count();
    assert_eq!(head.lines().next(), Some("1"));
    assert_eq!(tail.lines().last(), Some("100000"));
    assert!(numbers(head) > 200 && numbers(tail) > 200);
}

#[test]
fn one_stream_has_the_room_that_the_other_leaves() {
    let tree = TempTree::new("");
    let turn = turn(&tree, 20_000);
    let alone = reply("bash", &json!({"command": "seq -w 1700"}), &turn, 20_000);
    assert!(alone.starts_with("[exit 0; stdout 1700 lines; stderr empty]\n0001\n"), "{alone:.200}");
    let both = json!({"command": "seq -f %030g 9000; seq -f %030g 9000 >&2"});
    let both = reply("bash", &both, &turn, 20_000);
    let (stdout, stderr) = both.split_once("\n[stderr]\n").unwrap();
    assert!(stdout.len().abs_diff(stderr.len()) < 1000 && both.len() > 18_000);
}

#[test]
fn many_short_lines_are_cut_by_their_number() {
    let tree = TempTree::new("");
    let turn = turn(&tree, 50_000);
    let reply = reply("bash", &json!({"command": "yes | head -5000"}), &turn, 50_000);
    assert!(reply.starts_with("[exit 0; stdout 5000 lines, 10000 bytes, first "), "{reply:.200}");
    assert!(reply.lines().count() > ReplyBudget::MAX_LINES - 20);
}

#[test]
fn an_entry_too_long_for_a_reply_is_an_error() {
    let tree = TempTree::new("");
    let folder = vec!["d".repeat(250); 15].join("/");
    let name = "\u{1}".repeat(200);
    tree.file(format!("{folder}/{name}"), "");
    let asked = json!({"dir_path": tree.at(&folder)}).to_string();
    let turn = turn(&tree, 4096);
    let error = ToolRouter::new().call(&ToolInvocation::new("list_dir", asked, &turn));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("the reply limit is too small for a single entry; "), "{error}");
}

#[test]
fn a_deep_temp_folder_keeps_the_reply_within_its_budget() {
    let tree = TempTree::new("");
    for depth in [1, 3, 4, 5, 12, 15] {
        // Escaped control characters take more bytes.
        for name in ["t".repeat(250), "\u{1}".repeat(50)] {
            let temp = tree.dir(vec![name; depth].join("/"));
            let spill = Arc::new(OutputStore::session(temp));
            let turn = turn(&tree, 4096).with_output_store(spill);
            let asked = json!({"command": "seq 100000; seq 100000 >&2"});
            let reply = reply("bash", &asked, &turn, 4096);
            let (header, body) = reply.split_once('\n').unwrap();
            let is_kept = header.matches("shown, saved to ").count() == 2;
            let why = "not saved: the path of the temp directory is too long for the reply limit";
            assert!(is_kept || header.matches(why).count() == 2, "{header}");
            assert_eq!(is_kept, depth < 4, "{header}");
            assert!(body.starts_with("1\n2\n") && body.ends_with("100000\n"), "{body}");
        }
    }
}
