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
