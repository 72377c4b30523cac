//! The path and sandbox options.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{eyelet, same};

const READ: &str = r#"{"path":"a.txt"}"#;

#[test]
fn cwd_works_before_and_after_the_command() {
    let tree = TempTree::new("d/a.txt = one");
    let expected = expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"a.txt","content":"one","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}}
    "#]];
    expected.assert_eq(&same([
        eyelet(&tree, ["--cwd", "d", "call", "read", READ]),
        eyelet(&tree, ["call", "--cwd", "d", "read", READ]),
        eyelet(&tree, ["call", "read", READ, "--cwd=d"]),
    ]));
}

#[test]
fn last_cwd_wins() {
    let tree = TempTree::new("d/a.txt = one");
    expect![[r#"
        exit 0
        --- stdout
        one<no newline>
    "#]]
    .assert_eq(&eyelet(&tree, ["--cwd", "gone", "read", "a.txt", "--cwd", "d"]));
}

#[test]
fn root_works_before_and_after_the_command() {
    let tree = TempTree::new("a.txt = one\nd/");
    let expected = expect![[r#"
        exit 1
        --- stdout
        {"ok":false,"error":{"code":"outside_root","message":"path `a.txt` is outside the roots (/repo/d)","hint":"restart with --root DIR or --read-anywhere"}}
    "#]];
    expected.assert_eq(&same([
        eyelet(&tree, ["--root", "d", "call", "read", READ]),
        eyelet(&tree, ["call", "read", READ, "--root", "d"]),
    ]));
}

#[test]
fn roots_before_and_after_the_command_are_merged() {
    let tree = TempTree::new("one/a.txt = 1\ntwo/a.txt = 2\nthree/a.txt = 3");
    let read = |path| eyelet(&tree, ["--root", "one", "read", "--root", "two", path]);
    expect![[r#"
        exit 0
        --- stdout
        1<no newline>
    "#]]
    .assert_eq(&read("one/a.txt"));
    expect![[r#"
        exit 0
        --- stdout
        2<no newline>
    "#]]
    .assert_eq(&read("two/a.txt"));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: path `/repo/three/a.txt` is outside the roots (/repo/one, /repo/two); restart with --root DIR or --read-anywhere
    "#]].assert_eq(&read("three/a.txt"));
}

#[test]
fn unknown_engine_is_an_error() {
    let tree = TempTree::new("a.txt = one");
    expect![[r#"
        exit 2
        --- stderr
        eyelet: invalid value 'rgg' for '--search-engine <ENGINE>' [possible values: embedded, rg]; a similar value exists: 'rg'
    "#]].assert_eq(&eyelet(&tree, ["--search-engine", "rgg", "grep-files", "one"]));
}

#[test]
fn allow_host_contradicts_network_and_full() {
    let tree = TempTree::new("");
    let bash = |flags: &[&str]| eyelet(&tree, [flags, &["bash", "true"]].concat());
    expect![[r#"
        exit 125
        --- stderr
        eyelet: --allow-host requires a sandbox: add --sandbox workspace-write or --sandbox read-only
    "#]].assert_eq(&bash(&["--allow-host", "example.com"]));
    let sandboxed = ["--sandbox", "read-only", "--allow-host", "example.com"];
    expect![[r#"
        exit 125
        --- stderr
        eyelet: --network allows every host; remove --network or --allow-host
    "#]]
    .assert_eq(&bash(&[&sandboxed[..], &["--network"]].concat()));
    expect![[r#"
        exit 125
        --- stderr
        eyelet: --allow-host: invalid host `localhost`: an address of this machine requires a port: localhost:PORT
    "#]].assert_eq(&bash(&["--sandbox", "read-only", "--allow-host", "localhost"]));
    expect![[r#"
        exit 125
        --- stderr
        eyelet: --allow-host: invalid host `https://example.com/`: expected a name or an IP address
    "#]]
    .assert_eq(&bash(&["--sandbox", "read-only", "--allow-host", "https://example.com/"]));
}
