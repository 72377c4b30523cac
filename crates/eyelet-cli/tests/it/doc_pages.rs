//! The pages for users: their code blocks, and what they must mention. `doc_examples.rs` runs their examples.

use std::ops::Range;
use std::process::Command;

use eyelet::PROTECTED_PATHS;
use saphyr::{LoadableYamlNode as _, Yaml};
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::{command, eyelet};
use testkit::mcp_client::Server;

use crate::clients::CLIENTS;

/// A page, by its path in the repository.
pub(crate) struct Page {
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

macro_rules! pages {
    ($($path:literal)*) => {
        &[$(Page { path: $path, text: include_str!(concat!("../../../../", $path)) }),*]
    };
}

/// All pages with code blocks.
pub(crate) const PAGES: &[Page] = pages![
    "README.md"
    "CONTRIBUTING.md"
    "bench/README.md"
    "crates/eyelet-mcp/README.md"
    "docs/clients.md"
    "docs/clients/claude-code.md"
    "docs/clients/claude-desktop.md"
    "docs/clients/codex.md"
    "docs/clients/copilot-cli.md"
    "docs/clients/cursor.md"
    "docs/clients/gemini-cli.md"
    "docs/clients/goose.md"
    "docs/clients/opencode.md"
    "docs/clients/vscode.md"
    "docs/clients/windsurf.md"
    "docs/clients/zed.md"
    "docs/configuration.md"
    "docs/deploy.md"
    "docs/embedding.md"
    "docs/http.md"
    "docs/jobs.md"
    "docs/quick-start.md"
    "docs/records.md"
    "docs/sandbox.md"
    "docs/tools.md"
    "docs/tools/bash.md"
    "docs/tools/find_files.md"
    "docs/tools/grep_files.md"
    "docs/tools/list_dir.md"
    "docs/tools/read.md"
    "docs/troubleshooting.md"
];

/// The table of contents.
const SUMMARY: &str = include_str!("../../../../docs/SUMMARY.md");

/// A code block of a page.
pub(crate) struct Block {
    pub(crate) language: String,
    /// Its lines without the indentation of the block.
    pub(crate) text: String,
    /// The place of its lines on the page.
    pub(crate) range: Range<usize>,
}

pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let mut lines = page.split_inclusive('\n').map(|line| {
        at += line.len();
        (line, at)
    });
    while let Some((first, start)) = lines.next() {
        let unindented = first.trim_start();
        let Some(language) = unindented.strip_prefix("```") else { continue };
        let indent = first.len() - unindented.len();
        let is_inside = |(line, _): &(&str, usize)| line.trim() != "```";
        let inside: Vec<_> = lines.by_ref().take_while(is_inside).collect();
        let text = inside.iter().map(|(line, _)| line.get(indent..).unwrap_or("\n")).collect();
        let end = inside.last().map_or(start, |(_, end)| *end);
        let language = language.trim_end().to_owned();
        blocks.push(Block { language, text, range: start..end });
    }
    blocks
}

fn page(path: &str) -> &'static Page {
    PAGES.iter().find(|page| page.path == path).unwrap_or_else(|| panic!("{path} is missing"))
}

/// Why a code block is not valid in its language.
fn error(block: &Block) -> Option<String> {
    let text = &block.text;
    match block.language.as_str() {
        "json" => {
            let values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
            values.collect::<Result<Vec<_>, _>>().err().map(|error| error.to_string())
        }
        "toml" => text.parse::<toml_edit::DocumentMut>().err().map(|error| error.to_string()),
        "yaml" => Yaml::load_from_str(text).err().map(|error| error.to_string()),
        "sh" => {
            let output = Command::new("bash").args(["-n", "-c", text]).output().unwrap();
            (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
        }
        // `doc_examples.rs` runs the former two; the compiler checks the next two.
        "console" | "mcp" | "rust" | "rust,no_run" | "dockerfile" | "text" | "" => None,
        other => Some(format!("unknown language {other}")),
    }
}

#[test]
fn code_blocks_of_the_pages_are_valid() {
    let mut count = 0;
    for page in PAGES {
        for block in blocks(page.text) {
            assert_eq!(error(&block), None, "{}:\n{}", page.path, block.text);
            count += 1;
        }
    }
    assert!(count > 100, "{count}");
    for (language, text) in
        [("json", "{"), ("toml", "a"), ("yaml", "a: ["), ("sh", "if"), ("pyhton", "")]
    {
        let block = Block { language: language.to_owned(), text: text.to_owned(), range: 0..0 };
        assert!(error(&block).is_some(), "{language}");
    }
}

#[test]
fn each_client_has_a_page_with_its_command() {
    let overview = page("docs/clients.md").text;
    for client in CLIENTS {
        let name = client.name;
        let page = page(&format!("docs/clients/{name}.md"));
        let command = format!("$ eyelet setup {name}");
        let commands = page.text.lines().filter(|line| line.starts_with(&command));
        assert!(commands.count() >= 2, "{name}");
        for text in [overview, SUMMARY] {
            assert!(text.contains(&format!("(clients/{name}.md)")), "{name}");
        }
    }
}

#[test]
fn each_tool_has_a_page_with_its_parameters() {
    let output = command(&TempTree::new("")).arg("tools").output().unwrap();
    let tools: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tools.len(), 6);
    for tool in tools {
        let name = tool["name"].as_str().unwrap();
        let path = if name == "jobs" { "jobs.md" } else { &format!("tools/{name}.md") };
        let text = page(&format!("docs/{path}")).text;
        assert!(page("docs/tools.md").text.contains(&format!("[`{name}`]({path})")), "{name}");
        for parameter in tool["inputSchema"]["properties"].as_object().unwrap().keys() {
            let is_named = [format!("`{parameter}`"), format!("`{parameter}:")]
                .iter()
                .any(|name| text.contains(name));
            let is_used = text.contains(&format!("\"{parameter}\":"));
            assert!(is_named || is_used, "{name}: {parameter}");
        }
    }
}

#[test]
fn the_sandbox_page_names_each_protected_path() {
    let text = page("docs/sandbox.md").text;
    for path in PROTECTED_PATHS {
        assert!(text.contains(&format!("`{path}`")), "{path} is missing");
    }
}

#[test]
fn troubleshooting_shows_messages_that_examples_cannot_cause() {
    let text = page("docs/troubleshooting.md").text;
    let tree = TempTree::new("");
    for flags in [["--allow-host", "registries"], ["--deny", "*.pem"]] {
        let mut arguments = vec!["--sandbox", "workspace-write", "--force-tier2"];
        arguments.extend(flags);
        arguments.extend(["call", "--text", "bash", r#"{"command":"true"}"#]);
        let result = eyelet(&tree, arguments);
        let message = result.strip_prefix("exit 1\n--- stderr\neyelet: ");
        let message = message.unwrap_or_else(|| panic!("{result}"));
        assert!(text.contains(&format!("\n{message}")), "{message}");
    }
    let mut server = Server::run(command(&tree).current_dir("/").arg("mcp"));
    server.initialize("example", &json!({}));
    let message = server.error("read", json!({"path": "/home/you/project/src/main.rs"}));
    assert!(text.contains(&format!("\n{message}\n")), "{message}");
}
