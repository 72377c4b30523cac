use super::*;

fn name(text: &str) -> OsString {
    conflict_name(OsStr::new(text))
}

#[test]
fn long_names_are_shortened_and_stay_different() {
    assert_eq!(name(".mcp.json"), ".mcp.json.eyelet-conflict");
    let long = ["x".repeat(255), format!("{}y", "x".repeat(254)), "ä".repeat(127)];
    let names = long.each_ref().map(|long| name(long));
    for (name, long) in names.iter().zip(&long) {
        let text = name.to_str().unwrap();
        assert!(text.len() <= 253 && text.ends_with(".eyelet-conflict"), "{text}");
        // As a conflict copy in a folder, and beside the original.
        for base in [OsStr::new(long), name] {
            let mut all: Vec<_> = candidates(base).collect();
            assert!(all.iter().all(|name| name.len() <= 255), "{all:?}");
            all.sort();
            all.dedup();
            assert_eq!(all.len(), MAX_COPIES, "{all:?}");
        }
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn equal_versions_are_kept_once() {
    let tree = testkit::TempTree::new("");
    let folder = open(tree.path()).unwrap().unwrap();
    let base = name(".mcp.json");
    let aside = |text: &str| {
        std::fs::write(tree.path().join(".mcp.json"), text).unwrap();
        let aside = set_aside(&folder, OsStr::new(".mcp.json"), &folder, &base).unwrap();
        assert!(!tree.path().join(".mcp.json").exists());
        (aside.name.unwrap().into_string().unwrap(), aside.removed)
    };
    let copy = |number: &str| (format!(".mcp.json.eyelet-conflict{number}"), 0);
    assert_eq!(aside("one"), copy(""));
    assert_eq!(aside("other"), copy(".2"));
    assert_eq!(aside("one"), copy(""));
    for number in 3..=MAX_COPIES {
        assert_eq!(aside(&number.to_string()), copy(&format!(".{number}")));
    }
    assert_eq!(aside("one more").1, 1);
    assert_eq!(std::fs::read_dir(tree.path()).unwrap().count(), MAX_COPIES);
}
