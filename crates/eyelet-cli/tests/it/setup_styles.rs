//! `eyelet setup --write` with files in many styles: it inserts one block and changes nothing else.

use std::fs;

use expect_test::expect;
use testkit::TempTree;

use crate::clients::{CLIENTS, redact, setup};

/// The file after `--write`, with invisible characters made visible.
fn merged(name: &str, text: &str) -> String {
    let tree = TempTree::new("");
    let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let path = client.put(&tree, text);
    let result = setup(&tree, &[name, "--write"]);
    assert!(result.starts_with("exit 0\n"), "{result}");
    let merged = fs::read_to_string(&path).unwrap();
    assert!(is_inserted(text, &merged), "{text} became {merged}");
    assert!(setup(&tree, &[name, "--write"]).contains(" already has the entry"));
    let visible = redact(&tree, &merged).replace('\r', "<CR>").replace('\u{feff}', "<BOM>");
    let newline = if visible.ends_with('\n') { "" } else { "<no newline>\n" };
    format!("== {name}\n{visible}{newline}")
}

/// Whether the new text is the old one with one block inserted.
fn is_inserted(old: &str, new: &str) -> bool {
    let before = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let after =
        old.bytes().rev().zip(new.bytes().rev()).take_while(|(old, new)| old == new).count();
    before + after >= old.len()
}

#[test]
fn json_styles_are_preserved() {
    let styles = [
        "{}",
        "{\"mcpServers\":{\"a\":{}},\"z\":[1]}",
        "{\"mcpServers\": { \"a\": {} , } }\n",
        "{\"a\":1e400, \"b\": 123456789012345678901234567890}",
        "// only this\n",
        "\u{feff}{\r\n\t\"x\": 1\r\n}\r\n",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {}, // last\n\t},\n}",
        "{\n  \"mcpServers\": {\n  }\n}\n",
    ];
    let all: String = styles.iter().map(|style| merged("claude-code", style)).collect();
    expect![[r#"
        == claude-code
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }
        }<no newline>
        == claude-code
        {"mcpServers":{"a":{}, "eyelet": {"type":"stdio","command":"/bin/eyelet","args":["mcp"],"timeout":660000}},"z":[1]}<no newline>
        == claude-code
        {"mcpServers": { "a": {}, "eyelet": {"type":"stdio","command":"/bin/eyelet","args":["mcp"],"timeout":660000} , } }
        == claude-code
        {"a":1e400, "b": 123456789012345678901234567890, "mcpServers": {"eyelet":{"type":"stdio","command":"/bin/eyelet","args":["mcp"],"timeout":660000}}}<no newline>
        == claude-code
        // only this
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }
        }
        == claude-code
        <BOM>{<CR>
        	"x": 1,<CR>
        	"mcpServers": {<CR>
        		"eyelet": {<CR>
        			"type": "stdio",<CR>
        			"command": "/bin/eyelet",<CR>
        			"args": ["mcp"],<CR>
        			"timeout": 660000<CR>
        		}<CR>
        	}<CR>
        }<CR>
        == claude-code
        {
        	"mcpServers": {
        		"a": {}, // last
        		"eyelet": {
        			"type": "stdio",
        			"command": "/bin/eyelet",
        			"args": ["mcp"],
        			"timeout": 660000,
        		},
        	},
        }<no newline>
        == claude-code
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }
        }
    "#]].assert_eq(&all);
}

#[test]
fn toml_styles_are_preserved() {
    let styles = [
        "mcp_servers = { a = { command = \"x\" } } # c\n[tui]\n",
        "mcp_servers.a.command = \"x\"\nb=1\n",
        "[mcp_servers]\r\n[mcp_servers.a]\r\ncommand='x'\r\n\r\n[z]\r\n# end",
        "# only this",
        "[z]\na=2026-01-01\n[[list]]\nx=1\n[[list]]\n",
    ];
    let all: String = styles.iter().map(|style| merged("codex", style)).collect();
    expect![[r#"
        == codex
        mcp_servers = { a = { command = "x" } , eyelet = { command = "/bin/eyelet", args = ["mcp"], tool_timeout_sec = 660 } } # c
        [tui]
        == codex
        mcp_servers.a.command = "x"
        b=1

        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660
        == codex
        [mcp_servers]<CR>
        [mcp_servers.a]<CR>
        command='x'<CR>
        <CR>
        [mcp_servers.eyelet]<CR>
        command = "/bin/eyelet"<CR>
        args = ["mcp"]<CR>
        tool_timeout_sec = 660<CR>
        <CR>
        [z]<CR>
        # end<no newline>
        == codex
        # only this
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660
        == codex
        [z]
        a=2026-01-01
        [[list]]
        x=1
        [[list]]

        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        tool_timeout_sec = 660
    "#]].assert_eq(&all);
}

#[test]
fn null_servers_are_replaced() {
    let tree = TempTree::new("");
    let client = CLIENTS.iter().find(|client| client.name == "claude-code").unwrap();
    let path = client.put(&tree, "{\"a\": 1, \"mcpServers\": null}\n");
    setup(&tree, &["claude-code", "--write"]);
    expect![[r#"
        {"a": 1, "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"],
              "timeout": 660000
            }
          }}
    "#]]
    .assert_eq(&redact(&tree, &fs::read_to_string(path).unwrap()));
}
