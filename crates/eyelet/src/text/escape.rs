//! Names and paths as they are shown: valid text, one line each, nothing that moves a cursor.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

/// A name as it is shown. Bytes that are not UTF-8 become U+FFFD; see [`text()`] for the rest.
pub(crate) fn name(name: &OsStr) -> Cow<'_, str> {
    match String::from_utf8_lossy(name.as_bytes()) {
        Cow::Borrowed(valid) => text(valid),
        Cow::Owned(replaced) => Cow::Owned(text(&replaced).into_owned()),
    }
}

/// Text on one line: control characters and bidirectional controls are escaped.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    // Nearly every name is of these, and they are looked at many at once.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.chars().any(is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => escaped.push_str("\\n"),
            '\t' => escaped.push_str("\\t"),
            '\r' => escaped.push_str("\\r"),
            character if is_escaped(character) => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(character));
            }
            character => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character is escaped wherever a name is shown: control characters, the separators of
/// lines and paragraphs, and what turns the direction of text. A door that writes to a terminal
/// escapes them in everything it shows.
pub fn is_escaped(character: char) -> bool {
    matches!(character,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}
