use super::*;

fn merged(old: &str, scope: Scope, root: Option<&str>, new: &str) -> (String, String) {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let ServerArguments { words, dropped } = merge(&words(old), scope, root, &words(new));
    (words.join(" "), dropped.join(", "))
}

fn of_user(old: &str, root: Option<&str>, new: &str) -> String {
    let (words, dropped) = merged(old, Scope::User, root, new);
    assert_eq!(dropped, "", "{old}");
    words
}

#[test]
fn flags_of_a_users_entry_are_kept_in_their_order() {
    for old in ["mcp --network --deny=*.pem --sandbox full", "--deny x mcp --root /b --root /a"] {
        assert_eq!(of_user(old, None, ""), old);
        assert_eq!(of_user(old, Some("/a"), ""), old.replace("mcp --n", "mcp --root /a --n"));
    }
}

#[test]
fn new_flags_replace_values_and_extend_lists() {
    let old = "mcp --sandbox full --tools read --deny a --strict";
    let new = "--sandbox=off --tools bash --deny b --deny a --strict";
    assert_eq!(
        of_user(old, None, new),
        "mcp --deny a --strict --sandbox=off --tools bash --deny b"
    );
}

#[test]
fn flags_of_a_projects_entry_are_kept_if_they_narrow() {
    let narrow = "mcp --deny a --strict --tools read --sandbox read-only --reply-bytes 5000";
    assert_eq!(merged(narrow, Scope::Project, None, ""), (narrow.to_owned(), String::new()));
    let wide = "mcp --sandbox full --network --root / --root ${x} --env A --read-anywhere --deny a";
    let (words, dropped) = merged(wide, Scope::Project, Some("${x}"), "--network");
    assert_eq!(words, "mcp --network --root ${x} --deny a");
    assert_eq!(dropped, "--sandbox full, --root /, --env A, --read-anywhere");
}

#[test]
fn arguments_that_start_no_server_are_dropped() {
    for old in ["serve --x 1", "mcp --http 127.0.0.1:0", "mcp --nonsense", "bash true"] {
        let (words, dropped) = merged(old, Scope::User, Some("/a"), "--strict");
        assert_eq!(words, "mcp --root /a --strict");
        assert!(!dropped.is_empty(), "{old}");
    }
    assert_eq!(merged("", Scope::User, None, ""), ("mcp".to_owned(), String::new()));
}
