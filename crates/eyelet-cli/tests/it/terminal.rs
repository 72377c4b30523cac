//! Output on a terminal, through a pseudo terminal.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use expect_test::expect;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use serde_json::{Value, json};
use testkit::TempTree;
use testkit::cli::{command, same};
use testkit::eyelet_bin;

/// Both ends of a pseudo terminal: the person's, and the program's.
fn terminal() -> (File, File) {
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&person).unwrap();
    unlockpt(&person).unwrap();
    let name = ptsname(&person, Vec::new()).unwrap().into_string().unwrap();
    let screen = File::options().read(true).write(true).open(name).unwrap();
    (File::from(person), screen)
}

/// Runs a command with stdout on a terminal. Escape characters become `ESC`.
fn on_a_terminal(command: &mut Command) -> String {
    on_a_terminal_of(0, command)
}

/// The same with a terminal of this width; 0 if it does not say.
pub(crate) fn on_a_terminal_of(width: u16, command: &mut Command) -> String {
    let (mut person, screen) = terminal();
    let size = Winsize { ws_row: 24, ws_col: width, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&screen, size).unwrap();
    let mut child = command.stdout(screen).stderr(Stdio::null()).spawn().unwrap();
    // Close this process's copy of the terminal, or the read below never ends.
    command.stdout(Stdio::null());
    let mut shown = Vec::new();
    // Without a writer, reading from a terminal fails instead of reporting the end of the file.
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
fn listing_has_colours() {
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
fn search_prints_lines_in_colour() {
    let tree = TempTree::new(
        r"src/a.rs = one\ntwo foo and foo\nthree
        b.txt",
    );
    tree.file("b.txt", "foo \u{1b}[2J\n");
    tree.modified("src/a.rs", 2);
    tree.modified("b.txt", 1);
    let search = |flags: &[&str]| {
        let mut command = command(&tree);
        command.env("TERM", "xterm").args(["grep-files", "foo"]).args(flags);
        tree.redact(&on_a_terminal(&mut command))
    };
    expect![[r#"
        ESC[35msrc/a.rsESC[0m
        ESC[32m2:ESC[0mtwo ESC[1mESC[31mfooESC[0m and ESC[1mESC[31mfooESC[0m

        ESC[35mb.txtESC[0m
        ESC[32m1:ESC[0mESC[1mESC[31mfooESC[0m \u{1b}[2J
    "#]]
    .assert_eq(&search(&[]));
    expect![[r#"
        ESC[32m1-ESC[0mone
        ESC[32m2:ESC[0mtwo ESC[1mESC[31mfooESC[0m and ESC[1mESC[31mfooESC[0m
        ESC[32m3-ESC[0mthree
    "#]]
    .assert_eq(&search(&["src/a.rs", "-C1"]));
    expect![[r#"
        ESC[35msrc/a.rsESC[0m:1
        ESC[35mb.txtESC[0m:1
    "#]]
    .assert_eq(&search(&["-c"]));
    expect![[r#"
        /repo/src/a.rs
        /repo/b.txt
    "#]]
    .assert_eq(&search(&["-l"]));
}

#[test]
fn colour_depends_on_the_kind_and_not_on_the_name() {
    let tree = TempTree::new("");
    tree.file("file@", "");
    let shown =
        on_a_terminal(command(&tree).env("TERM", "xterm").args(["list-dir", "--limit", "1"]));
    expect![[r#"
        Absolute path: /repo
        file@
    "#]]
    .assert_eq(&tree.redact(&shown));
}

#[test]
fn no_color_and_dumb_terminals_disable_colours() {
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
fn empty_no_color_keeps_colours() {
    let tree = tree();
    let mut command = command(&tree);
    command.env("TERM", "xterm").env("NO_COLOR", "").arg("list-dir");
    assert!(on_a_terminal(&mut command).contains("ESC["));
}

#[test]
fn control_characters_of_a_file_are_escaped() {
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
fn json_on_a_terminal_is_escaped_and_equivalent() {
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
fn control_characters_of_a_command_are_escaped() {
    let tree = TempTree::new("");
    let script = r"printf 'a\033[2Jb'";
    expect![[r#"
        a\u{1b}[2Jb
    "#]]
    .assert_eq(&on_a_terminal(command(&tree).args(["bash", script])));
}

#[test]
fn character_in_two_parts_is_shown_whole() {
    let tree = TempTree::new("");
    let script = r"printf '\303'; sleep 0.1; printf '\251\377 \342\202'";
    let shown = on_a_terminal(command(&tree).args(["bash", script]));
    assert_eq!(shown, "é\u{fffd} \u{fffd}\n");
}

#[test]
fn silent_command_shows_its_seconds_until_it_prints() {
    let tree = TempTree::new("");
    let (mut person, screen) = terminal();
    let mut command = command(&tree);
    command.args(["bash", "until [ -e go ]; do sleep 0.05; done; echo done"]);
    command.stdout(screen.try_clone().unwrap()).stderr(screen);
    let mut child = command.spawn().unwrap();
    // Close this process's copies of the terminal, or the read below never ends.
    drop(command);
    let mut shown = Vec::new();
    let mut buffer = [0; 64];
    while !shown.ends_with(b" s") {
        let count = person.read(&mut buffer).unwrap();
        shown.extend_from_slice(&buffer[..count]);
    }
    tree.file("go", "");
    // Without a writer, reading from a terminal fails.
    let _ = person.read_to_end(&mut shown);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let shown = String::from_utf8(shown).unwrap();
    let before = shown.strip_suffix("done\r\n").expect(&shown);
    let seconds = before.trim_end_matches(['\r', ' ']);
    let (_, last) = seconds.rsplit_once('\r').unwrap();
    assert_eq!(before.strip_prefix(seconds), Some(&*format!("\r{:1$}\r", "", last.len())));
    let count = last.strip_suffix(" s").unwrap().parse::<u64>();
    assert!(count.is_ok_and(|count| count >= 2), "{shown:?}");
}

/// Starts the server on a terminal, sends Ctrl-D, and returns its stderr.
fn banner(server: &mut Command) -> String {
    let (mut person, screen) = terminal();
    server.stdin(screen);
    let child = server.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    server.stdin(Stdio::null());
    // Ctrl-D
    person.write_all(b"\x04").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn server_on_a_terminal_explains_how_to_connect() {
    let tree = tree();
    let shown = banner(command(&tree).args(["mcp", "--tools", "read,list_dir"]));
    let shown = shown.replace(&*eyelet_bin().to_string_lossy(), "/bin/eyelet");
    expect![[r#"
        eyelet serves list_dir, read over MCP on stdin and stdout.
        The tools can access files in /repo.
        Press Ctrl-D to stop the server.
        To connect a client, add this entry to its config file:
        {"mcpServers":{"eyelet":{"command":"/bin/eyelet","args":["mcp","--tools","read,list_dir","--root","/repo"]}}}
        Or run `/bin/eyelet setup CLIENT --write`; `/bin/eyelet setup --list` lists the clients.
    "#]]
    .assert_eq(&tree.redact(&shown));
    let home = tree.beside();
    let shown = banner(command(&tree).arg("mcp").current_dir(&home));
    expect!["No files are accessible; restart with --root DIR or in a project directory."]
        .assert_eq(shown.lines().nth(1).unwrap());
}

#[test]
fn http_server_on_a_terminal_prints_a_client_entry_with_its_token() {
    let tree = TempTree::new("");
    let (person, screen) = terminal();
    let mut server = command(&tree);
    server.args(["mcp", "--http", "127.0.0.1:0", "--allow-remote"]).stderr(screen);
    let mut child = server.spawn().unwrap();
    server.stderr(Stdio::null());
    let lines = BufReader::new(person).lines().map(|line| line.unwrap().trim_end().to_owned());
    let lines: Vec<_> = lines.take(6).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!tree.beside().join(".local").exists());
    let token = lines[1].strip_prefix("Authorization: Bearer ").unwrap();
    let (_, port) = lines[0].strip_suffix("/mcp").unwrap().rsplit_once(':').unwrap();
    let shown = lines.join("\n").replace(token, "<TOKEN>").replace(port, "<PORT>");
    expect![[r#"
        eyelet serves MCP at http://127.0.0.1:<PORT>/mcp
        Authorization: Bearer <TOKEN>
        Add this entry to the config file of a client that connects over HTTP:
        {"mcpServers":{"eyelet":{"type":"http","url":"http://127.0.0.1:<PORT>/mcp","headers":{"Authorization":"Bearer <TOKEN>"}}}}
        Health check, without the token: http://127.0.0.1:<PORT>/healthz
        Metrics, with the token: http://127.0.0.1:<PORT>/metrics
    "#]]
    .assert_eq(&format!("{shown}\n"));
}

#[test]
fn printed_client_entry_works_in_another_directory() {
    let tree = TempTree::new("bin/\na \"quoted\"\u{202e} project/a.txt = one");
    let link = tree.path().join("bin/eyelet");
    symlink(eyelet_bin(), &link).unwrap();
    let project = tree.path().join("a \"quoted\"\u{202e} project");
    let mut server = command(&tree);
    server.env("EYELET_SANDBOX", "read-only");
    let flags =
        ["--deny", "*.pem", "mcp", "--cwd", "bin", "--record=../calls", "--root=bin", "--root"];
    let shown = banner(server.args(flags).arg(&project));
    let entry = |shown: &str| -> Value {
        let line = shown.lines().find(|line| line.starts_with('{')).unwrap();
        let entry: Value = serde_json::from_str(line).unwrap();
        entry.pointer("/mcpServers/eyelet").unwrap().clone()
    };
    let printed = entry(&shown);
    let bin = tree.path().join("bin");
    let calls = tree.path().join("../calls");
    let flags =
        json!(["--deny", "*.pem", "mcp", "--cwd", bin, "--record", calls, "--sandbox=read-only"]);
    let roots = json!(["--root", bin, "--root", project]);
    let expected =
        Value::from([flags, roots].map(|part| part.as_array().unwrap().clone()).concat());
    assert_eq!(printed["args"], expected);
    let arguments = printed["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap());
    let mut child = Command::new(printed["command"].as_str().unwrap())
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "read", "arguments": {"path": project.join("a.txt")},
        }}),
    ];
    let mut stdin = child.stdin.take().unwrap();
    for message in messages {
        writeln!(stdin, "{message}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let replies = String::from_utf8(output.stdout).unwrap();
    assert!(replies.contains("\"serverInfo\":{\"name\":\"eyelet\""), "{replies}");
    assert!(replies.contains("lines 1-1 of 1"), "{replies}");
    // The entry names the symlink that the server was started with, also if it was found on the `PATH`.
    let mut by_symlink = Command::new("eyelet");
    by_symlink.env("PATH", tree.path().join("bin")).current_dir(tree.path()).arg("mcp");
    assert_eq!(entry(&banner(&mut by_symlink))["command"], json!(link));
    let mut by_symlink = Command::new("bin/eyelet");
    by_symlink.current_dir(tree.path()).arg("mcp");
    assert_eq!(entry(&banner(&mut by_symlink))["command"], json!(link));
}
