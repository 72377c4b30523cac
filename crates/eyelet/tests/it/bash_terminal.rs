//! `bash`: the text form shows what a terminal would show. The envelope and saved files are raw.

use std::fs;

use expect_test::expect;
use eyelet::tools::{BashReport, Shown};
use eyelet::{ReplyBudget, Report as _};
use serde_json::json;
use testkit::TempTree;

use crate::bash::{envelope, run, text, turn};

#[test]
fn the_text_form_folds_redraws_and_names_the_raw_file() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command =
        r"printf 'start\n'; for n in {1..1813}; do printf '\r%s of 1813\033[K' $n; done; echo";
    expect![[r#"
        [exit 0; stdout 2 lines, 1,812 redraws folded, saved to /spill; stderr empty]
        start
        1813 of 1813
    "#]]
    .assert_eq(&text(&tree, &turn, &json!({ "command": command })));
    let report = run(&turn, command);
    let saved = fs::read(report.stdout.file().expect("saved")).expect("readable");
    assert!(saved.starts_with(b"start\n\r1 of 1813\x1b[K\r2 of 1813\x1b[K"));
    assert_eq!(saved.len() as u64, report.stdout.total_bytes);
}

#[test]
fn the_envelope_has_the_raw_streams() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    expect![[r#"{"ok":true,"data":{"stdout":"a\rb\n","stderr":"\u001b[31mred\u001b[m\n","exit_code":0,"timed_out":false,"stdout_truncated":false,"stderr_truncated":false,"stdout_total_bytes":4,"stderr_total_bytes":12,"stdout_file":"/spill"}}"#]]
    .assert_eq(&envelope(&tree, &turn, &json!({"command": r"printf 'a\rb\n'; printf '\033[31mred\033[m\n' >&2"})));
}

#[test]
fn colours_are_dropped_without_a_word() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let arguments =
        json!({"command": r"printf '\033[1;32m\033[Kok\033[m\033[K\r\n'; printf '\033[31m' >&2"});
    assert_eq!(text(&tree, &turn, &arguments), "[exit 0; stdout 1 line; stderr empty]\nok\r\n");
    assert_eq!(fs::read_dir(tree.beside()).unwrap().count(), 0, "nothing is saved");
}

#[test]
fn streams_without_control_characters_are_untouched() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let report = run(&turn, r"printf 'a\tb  \n\0\x07\xff\n'; printf x >&2");
    assert_eq!((&report.stdout.folded, &report.stderr.folded), (&None, &None));
    assert_eq!(
        report.content(),
        "[exit 0; stdout 2 lines; stderr 1 line]\na\tb  \n\0\x07\u{fffd}\n[stderr]\nx"
    );
}

/// Some megabytes of progress, and short lines between.
const LONG: &str = r#"for n in {1..400}; do printf "%s" "$bar"; echo; seq 20; done; echo end"#;

fn long(turn: &eyelet::TurnContext) -> BashReport {
    let bar = r"bar=$(for n in {1..1000}; do printf '\rstep %s\033[K' $n; done)";
    run(turn, &format!("{bar}; {LONG}"))
}

#[test]
fn lines_of_the_whole_folded_stream_are_counted() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let report = long(&turn);
    let folded = report.stdout.folded.clone().expect("folded");
    assert!(report.stdout.total_bytes > 4_000_000 && report.stdout.is_truncated());
    assert_eq!((folded.lines, folded.redraws), (400 * 21 + 1, 400 * 999));
    // The folded stream fits.
    let Shown::Whole(shown) = &folded.shown else { panic!("{:?}", folded.shown) };
    let block = (1..=20).map(|n| format!("{n}\n")).collect::<String>();
    assert_eq!(*shown, format!("step 1000\n{block}").repeat(400) + "end\n");
    assert_eq!(folded.total_bytes, shown.len() as u64);
    let saved = fs::metadata(report.stdout.file().expect("saved")).expect("readable");
    assert_eq!(saved.len(), report.stdout.total_bytes);
}

#[test]
fn the_folded_text_fits_the_reply() {
    let tree = TempTree::new("");
    for bytes in [4096, 20_000, 50_000] {
        let budget = ReplyBudget::new(bytes);
        let turn = turn(&tree).with_reply_budget(budget);
        let text = long(&turn).reply();
        assert!(budget.fits(&text), "{} bytes", text.len());
        let header = text.lines().next().unwrap();
        let start = "[exit 0; stdout 8401 lines, 399,600 redraws folded, 24404 bytes, first ";
        assert!(header.starts_with(start) && header.contains(" shown, saved to /"), "{header}");
        assert!(
            text.starts_with(&format!("{header}\nstep 1000\n1\n2\n"))
                && text.ends_with("20\nend\n")
        );
        assert!(text.contains(" bytes truncated]\n"));
    }
}

#[test]
fn a_folded_stream_leaves_its_share_to_the_other_one() {
    let tree = TempTree::new("");
    let turn = turn(&tree).with_reply_budget(ReplyBudget::new(20_000));
    let report = run(
        &turn,
        r"for n in {1..3000}; do printf '\rstep %s' $n; done; head -c 15000 /dev/zero | tr '\0' x >&2",
    );
    assert!(report.stdout.is_truncated() && report.stderr.is_truncated());
    let text = report.reply();
    assert!(text.contains("; stderr 1 line]\nstep 3000\n[stderr]\nxxx"), "{text}");
    assert!(text.ends_with(&"x".repeat(15_000)));
}

#[test]
fn memory_does_not_grow_with_a_stream_that_is_folded() {
    testkit::in_own_process(
        "bash_terminal::memory_does_not_grow_with_a_stream_that_is_folded",
        || {
            let tree = TempTree::new("");
            let turn = turn(&tree);
            run(&turn, r"printf 'a\rb'");
            let before = testkit::peak_memory();
            // Lines that are redrawn, a line without an end, and a sequence without an end.
            let sources = [
                r"yes $'\r50%\e[K'",
                r"yes $'\r50%\e[K' | tr -d '\n'",
                r"printf '\033]0;'; yes | tr -d '\n'",
            ];
            for source in sources {
                let report = run(&turn, &format!("{{ {source}; }} | head -c 30000000"));
                assert_eq!(report.stdout.total_bytes, 30_000_000);
            }
            let grown = testkit::peak_memory() - before;
            assert!(grown < 8 << 20, "grew by {grown} bytes");
        },
    );
}
