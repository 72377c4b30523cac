//! `eyelet setup --write` into files of every style: one block is inserted, nothing else changes.

use std::fs;

use expect_test::expect;
use testkit::TempTree;

use crate::clients::{CLIENTS, redact, setup};

/// What a file becomes, with what an editor does not show made visible.
fn merged(name: &str, text: &str) -> String {
    let tree = TempTree::new("");
    let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
    let path = client.put(&tree, text);
    let told = setup(&tree, &[name, "--write"]);
    assert!(told.starts_with("exit 0\n"), "{told}");
    let merged = fs::read_to_string(&path).unwrap();
    assert!(is_inserted(text, &merged), "{text} became {merged}");
    assert!(setup(&tree, &[name, "--write"]).contains(" has the entry already"));
    let visible = redact(&tree, &merged).replace('\r', "<CR>").replace('\u{feff}', "<BOM>");
    let newline = if visible.ends_with('\n') { "" } else { "<no newline>\n" };
    format!("== {name}\n{visible}{newline}")
}

/// Whether the new text is the old one with one block somewhere in it.
fn is_inserted(old: &str, new: &str) -> bool {
    let before = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let after =
        old.bytes().rev().zip(new.bytes().rev()).take_while(|(old, new)| old == new).count();
    before + after >= old.len()
}

#[test]
fn json_of_every_style() {
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
              "args": ["mcp"]
            }
          }
        }<no newline>
        == claude-code
        {"mcpServers":{"a":{}, "eyelet": {"type":"stdio","command":"/bin/eyelet","args":["mcp"]}},"z":[1]}<no newline>
        == claude-code
        {"mcpServers": { "a": {}, "eyelet": {"type":"stdio","command":"/bin/eyelet","args":["mcp"]} , } }
        == claude-code
        {"a":1e400, "b": 123456789012345678901234567890, "mcpServers": {"eyelet":{"type":"stdio","command":"/bin/eyelet","args":["mcp"]}}}<no newline>
        == claude-code
        // only this
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"]
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
        			"args": ["mcp"]<CR>
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
        		},
        	},
        }<no newline>
        == claude-code
        {
          "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"]
            }
          }
        }
    "#]].assert_eq(&all);
}

#[test]
fn toml_of_every_style() {
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
        mcp_servers = { a = { command = "x" } , eyelet = { command = "/bin/eyelet", args = ["mcp"] } } # c
        [tui]
        == codex
        mcp_servers.a.command = "x"
        b=1

        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        == codex
        [mcp_servers]<CR>
        [mcp_servers.a]<CR>
        command='x'<CR>
        <CR>
        [mcp_servers.eyelet]<CR>
        command = "/bin/eyelet"<CR>
        args = ["mcp"]<CR>
        <CR>
        [z]<CR>
        # end<no newline>
        == codex
        # only this
        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
        == codex
        [z]
        a=2026-01-01
        [[list]]
        x=1
        [[list]]

        [mcp_servers.eyelet]
        command = "/bin/eyelet"
        args = ["mcp"]
    "#]].assert_eq(&all);
}

#[test]
fn yaml_of_every_style() {
    let styles = [
        "extensions:\nb: 1",
        "# only this",
        "a: 1\r\nextensions: # c\r\n    other:\r\n        cmd: x\r\n",
        "\"extensions\":\n  a: &x {cmd: y}\n  b: *x\n\n\nz: 1\n",
        "---\na: 1\n",
    ];
    let all: String = styles.iter().map(|style| merged("goose", style)).collect();
    expect![[r#"
        == goose
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
        b: 1<no newline>
        == goose
        # only this
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
        == goose
        a: 1<CR>
        extensions: # c<CR>
            other:<CR>
                cmd: x<CR>
            eyelet:<CR>
              enabled: true<CR>
              type: stdio<CR>
              name: eyelet<CR>
              description: "Bounded tools: list_dir, grep_files, read, bash"<CR>
              cmd: "/bin/eyelet"<CR>
              args: ["mcp", "--root", "/repo"]<CR>
              timeout: 660<CR>
        == goose
        "extensions":
          a: &x {cmd: y}
          b: *x
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660


        z: 1
        == goose
        ---
        a: 1
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
    "#]]
    .assert_eq(&all);
}

#[test]
fn a_key_that_holds_nothing_is_filled() {
    let mut told = String::new();
    for (name, text) in [
        ("claude-code", "{\"a\": 1, \"mcpServers\": null}\n"),
        ("goose", "extensions: {}\nb: 1\n"),
        ("goose", "extensions: null\n"),
        ("goose", "b: 1\nextensions: ~"),
    ] {
        let tree = TempTree::new("");
        let client = CLIENTS.iter().find(|client| client.name == name).unwrap();
        let path = client.put(&tree, text);
        setup(&tree, &[name, "--write"]);
        told.push_str(&redact(&tree, &fs::read_to_string(path).unwrap()));
    }
    expect![[r#"
        {"a": 1, "mcpServers": {
            "eyelet": {
              "type": "stdio",
              "command": "/bin/eyelet",
              "args": ["mcp"]
            }
          }}
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
        b: 1
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
        b: 1
        extensions:
          eyelet:
            enabled: true
            type: stdio
            name: eyelet
            description: "Bounded tools: list_dir, grep_files, read, bash"
            cmd: "/bin/eyelet"
            args: ["mcp", "--root", "/repo"]
            timeout: 660
    "#]]
    .assert_eq(&told);
}
