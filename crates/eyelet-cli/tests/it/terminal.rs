//! What is seen on a terminal, through a pseudo terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use expect_test::expect;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::TempTree;
use testkit::cli::{command, same};
use testkit::eyelet_bin;

/// Both ends of a terminal: whoever sits before it, and the screen of a program.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let screen = File::options().read(true).write(true).open(name).unwrap();
    (File::from(person), screen)
}

/// What stdout shows where it is a terminal; escape characters as `ESC`.
fn on_a_terminal(command: &mut Command) -> String {
    let (mut person, screen) = terminal();
    let mut child = command.stdout(screen).stderr(Stdio::null()).spawn().unwrap();
    // The command holds the terminal's other end until it is replaced; the reader waits for it.
    command.stdout(Stdio::null());
    let mut shown = Vec::new();
    // A terminal without a writer ends in an error, not in an end of file.
    let _ = person.read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8_lossy(&shown).replace("\r\n", "\n").replace('\u{1b}', "ESC")
}

fn tree() -> TempTree {
    TempTree::new(
        "src/main.rs = fn main() {}
        notes.txt
        link -> notes.txt",
    )
}

#[test]
fn a_listing_has_colours() {
    let tree = tree();
    let shown = on_a_terminal(command(&tree).env("TERM", "xterm").arg("list-dir"));
    expect![[r#"
        Absolute path: /repo
        ESC[36mlink@ESC[0m
        notes.txt
        ESC[1mESC[34msrc/ESC[0m
          main.rs
    "#]]
    .assert_eq(&tree.redact(&shown));
}

#[test]
fn there_are_no_colours_where_they_are_not_wanted() {
    let tree = tree();
    let expected = expect![[r#"
        Absolute path: /repo
        link@
        notes.txt
        src/
          main.rs
    "#]];
    let shown = [("NO_COLOR", "1"), ("TERM", "dumb")].map(|(name, value)| {
        let mut command = command(&tree);
        command.env("TERM", "xterm").env(name, value).arg("list-dir");
        tree.redact(&on_a_terminal(&mut command))
    });
    expected.assert_eq(&same(shown));
}

#[test]
fn an_empty_no_color_says_nothing() {
    let tree = tree();
    let mut command = command(&tree);
    command.env("TERM", "xterm").env("NO_COLOR", "").arg("list-dir");
    assert!(on_a_terminal(&mut command).contains("ESC["));
}

#[test]
fn nothing_in_a_file_moves_the_cursor() {
    let tree = TempTree::new("");
    tree.file("a.txt", "tab\there \u{1b}[2J\u{7}\u{9b}31m\u{202e}\r\nend");
    expect![[r#"
        tab	here \u{1b}[2J\u{7}\u{9b}31m\u{202e}\r
        end
    "#]]
    .assert_eq(&on_a_terminal(command(&tree).args(["read", "a.txt"])));
    let text = ["call", "--text", "read", r#"{"path":"a.txt"}"#];
    expect![[r#"
        [lines 1-2 of 2]
        tab	here \u{1b}[2J\u{7}\u{9b}31m\u{202e}\r
        end
    "#]]
    .assert_eq(&on_a_terminal(command(&tree).args(text)));
}

#[test]
fn json_on_a_terminal_escapes_and_says_the_same() {
    let tree = TempTree::new("");
    tree.file("a.txt", "\u{1b}\u{7f}\u{9b}\u{202e}é\n");
    let json = ["call", "read", r#"{"path":"a.txt"}"#];
    let shown = on_a_terminal(command(&tree).args(json));
    expect![[r#"
        {"ok":true,"data":{"path":"a.txt","content":"\u001b\u007f\u009b\u202eé\n","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}}
    "#]].assert_eq(&shown);
    let piped = command(&tree).args(json).output().unwrap().stdout;
    let meaning = |json: &str| serde_json::from_str::<serde_json::Value>(json).unwrap();
    assert_eq!(meaning(&shown), meaning(&String::from_utf8(piped).unwrap()));
}

#[test]
fn nothing_that_a_command_prints_moves_the_cursor() {
    let tree = TempTree::new("");
    let script = r"printf 'a\033[2Jb'";
    expect![[r#"
        a\u{1b}[2Jb
    "#]]
    .assert_eq(&on_a_terminal(command(&tree).args(["bash", script])));
}

#[test]
fn who_starts_the_server_by_hand_is_told_what_it_serves_and_how_to_connect() {
    let tree = tree();
    let (mut person, screen) = terminal();
    let mut server = command(&tree);
    server.args(["mcp", "--tools", "read,list_dir"]).stdin(screen);
    let child = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(server);
    // Ctrl-D
    person.write_all(b"\x04").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    let said = String::from_utf8(output.stderr).unwrap();
    let said = said.replace(&eyelet_bin().to_string_lossy().into_owned(), "eyelet");
    expect![[r#"
        eyelet serves list_dir, read over MCP on stdin and stdout
        confined to /repo
        connect a client: eyelet setup CLIENT --write, one of eyelet setup --list
        or in its config: {"mcpServers":{"eyelet":{"command":"eyelet","args":["mcp"]}}}
        it ends with the input: Ctrl-D
    "#]]
    .assert_eq(&tree.redact(&said));
}
