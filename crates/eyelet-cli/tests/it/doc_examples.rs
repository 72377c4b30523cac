//! Runs the examples of the pages for users, and compares their output with the pages.
//!
//! - In a `console` block, the lines that begin with `$ ` are commands for bash, and the other lines are what they
//!   print to stdout and stderr.
//! - In an `mcp` block, the lines that begin with `> ` are calls of tools in one session of `eyelet mcp`, and the
//!   other lines are the replies.
//!
//! All blocks of a page run in order, in a new copy of the same small project. Some texts stand for others:
//!
//! | on the page | stands for |
//! |---|---|
//! | `/home/you` | the home directory of the test; the project is `/home/you/project` |
//! | `FILE` | the path of saved output |
//! | `bash: ` | the path of bash at the start of its messages |
//! | `2 s` | any number of seconds |
//!
//! `UPDATE_EXPECT=1` writes the output into the pages.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use serde_json::{Value, json};
use similar::TextDiff;
use testkit::mcp_client::Server;
use testkit::{TempTree, eyelet_bin};

use crate::doc_pages::{Block, PAGES, Page, blocks};

/// The text files of the project, oldest first.
const FILES: [(&str, &str); 7] = [
    (".gitignore", "target/\n"),
    ("README.md", "# Shop\n\nA small web shop.\n"),
    ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2024\"\n"),
    (
        "src/main.rs",
        r#"mod cart;
mod price;

fn main() {
    let total = cart::total(&[1200, 350]);
    println!("{}", price::format(total)); // TODO: other currencies
}
"#,
    ),
    (
        "src/cart.rs",
        r#"//! The cart of a customer.

/// The sum of all prices, in cents.
pub fn total(prices: &[u64]) -> u64 {
    prices.iter().sum() // TODO: discounts
}
"#,
    ),
    (
        "src/price.rs",
        r#"/// Formats cents as euros.
pub fn format(cents: u64) -> String {
    format!("{}.{:02} €", cents / 100, cents % 100)
}
"#,
    ),
    ("tests/checkout.rs", "// TODO: test an empty cart\n"),
];

/// A home directory with the project of the examples.
fn project() -> TempTree {
    let tree = TempTree::new(".cargo/bin/");
    symlink(eyelet_bin(), tree.path().join(".cargo/bin/eyelet")).unwrap();
    let mut files: Vec<_> =
        FILES.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())).collect();
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    files.push(("target/shop", program));
    let orders: Vec<_> = (1..=5000).map(|number| (number, number * 37 % 5000)).collect();
    let rows: String = orders.iter().map(|(number, cents)| format!("{number},{cents}\n")).collect();
    files.push(("data/orders.csv", format!("id,cents\n{rows}").into_bytes()));
    let cents: Vec<_> = orders.iter().map(|(_, cents)| cents.to_string()).collect();
    files.push(("data/orders.json", format!("[{}]", cents.join(",")).into_bytes()));
    for ((name, content), minutes) in files.into_iter().zip(0..) {
        let name = format!("project/{name}");
        tree.file(&name, content);
        tree.modified(&name, minutes * 60);
    }
    // Without a template, the repository has the same files with every version of git.
    let mut git = Command::new("git");
    git.args(["init", "--quiet", "--template=", &tree.at("project")]);
    assert!(git.status().unwrap().success());
    tree
}

/// A program in the project, with the variables that examples need.
fn in_project(tree: &TempTree, program: &str) -> Command {
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new(program);
    command
        .current_dir(tree.at("project"))
        .env_clear()
        .env("PATH", format!("{}:{path}", tree.at(".cargo/bin")))
        .env("HOME", tree.path())
        .env("TMPDIR", tree.beside())
        .stdin(Stdio::null());
    command
}

/// The commands of a block with what they print.
fn run_commands(tree: &TempTree, block: &Block) -> String {
    let mut text = String::new();
    for line in block.text.lines().filter(|line| line.starts_with("$ ")) {
        let script = line.trim_start_matches("$ ").replace("/home/you", tree.str());
        let mut bash = in_project(tree, "bash");
        let output = bash.arg("-c").arg(format!("exec 2>&1\n{script}")).output().unwrap();
        push(&mut text, line, &redact(tree, &String::from_utf8_lossy(&output.stdout)));
    }
    text
}

/// The calls of a block with their replies.
fn run_calls(tree: &TempTree, block: &Block) -> String {
    let mut server = Server::run(in_project(tree, "eyelet").arg("mcp"));
    server.initialize("example", &json!({}));
    let mut text = String::new();
    for line in block.text.lines().filter(|line| line.starts_with("> ")) {
        let (tool, arguments) = line.trim_start_matches("> ").split_once(' ').unwrap();
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let answer = server.call(tool, arguments);
        let reply = answer["result"]["content"][0]["text"].as_str().unwrap();
        push(&mut text, line, &redact(tree, reply));
    }
    text
}

fn push(text: &mut String, command: &str, output: &str) {
    text.push_str(&format!("{command}\n{output}"));
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

/// Output with the texts that stand for others.
fn redact(tree: &TempTree, output: &str) -> String {
    let saved = tree.beside().join("eyelet-");
    let mut parts = output.split(saved.to_str().unwrap());
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let is_in_path = |character| ![';', ':', ']', '\n', ' '].contains(&character);
        text.push_str(&format!("FILE{}", part.trim_start_matches(is_in_path)));
    }
    let text = text.replace(tree.str(), "/home/you");
    text.replace("/usr/bin/bash: ", "bash: ").replace("/bin/bash: ", "bash: ")
}

/// The text with the same number of seconds everywhere.
fn without_seconds(text: &str) -> String {
    let words: Vec<_> = text.split(' ').collect();
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_unit = |word: &str| word.trim_end_matches([';', ',', ']']) == "s";
    let word = |(index, word): (usize, &&str)| match words.get(index + 1) {
        Some(next) if is_number(word) && is_unit(next) => "N".to_owned(),
        _ => (*word).to_owned(),
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// The page with the output of its examples, and the number of its examples.
fn run_page(page: &Page) -> (String, usize) {
    let examples = blocks(page.text).into_iter();
    let examples = examples.filter(|block| ["console", "mcp"].contains(&block.language.as_str()));
    let (mut text, mut end, mut count) = (String::new(), 0, 0);
    let tree = project();
    for block in examples {
        let output = match block.language.as_str() {
            "mcp" => run_calls(&tree, &block),
            _ => run_commands(&tree, &block),
        };
        let is_same = without_seconds(&output) == without_seconds(&block.text);
        text.push_str(page.text.get(end..block.range.start).unwrap());
        text.push_str(if is_same { &block.text } else { &output });
        end = block.range.end;
        count += 1;
    }
    text.push_str(page.text.get(end..).unwrap());
    (text, count)
}

fn update(page: &Page, text: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    fs::write(repository.join(page.path), text).unwrap();
}

#[test]
fn examples_of_the_pages_are_real() {
    // A few at a time, so that servers answer in time.
    let results = thread::scope(|scope| {
        let run = |pages: &'static [Page]| pages.iter().map(|page| (page, run_page(page)));
        let chunks = PAGES.chunks(PAGES.len().div_ceil(4));
        let running: Vec<_> =
            chunks.map(|pages| scope.spawn(move || run(pages).collect::<Vec<_>>())).collect();
        running.into_iter().flat_map(|pages| pages.join().unwrap()).collect::<Vec<_>>()
    });
    let count: usize = results.iter().map(|(_, (_, count))| count).sum();
    assert!(count > 60, "{count}");
    let wrong = results.iter().filter(|(page, (text, _))| text != page.text);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        wrong.for_each(|(page, (text, _))| update(page, text));
        return;
    }
    let differences = wrong.map(|(page, (text, _))| {
        let difference = TextDiff::from_lines(page.text, text);
        difference.unified_diff().header(page.path, "output").to_string()
    });
    let differences: String = differences.collect();
    assert!(differences.is_empty(), "`UPDATE_EXPECT=1` updates the pages:\n{differences}");
}

#[test]
fn only_numbers_of_seconds_may_differ_from_the_page() {
    let page = "[job 1 running, 2 s; stdout 1 line; stderr empty]\n";
    assert_eq!(without_seconds(page), without_seconds(&page.replace("2 s", "13 s")));
    for other in ["job 2", "2 t", "stdout 2", "2.5 s"] {
        let other = page.replace("job 1", other).replace("2 s", other);
        assert_ne!(without_seconds(page), without_seconds(&other), "{other}");
    }
}
