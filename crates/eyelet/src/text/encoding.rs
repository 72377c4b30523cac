//! Text encodings: labels, byte-order marks, and the names that replies suggest.

use encoding_rs::{Encoding, GB18030, GBK, UTF_8};

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextEncoding {
    /// Invalid bytes become U+FFFD.
    Utf8,
    /// Decoded to UTF-8 first.
    Other(&'static Encoding),
}

impl From<&'static Encoding> for TextEncoding {
    fn from(encoding: &'static Encoding) -> Self {
        if encoding == UTF_8 { TextEncoding::Utf8 } else { TextEncoding::Other(encoding) }
    }
}

/// The encoding with this WHATWG label, if it can be decoded.
pub(crate) fn from_label(label: &str) -> Option<TextEncoding> {
    Encoding::for_label_no_replacement(label.as_bytes()).map(TextEncoding::from)
}

/// The encoding that the byte-order mark at the start of a file names.
pub(crate) fn from_mark(start: &[u8]) -> Option<TextEncoding> {
    Encoding::for_bom(start).map(|(encoding, _)| TextEncoding::from(encoding))
}

/// The length of the byte-order mark of UTF-8 at the start of a file, or 0.
pub(crate) fn utf8_mark_bytes(start: &[u8]) -> u64 {
    match Encoding::for_bom(start) {
        Some((encoding, length)) if encoding == UTF_8 => length as u64,
        Some(_) | None => 0,
    }
}

/// The label that a reply suggests: of two encodings of which one contains the other, the larger one.
pub(crate) fn label(encoding: &'static Encoding) -> String {
    superset(encoding).name().to_ascii_lowercase()
}

/// The encoding that contains this one.
pub(crate) fn superset(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == GBK { GB18030 } else { encoding }
}
