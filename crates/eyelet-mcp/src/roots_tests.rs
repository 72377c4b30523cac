use super::*;

#[test]
fn only_local_file_urls_name_a_root_decoded_once() {
    for (uri, expected) in [
        ("file:///a/b", Some("/a/b")),
        ("FILE:///a", Some("/a")),
        ("file://localhost/a", Some("/a")),
        ("file:///a%20b", Some("/a b")),
        ("file:///a%2520b", Some("/a%20b")),
        ("file:///", Some("/")),
        ("file:///%C3%A9", Some("/é")),
        ("http:///a", None),
        ("http://localhost/a", None),
        ("file://elsewhere/a", None),
        ("file:a", None),
        ("/a", None),
        ("file:///a%2", None),
        ("file:///a%zz", None),
        ("file:///a%00", None),
        ("file:///a?b", None),
        ("é", None),
        ("", None),
    ] {
        assert_eq!(path_from_uri(uri), expected.map(PathBuf::from), "{uri}");
    }
}
