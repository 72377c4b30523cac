//! Escapes names and paths for display: valid text on one line, without control characters.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

/// Returns a name for display. Bytes that are not UTF-8 become U+FFFD; control characters and
/// bidirectional controls are escaped.
pub fn name(name: &OsStr) -> Cow<'_, str> {
    match String::from_utf8_lossy(name.as_bytes()) {
        Cow::Borrowed(valid) => text(valid),
        Cow::Owned(replaced) => Cow::Owned(text(&replaced).into_owned()),
    }
}

/// Text on one line. Escapes control characters and bidirectional controls.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, is_escaped)
}

/// The same for a line of a file: tabs stay.
pub(crate) fn line(line: &str) -> Cow<'_, str> {
    escaped(line, |character| character != '\t' && is_escaped(character))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    // Nearly all names are plain ASCII, which the compiler checks many bytes at a time.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !is_escaped(character) {
            escaped.push(character);
            continue;
        }
        match character {
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            character => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
            }
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether displayed names escape this character: control characters, line and paragraph
/// separators, and bidirectional controls. An interface that writes to a terminal should escape
/// these characters everywhere.
pub fn is_escaped(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}
