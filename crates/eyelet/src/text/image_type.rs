//! Detects images by their first bytes.

/// How many bytes are needed to detect an image.
pub(crate) const MAGIC_BYTES: usize = 12;

/// The MIME type of an image that starts with these bytes, if every host can show it.
pub(crate) fn detect(start: &[u8]) -> Option<&'static str> {
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some("image/png")
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some("image/jpeg")
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        Some("image/gif")
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        Some("image/webp")
    } else {
        None
    }
}
