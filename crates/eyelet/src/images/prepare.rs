//! Prepares an image for a model: clients refuse large and corrupt ones, and a conversation that
//! contains one fails for good.

use std::io::Cursor;

use image::codecs::jpeg::JpegEncoder;
use image::{
    DynamicImage, GenericImageView as _, ImageFormat, ImageResult, Rgb, RgbImage, imageops,
};

use crate::cancel::Stop;
use crate::images::decode::{ImageFailure, ImageFile};
use crate::images::image_type::ImageType;
use crate::images::region::{Region, is_turned};

/// The maximum size of an image as sent, in bytes.
pub(crate) const MAX_SENT_BYTES: usize = 3_932_160;
/// The maximum width and height of an image as sent, in pixels.
pub(crate) const MAX_SIDE: u32 = 1568;

/// The qualities to try until a JPEG fits.
const JPEG_QUALITIES: [u8; 3] = [85, 60, 25];

/// An image as it is sent, and how it differs from the file.
#[derive(Debug)]
pub(crate) struct PreparedImage {
    pub(crate) mime_type: &'static str,
    pub(crate) data: Vec<u8>,
    /// Width and height of the image in the file, upright.
    pub(crate) size: (u32, u32),
    /// The part that is shown, within the image.
    pub(crate) region: Option<Region>,
    /// Width and height as shown.
    pub(crate) shown_size: (u32, u32),
    /// How many frames the file has, if only the first is shown.
    pub(crate) first_of: Option<u64>,
}

/// Prepares the image in `file`, or a region of it. `check` fails if the call has ended.
pub(crate) fn prepare(
    image: ImageType,
    file: Vec<u8>,
    region: Option<Region>,
    check: impl Fn() -> Result<(), Stop>,
) -> Result<PreparedImage, ImageFailure> {
    check().map_err(ImageFailure::Stopped)?;
    let opened = ImageFile::open(image, &file)?;
    let (width, height) = opened.size;
    let size = if is_turned(opened.orientation) { (height, width) } else { (width, height) };
    let is_small = width.max(height) <= MAX_SIDE && file.len() <= MAX_SENT_BYTES;
    if is_small && region.is_none() {
        opened.check_all_frames(check)?;
        let mime_type = image.mime_type();
        let (region, shown_size, first_of) = (None, size, None);
        return Ok(PreparedImage { mime_type, data: file, size, region, shown_size, first_of });
    }
    let outside = ImageFailure::OutsideRegion(size.0, size.1);
    let region = match region {
        Some(region) => Some(region.within(size).ok_or(outside)?),
        None => None,
    };
    let frames = opened.frames();
    let stored = region.map(|region| region.as_stored(opened.orientation, opened.size));
    let mut shown = reduce(opened.first_frame()?, stored);
    shown.apply_orientation(opened.orientation);
    let shown_size = shown.dimensions();
    let (mime_type, data) = encode(shown)?;
    let first_of = (frames > 1).then_some(frames);
    Ok(PreparedImage { mime_type, data, size, region, shown_size, first_of })
}

/// The region of the image, or all of it, scaled down to [`MAX_SIDE`].
fn reduce(image: DynamicImage, region: Option<Region>) -> DynamicImage {
    let (width, height) = region.map_or(image.dimensions(), |part| (part.width, part.height));
    let size = fit(width, height);
    let is_scaled = size != (width, height);
    match region {
        None if is_scaled => image.thumbnail_exact(size.0, size.1),
        None => image,
        // A large region is scaled without a copy of it.
        Some(part) if is_scaled => {
            let view = imageops::crop_imm(&image, part.x, part.y, part.width, part.height);
            imageops::thumbnail(&*view, size.0, size.1).into()
        }
        Some(part) => image.crop_imm(part.x, part.y, part.width, part.height),
    }
}

/// The size of an image after it was scaled down.
fn fit(width: u32, height: u32) -> (u32, u32) {
    let long = width.max(height);
    if long <= MAX_SIDE {
        return (width, height);
    }
    let scaled = |side: u32| {
        let side = (u64::from(side) * u64::from(MAX_SIDE) + u64::from(long) / 2) / u64::from(long);
        u32::try_from(side).unwrap_or(MAX_SIDE).clamp(1, MAX_SIDE)
    };
    (scaled(width), scaled(height))
}

/// A PNG, or a JPEG if the PNG is too large.
fn encode(image: DynamicImage) -> ImageResult<(&'static str, Vec<u8>)> {
    let color = image.color();
    // With 8 bits per channel: more cannot be seen.
    let image: DynamicImage = match (color.has_color(), color.has_alpha()) {
        (_, true) => image.into_rgba8().into(),
        (true, false) => image.into_rgb8().into(),
        (false, false) => image.into_luma8().into(),
    };
    let mut png = Vec::new();
    image.write_to(&mut Cursor::new(&mut png), ImageFormat::Png)?;
    if png.len() <= MAX_SENT_BYTES {
        return Ok((ImageType::Png.mime_type(), png));
    }
    let opaque = on_white(&image);
    let mut jpeg = Vec::new();
    for quality in JPEG_QUALITIES {
        jpeg.clear();
        opaque.write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, quality))?;
        if jpeg.len() <= MAX_SENT_BYTES {
            break;
        }
    }
    Ok((ImageType::Jpeg.mime_type(), jpeg))
}

/// The image on a white background: JPEG has no transparency.
fn on_white(image: &DynamicImage) -> RgbImage {
    let mut opaque = RgbImage::from_pixel(image.width(), image.height(), Rgb([255; 3]));
    for ((_, _, image::Rgba([r, g, b, alpha])), below) in image.pixels().zip(opaque.pixels_mut()) {
        let alpha = u32::from(alpha);
        let blend = |color: u8| {
            u8::try_from((u32::from(color) * alpha + 255 * (255 - alpha)) / 255).unwrap_or(255)
        };
        *below = Rgb([r, g, b].map(blend));
    }
    opaque
}

#[cfg(test)]
#[path = "prepare_tests.rs"]
mod tests;
