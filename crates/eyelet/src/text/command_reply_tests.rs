use expect_test::expect;

use super::*;
use crate::text::head_tail::Piece;
use crate::text::removed_files::RemovedFiles;

fn whole(text: &str, lines: u64) -> StreamReport {
    let shown = Shown::Whole(text.to_owned());
    StreamReport { shown, total_bytes: text.len() as u64, lines, saved: None, folded: None }
}

fn piece(text: &str) -> Piece {
    Piece { text: text.to_owned(), bytes: text.len() as u64 }
}

fn truncated(shown: Shown, saved: SavedOutput) -> StreamReport {
    StreamReport { shown, total_bytes: 1_000, lines: 40, saved: Some(saved), folded: None }
}

/// The reply of a call that removed no files.
fn render(status: &str, stdout: &StreamReport, stderr: &StreamReport) -> String {
    super::render(status, [stdout, stderr], NamedFiles::IfTruncated, [])
}

fn file() -> SavedOutput {
    SavedOutput::Whole { file: "/tmp/f".into() }
}

#[test]
fn streams_that_fit_are_counted_in_lines() {
    let stderr = whole("oh\nno", 2);
    let text = [
        render("exit 0", &whole("", 0), &whole("", 0)),
        render("exit 0", &whole("a\nb\nc\n", 3), &whole("", 0)),
        render("exit 1", &whole("a", 1), &stderr),
        render("cancelled", &whole("", 0), &stderr),
    ];
    expect![[r#"
        [exit 0; stdout empty; stderr empty]
        ---
        [exit 0; stdout 3 lines; stderr empty]
        a
        b
        c

        ---
        [exit 1; stdout 1 line; stderr 2 lines]
        a
        [stderr]
        oh
        no
        ---
        [cancelled; stdout empty; stderr 2 lines]
        [stderr]
        oh
        no"#]]
    .assert_eq(&text.join("\n---\n"));
}

#[test]
fn a_truncated_stream_names_the_shown_part_and_the_file() {
    let both = Shown::Both { head: piece("start\n"), tail: piece("end\n") };
    let open = Shown::Both { head: piece("sta"), tail: piece("end") };
    let text = [
        render("exit 0", &truncated(Shown::Head(piece("start")), file()), &whole("", 0)),
        render("exit 0", &truncated(Shown::Tail(piece("end")), file()), &whole("", 0)),
        render("exit 0", &truncated(both, file()), &whole("", 0)),
        render("timed out after 2 s", &whole("", 0), &truncated(open, file())),
    ];
    expect![[r#"
        [exit 0; stdout 40 lines, 1000 bytes, first 5 shown, saved to /tmp/f; stderr empty]
        start
        ---
        [exit 0; stdout 40 lines, 1000 bytes, last 3 shown, saved to /tmp/f; stderr empty]
        end
        ---
        [exit 0; stdout 40 lines, 1000 bytes, first 6 and last 4 shown, saved to /tmp/f; stderr empty]
        start
        [990 bytes truncated]
        end

        ---
        [timed out after 2 s; stdout empty; stderr 40 lines, 1000 bytes, first 3 and last 3 shown, saved to /tmp/f]
        [stderr]
        sta
        [994 bytes truncated]
        end"#]]
    .assert_eq(&text.join("\n---\n"));
}

#[test]
fn a_stream_that_is_not_saved_completely_says_so() {
    let head = || Shown::Head(piece("start"));
    let start = SavedOutput::Start { file: "/tmp/f".into(), bytes: 700 };
    let lost = SavedOutput::Failed { reason: "no space\nleft".to_owned() };
    let text = render("exit 0", &truncated(head(), start), &truncated(head(), lost));
    expect![[r#"
        [exit 0; stdout 40 lines, 1000 bytes, first 5 shown, first 700 bytes saved to /tmp/f; stderr 40 lines, 1000 bytes, first 5 shown, not saved: no space\nleft]
        start
        [stderr]
        start"#]]
    .assert_eq(&text);
}

#[test]
fn the_header_names_one_removed_file_and_counts_the_rest() {
    let mut removed = RemovedFiles::default();
    let render_with = |removed: &RemovedFiles| {
        super::render(
            "exit 0",
            [&whole("a", 1), &whole("", 0)],
            NamedFiles::IfTruncated,
            removed.summary(),
        )
    };
    removed.add("/tmp/one".into());
    assert_eq!(
        render_with(&removed),
        "[exit 0; stdout 1 line; stderr empty; removed to free space: /tmp/one]\na"
    );
    (0..9).for_each(|number| removed.add(format!("/tmp/{number}").into()));
    assert!(render_with(&removed).contains("; removed to free space: /tmp/one and 9 more]\n"));
    assert_eq!((removed.named().len(), removed.count()), (8, 10));
    assert_eq!(removed.list().last().map(String::as_str), Some("and 2 more"));
}
