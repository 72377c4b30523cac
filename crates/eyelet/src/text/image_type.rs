//! Detects images by their first bytes.

/// How many bytes are needed to detect an image.
pub(crate) const MAGIC_BYTES: usize = 12;

/// The kinds of image that every host can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageKind {
    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            ImageKind::Png => "image/png",
            ImageKind::Jpeg => "image/jpeg",
            ImageKind::Gif => "image/gif",
            ImageKind::WebP => "image/webp",
        }
    }
}

/// The kind of an image that starts with these bytes.
pub(crate) fn detect(start: &[u8]) -> Option<ImageKind> {
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(ImageKind::Png)
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some(ImageKind::Jpeg)
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        Some(ImageKind::Gif)
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        Some(ImageKind::WebP)
    } else {
        None
    }
}
