//! Detects images by their first bytes.

/// The kinds of images that every host can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ImageType {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageType {
    pub(crate) fn mime_type(self) -> &'static str {
        match self {
            ImageType::Png => "image/png",
            ImageType::Jpeg => "image/jpeg",
            ImageType::Gif => "image/gif",
            ImageType::WebP => "image/webp",
        }
    }
}

/// The kind of an image that starts with these bytes.
pub(crate) fn detect(start: &[u8]) -> Option<ImageType> {
    // Some images start with letters only, and so can a text. Each of them has a NUL soon after.
    let is_text = || !start.contains(&0);
    if start.starts_with(b"\x89PNG\r\n\x1a\n") {
        Some(ImageType::Png)
    } else if start.starts_with(b"\xff\xd8\xff") {
        Some(ImageType::Jpeg)
    } else if start.starts_with(b"GIF87a") || start.starts_with(b"GIF89a") {
        (!is_text()).then_some(ImageType::Gif)
    } else if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"WEBP") {
        (!is_text()).then_some(ImageType::WebP)
    } else {
        None
    }
}
