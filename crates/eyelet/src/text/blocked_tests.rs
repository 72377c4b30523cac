use super::{Blocked, BlockedAction, Certainty, MAX_NOTE_BYTES, notes, summarize};

fn write(path: &str) -> Blocked {
    Blocked::probably(BlockedAction::Write { path: path.to_owned() })
}

#[test]
fn blocked_entries_are_counted_and_certain_ones_come_first() {
    let host = || Blocked::connect(Some("a.example:443".to_owned()), Certainty::Certain, 1);
    let (entries, more) = summarize([
        write("~/.npm"),
        host(),
        Blocked::connect(None, Certainty::Certain, 3),
        write("~/.npm"),
        host(),
    ]);
    let words: Vec<_> = entries.iter().map(ToString::to_string).collect();
    assert_eq!(
        words,
        [
            "sandbox blocked: network connect to a.example:443 (2x)",
            "sandbox blocked: network connect (3x)",
            "sandbox probably blocked: write ~/.npm (2x)",
        ]
    );
    assert_eq!(
        notes(&entries, more, Some("ask")).join("; "),
        "sandbox blocked: network connect to a.example:443 (2x), network connect (3x); \
         sandbox probably blocked: write ~/.npm (2x); ask"
    );
}

#[test]
fn a_report_has_at_most_five_blocked_entries_and_counts_the_rest() {
    let (entries, more) = summarize((0..7).map(|number| write(&format!("/usr/{number}"))));
    assert_eq!((entries.len(), more), (5, 2));
    assert_eq!(
        notes(&entries, more, None),
        ["sandbox probably blocked: write /usr/0, write /usr/1, write /usr/2, write /usr/3, \
          write /usr/4 and 2 more"]
    );
    assert!(notes(&[], 0, None).is_empty());
}

#[test]
fn long_names_do_not_exceed_the_room_of_the_header() {
    let long = |number| {
        let host = Some(format!("{number}{}", "é".repeat(900)));
        Blocked::connect(host, Certainty::Certain, u64::MAX)
    };
    let (entries, more) = summarize((0..9).map(long));
    let hint = "allow with --allow-host, --writable, --sandbox workspace-write";
    for hint in [None, Some(hint)] {
        let text = notes(&entries, more, hint).join("; ");
        assert!(text.len() <= MAX_NOTE_BYTES, "{} {text}", text.len());
        assert!(text.contains(" more"), "{text}");
        let one = notes(&entries[..1], 0, hint).join("; ");
        assert!(one.len() <= MAX_NOTE_BYTES && one.starts_with("sandbox blocked: "), "{one}");
        assert_eq!(hint.is_some_and(|hint| one.ends_with(hint)), hint.is_some(), "{one}");
    }
}
