use super::difference;

#[test]
fn misspelt_names_are_similar_and_others_are_not() {
    for (wanted, name) in [
        ("mian.rs", "main.rs"),
        ("readme.md", "README.md"),
        ("README", "README.md"),
        ("config.yml", "config.yaml"),
        ("notes.txt", "notes.md"),
        ("tests_helper.py", "test_helpers.py"),
        ("größe.txt", "grösse.txt"),
    ] {
        assert!(difference(wanted, name).is_some(), "{wanted}, {name}");
    }
    for (wanted, name) in
        [("a", "b"), ("main.rs", "lib.rs"), ("missing", "dangling"), ("ab", "abcd"), ("x.c", "y.h")]
    {
        assert_eq!(difference(wanted, name), None, "{wanted}, {name}");
    }
    assert!(difference("mian.rs", "main.rs") < difference("mian.rs", "mian.txt"));
    assert_eq!(difference(&"x".repeat(300), &("x".repeat(299) + "y")), None);
}
