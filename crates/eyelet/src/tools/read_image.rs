//! The result of `read` for an image: the image as sent, and its differences from the file.

use serde::Serialize;

use super::read_text::unreadable;
use crate::context::TurnContext;
use crate::error::{ErrorCode, ToolError};
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};
use crate::images::decode::{self, ImageFailure, MAX_DECODED_BYTES, MAX_PIXELS};
use crate::images::image_type::ImageType;
use crate::images::prepare::{MAX_SENT_BYTES, MAX_SIDE, PreparedImage, prepare};
use crate::images::region::Region;
use crate::limits::{Limit, TIME_LIMIT};
use crate::text::escape;
use crate::text::reply_budget::ReplyBudget;
use crate::text::truncate;

/// The maximum size of an image file, in bytes.
pub const MAX_IMAGE_FILE_BYTES: u64 = 32 * 1024 * 1024;

/// An image that `read` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Image {
    /// The path of the file, as the caller wrote it.
    pub path: String,
    /// The kind of the result; always `image`.
    pub r#type: &'static str,
    /// The MIME type of `data`, such as `image/png`.
    pub mime_type: &'static str,
    /// The size of `data`, in bytes.
    pub bytes: u64,
    /// The image as sent: the file itself, or a smaller image.
    #[serde(skip)]
    pub data: Vec<u8>,
    /// Width and height of the image in the file, in pixels, after rotation to the upright
    /// orientation.
    #[serde(skip)]
    pub size: (u32, u32),
    /// The part of the image that `data` shows. `None` if `data` shows the whole image.
    #[serde(skip)]
    pub region: Option<Region>,
    /// Width and height of the image in `data`, in pixels.
    #[serde(skip)]
    pub shown_size: (u32, u32),
    /// The number of frames in the file, if `data` shows only the first frame.
    #[serde(skip)]
    pub first_of: Option<u64>,
}

impl Image {
    /// The header line: the image, and the part of it that is shown.
    pub(super) fn header(&self) -> String {
        let path = escape::text(&self.path);
        let (width, height) = self.size;
        let mut header = format!(
            "[image {}; {width}x{height}",
            truncate::at_most(&path, ReplyBudget::MIN_BYTES / 2)
        );
        if let Some(region) = self.region {
            header.push_str(&format!("; region {region}"));
        }
        if self.shown_size != self.region.map_or(self.size, |part| (part.width, part.height)) {
            let (width, height) = self.shown_size;
            header.push_str(&format!(" shown as {width}x{height}"));
        }
        if let Some(frames) = self.first_of {
            header.push_str(&format!("; first of {frames} frames"));
        }
        header.push(']');
        header
    }
}

/// Reads the image file and prepares it for sending.
pub(super) fn read_image(
    path: String,
    image: ImageType,
    region: Option<Region>,
    file: &RegularFile,
    turn: &TurnContext,
) -> Result<Image, ToolError> {
    let stop_check = turn.stop_check(TIME_LIMIT);
    let _one_at_a_time =
        decode::one_at_a_time(&stop_check).map_err(|stop| stop.error("read", &stop_check))?;
    let data = read_file(&path, file)?;
    let prepared = prepare(image, data, region, || stop_check.check());
    let shown = escape::text(&path);
    let PreparedImage { mime_type, data, size, region, shown_size, first_of } =
        prepared.map_err(|failure| match failure {
            ImageFailure::Corrupt(reason) => ToolError::new(
                ErrorCode::IoError,
                format!("path `{shown}` is a corrupt image: {}", escape::text(&reason)),
            ),
            ImageFailure::TooLarge(why) => {
                ToolError::new(ErrorCode::TooLarge, format!("image `{shown}` {why}"))
            }
            ImageFailure::OutsideRegion(width, height) => ToolError::invalid_input(format!(
                "region is outside of the image `{shown}`, which has {width}x{height} pixels"
            )),
            ImageFailure::Stopped(stop) => stop.error("read", &stop_check),
        })?;
    let bytes = data.len() as u64;
    Ok(Image { path, r#type: "image", mime_type, bytes, data, size, region, shown_size, first_of })
}

fn read_file(path: &str, file: &RegularFile) -> Result<Vec<u8>, ToolError> {
    let mut data = Vec::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    while data.len() as u64 <= MAX_IMAGE_FILE_BYTES && file.size() <= Some(MAX_IMAGE_FILE_BYTES) {
        match file.read_at(data.len() as u64, &mut buffer) {
            Ok(Some(piece)) => data.extend_from_slice(piece),
            Ok(None) => return Ok(data),
            Err(error) => return Err(unreadable(path, &error)),
        }
    }
    let limit = MAX_IMAGE_FILE_BYTES >> 20;
    let message = format!(
        "path `{}` is an image file larger than {limit} MiB; create a smaller copy",
        escape::text(path)
    );
    Err(ToolError::new(ErrorCode::TooLarge, message))
}

/// Parses the argument `region`.
pub(super) fn parse_region(region: &str) -> Result<Region, ToolError> {
    Region::parse(region).ok_or_else(|| {
        ToolError::invalid_input("region must be `x,y,w,h` in pixels, with w and h above zero")
    })
}

/// The error of a region of something else.
pub(super) fn not_an_image(path: &str) -> ToolError {
    ToolError::invalid_input(format!(
        "region is only for images; path `{}` is not a PNG, JPEG, GIF or WebP image",
        escape::text(path)
    ))
}

pub(super) fn limits() -> [Limit; 5] {
    [
        Limit::new("size of an image file", MAX_IMAGE_FILE_BYTES, "bytes")
            .beyond("fails with `too_large`"),
        Limit::new("pixels of an image, of all frames together", MAX_PIXELS, "pixels")
            .beyond("fails with `too_large`"),
        Limit::new("size of an image when decoded", MAX_DECODED_BYTES, "bytes")
            .beyond("fails with `too_large`"),
        Limit::new("width and height of an image as sent", u64::from(MAX_SIDE), "pixels")
            .beyond("the image is scaled down; to see details, set region"),
        Limit::new("size of an image as sent", MAX_SENT_BYTES as u64, "bytes")
            .beyond("the image is sent as a smaller PNG or JPEG"),
    ]
}
