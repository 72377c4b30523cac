//! Decodes images within limits, which are checked before.

use std::io::Cursor;
use std::sync::{Mutex, MutexGuard};

use image::codecs::gif::GifDecoder;
use image::codecs::jpeg::JpegDecoder;
use image::codecs::png::PngDecoder;
use image::codecs::webp::WebPDecoder;
use image::metadata::Orientation;
use image::{
    AnimationDecoder as _, DynamicImage, Frames, ImageDecoder, ImageError, ImageResult, Limits,
};

use crate::cancel::{Stop, StopCheck};
use crate::images::container::{FrameCount, count_frames};
use crate::images::image_type::ImageType;

/// The maximum number of pixels, of all decoded frames together.
pub(crate) const MAX_PIXELS: u64 = 100_000_000;
/// The maximum size of a decoded image, in bytes.
pub(crate) const MAX_DECODED_BYTES: u64 = 400 * 1024 * 1024;

/// Why an image is not shown.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ImageFailure {
    /// The image cannot be decoded, for this reason.
    Corrupt(String),
    /// The image exceeds a limit; the text describes it, such as `has 2 frames of …`.
    TooLarge(String),
    /// The region is outside of the image, which has this size.
    OutsideRegion(u32, u32),
    /// The call ended.
    Stopped(Stop),
}

impl From<ImageError> for ImageFailure {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Limits(_) => ImageFailure::TooLarge(format!(
                "needs more than {} MiB when decoded",
                MAX_DECODED_BYTES >> 20
            )),
            error @ (ImageError::Decoding(_)
            | ImageError::Encoding(_)
            | ImageError::Parameter(_)
            | ImageError::Unsupported(_)
            | ImageError::IoError(_)) => ImageFailure::Corrupt(error.to_string()),
        }
    }
}

/// Waits until no other image is decoded. Hold the guard while an image is in memory.
pub(crate) fn one_at_a_time(stop_check: &StopCheck) -> Result<MutexGuard<'static, ()>, Stop> {
    static DECODING: Mutex<()> = Mutex::new(());
    stop_check.lock(&DECODING)
}

/// An image file whose header was read.
pub(crate) struct ImageFile<'a> {
    image: ImageType,
    file: &'a [u8],
    count: FrameCount,
    /// Width and height as stored.
    pub(crate) size: (u32, u32),
    /// How to turn the stored image upright.
    pub(crate) orientation: Orientation,
    decoded_bytes: u64,
}

impl<'a> ImageFile<'a> {
    /// Reads the header, and checks that the file is complete.
    pub(crate) fn open(image: ImageType, file: &'a [u8]) -> Result<Self, ImageFailure> {
        let count =
            count_frames(image, file).map_err(|reason| ImageFailure::Corrupt(reason.to_owned()))?;
        let mut decoder = decoder(image, file)?;
        let size @ (width, height) = decoder.dimensions();
        if width == 0 || height == 0 || count.frames == 0 {
            return Err(ImageFailure::Corrupt("it has no pixels".to_owned()));
        }
        let decoded_bytes = decoder.total_bytes();
        // Metadata that cannot be read does not matter. Some files have the start that only JPEG needs.
        let exif = decoder.exif_metadata().ok().flatten().unwrap_or_default();
        let exif = exif.strip_prefix(b"Exif\0\0").unwrap_or(&exif);
        let orientation = Orientation::from_exif_chunk(exif).unwrap_or(Orientation::NoTransforms);
        Ok(ImageFile { image, file, count, size, orientation, decoded_bytes })
    }

    pub(crate) fn frames(&self) -> u64 {
        self.count.frames
    }

    /// Decodes the first frame.
    pub(crate) fn first_frame(&self) -> Result<DynamicImage, ImageFailure> {
        self.check_limits(1)?;
        let mut decoder = decoder(self.image, self.file)?;
        decoder.set_limits(limits())?;
        Ok(DynamicImage::from_decoder(decoder)?)
    }

    /// Decodes every frame, only to find out whether this is possible.
    pub(crate) fn check_all_frames(
        &self,
        check: impl Fn() -> Result<(), Stop>,
    ) -> Result<(), ImageFailure> {
        self.check_limits(self.count.frames)?;
        let Some(frames) = self.animation()? else {
            return self.first_frame().map(drop);
        };
        let mut decoded = 0;
        for frame in frames {
            check().map_err(ImageFailure::Stopped)?;
            frame?;
            decoded += 1;
        }
        if decoded < self.count.frames {
            return Err(ImageFailure::Corrupt("frames are missing".to_owned()));
        }
        Ok(())
    }

    fn check_limits(&self, frames: u64) -> Result<(), ImageFailure> {
        let (width, height) = self.size;
        let pixels = (u64::from(width) * u64::from(height)).max(self.count.largest);
        if pixels.saturating_mul(frames) > MAX_PIXELS {
            let megapixels = MAX_PIXELS / 1_000_000;
            return Err(ImageFailure::TooLarge(match frames {
                1 => format!("has {width}x{height} pixels; the limit is {megapixels} megapixels"),
                frames => format!(
                    "has {frames} frames of {width}x{height} pixels; the limit is {megapixels} \
                     megapixels for all frames; to see a part of the first frame, use region"
                ),
            }));
        }
        if self.decoded_bytes > MAX_DECODED_BYTES {
            return Err(ImageFailure::TooLarge(format!(
                "needs {} MiB when decoded; the limit is {} MiB",
                self.decoded_bytes >> 20,
                MAX_DECODED_BYTES >> 20
            )));
        }
        Ok(())
    }

    /// The decoder of the frames, unless the file contains a single image.
    fn animation(&self) -> ImageResult<Option<Frames<'a>>> {
        let file = Cursor::new(self.file);
        Ok(match self.image {
            ImageType::Jpeg => None,
            ImageType::Gif => {
                let mut decoder = GifDecoder::new(file)?;
                decoder.set_limits(limits())?;
                Some(decoder.into_frames())
            }
            ImageType::Png => {
                let decoder = PngDecoder::with_limits(file, limits())?;
                if decoder.is_apng()? { Some(decoder.apng()?.into_frames()) } else { None }
            }
            ImageType::WebP => {
                let decoder = WebPDecoder::new(file)?;
                decoder.has_animation().then(|| decoder.into_frames())
            }
        })
    }
}

fn limits() -> Limits {
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    limits
}

fn decoder<'a>(image: ImageType, file: &'a [u8]) -> ImageResult<Box<dyn ImageDecoder + 'a>> {
    let file = Cursor::new(file);
    Ok(match image {
        ImageType::Png => Box::new(PngDecoder::with_limits(file, limits())?),
        ImageType::Jpeg => Box::new(JpegDecoder::new(file)?),
        ImageType::Gif => Box::new(GifDecoder::new(file)?),
        ImageType::WebP => Box::new(WebPDecoder::new(file)?),
    })
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
