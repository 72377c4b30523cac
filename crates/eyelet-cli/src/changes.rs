//! What changed in a client's config file, as a diff.

use serde_json::Value;
use similar::TextDiff;

/// A longer line shows too much besides the change.
const MAX_LINE_BYTES: usize = 300;

/// The changed lines. Lines around them are not shown, because these files often contain secrets of other
/// servers. If the file is on one line that changes, or a changed line is very long, the diff shows the entry
/// instead, with one field per line.
pub(crate) fn diff(
    old: &str,
    new: &str,
    entries: impl FnOnce() -> (Option<Value>, Option<Value>),
) -> String {
    let lines = changed_lines(old, new);
    let is_one_line = old.trim().lines().count() == 1;
    let changes_it = is_one_line && lines.lines().any(|line| line.starts_with('-'));
    if !changes_it && lines.lines().all(|line| line.len() <= MAX_LINE_BYTES) {
        return lines;
    }
    let (old, new) = entries();
    let text = |entry: Option<Value>| entry.map(|entry| format!("{entry:#}\n")).unwrap_or_default();
    changed_lines(&text(old), &text(new))
}

fn changed_lines(old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(0).missing_newline_hint(false).to_string()
}
