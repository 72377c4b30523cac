//! `eyelet read`.

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::eyelet;
use testkit::eyelet_bin;

#[test]
fn content_goes_to_stdout_unchanged() {
    let tree = TempTree::new("a.txt = one\\r\\n\\ttwo\nescape.txt = ");
    tree.file("escape.txt", "\u{1b}[31mred\u{202e}\n");
    expect![[r#"
        exit 0
        --- stdout
        one<CR>
        	two<no newline>
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "a.txt"]));
    assert_eq!(
        eyelet(&tree, ["read", "escape.txt"]),
        "exit 0\n--- stdout\n\u{1b}[31mred\u{202e}\n"
    );
}

#[test]
fn truncated_page_says_how_to_continue() {
    let tree = TempTree::new("a.txt = 1\\n2\\n3\\n");
    expect![[r#"
        exit 0
        --- stdout
        1
        2
        --- stderr
        lines 1-2 of 3; continue with --offset 3
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "a.txt", "--limit", "2"]));
    expect![[r#"
        exit 0
        --- stdout
        3
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "a.txt", "--offset", "3"]));
    expect![[r#"
        exit 0
        --- stderr
        no lines at offset 4; 3 lines in total
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "a.txt", "--offset", "4"]));
}

#[test]
fn truncated_line_says_how_to_continue() {
    let tree = TempTree::new("");
    tree.file("a.txt", format!("{}end\n", "x".repeat(500)));
    let cut = eyelet(&tree, ["read", "a.txt"]).replace(&"x".repeat(500), "<500 x>");
    expect![[r#"
        exit 0
        --- stdout
        <500 x>
        --- stderr
        lines 1-1 of 1; 1 line truncated, continue with --column 501
    "#]]
    .assert_eq(&cut);
    expect![[r#"
        exit 0
        --- stdout
        end
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "a.txt", "--column", "501"]));
}

#[test]
fn file_that_is_not_utf8_or_is_binary_has_a_note() {
    let tree = TempTree::new("");
    tree.file("latin1", b"caf\xe9\nna\xefve\n");
    tree.file("one", b"\xe9\n");
    tree.file("data", b"a\0b\xff\n");
    expect![[r#"
        exit 0
        --- stdout
        caf�
        na�ve
        --- stderr
        2 bytes of the file are not UTF-8, shown as U+FFFD
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "latin1"]));
    expect![[r#"
        exit 0
        --- stdout
        caf�
        --- stderr
        lines 1-1 of 2; continue with --offset 2; 2 bytes of the file are not UTF-8, shown as U+FFFD
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "latin1", "--limit", "1"]));
    let one = eyelet(&tree, ["read", "one"]);
    assert!(one.ends_with("stderr\n1 byte of the file is not UTF-8, shown as U+FFFD\n"), "{one}");
    let data = eyelet(&tree, ["read", "data"]);
    assert!(data.ends_with("stderr\nbinary file: data\n"), "{data}");
}

#[test]
fn image_is_described_instead_of_printed() {
    let tree = TempTree::new("");
    tree.file("dot.png", testkit::png(1, 1));
    expect![[r#"
        exit 0
        --- stdout
        [image /repo/dot.png; image/png; 70 bytes]
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "dot.png"]));
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"/repo/dot.png","type":"image","mime_type":"image/png","bytes":70,"base64":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAADUlEQVR4AQECAP3/AAAAAgABfgUN0gAAAABJRU5ErkJggg=="}}
    "#]].assert_eq(&eyelet(&tree, ["read", "dot.png", "--json"]));
}

#[test]
fn json_prints_the_envelope() {
    let tree = TempTree::new("a.txt = one");
    expect![[r#"
        exit 0
        --- stdout
        {"ok":true,"data":{"path":"/repo/a.txt","content":"one","offset":1,"lines_shown":1,"total_lines":1,"truncated":false}}
    "#]].assert_eq(&eyelet(&tree, ["read", "--json", "a.txt"]));
}

#[test]
fn error_is_one_line_on_stderr() {
    let tree = TempTree::new("d/");
    expect![[r#"
        exit 1
        --- stderr
        eyelet: path `/repo/gone` cannot be read: No such file or directory (os error 2)
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "gone"]));
    expect![[r#"
        exit 1
        --- stderr
        eyelet: path `/repo/d` is not a regular file; use list_dir to list a directory
    "#]]
    .assert_eq(&eyelet(&tree, ["read", "d"]));
}

#[test]
fn deep_path_under_a_root_needs_few_open_files() {
    let tree = TempTree::new("");
    let path = format!("{}f", "d/".repeat(500));
    tree.file(&path, "deep\n");
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --root . read \"$1\""])
        .arg(eyelet_bin())
        .arg(&path)
        .current_dir(tree.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.stdout, b"deep\n");
}
