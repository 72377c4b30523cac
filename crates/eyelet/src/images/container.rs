//! Walks through the blocks of an image file without decoding it: counts the frames, and finds out
//! whether the file is complete. Decoders accept some truncated files.

use crate::text::image_type::ImageType;

const TRUNCATED: &str = "the file is truncated";

/// The frames of an image file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameCount {
    pub(crate) frames: u64,
    /// The pixels of the largest frame, if frames have a size of their own. A GIF frame can be larger
    /// than its image.
    pub(crate) largest: u64,
}

impl FrameCount {
    const ONE: FrameCount = FrameCount { frames: 1, largest: 0 };
}

/// Counts the frames.
///
/// # Errors
/// Says why the file is corrupt.
pub(crate) fn count_frames(image: ImageType, file: &[u8]) -> Result<FrameCount, &'static str> {
    let walked = match image {
        ImageType::Png => png(file),
        ImageType::Jpeg => jpeg(file),
        ImageType::Gif => gif(file),
        ImageType::WebP => webp(file),
    };
    walked.ok_or(TRUNCATED)
}

/// Chunks of length, type, data and checksum, up to `IEND`.
fn png(file: &[u8]) -> Option<FrameCount> {
    let (mut animation, mut frames) = (false, 0);
    let mut rest = file.get(8..)?;
    loop {
        let (length, after) = rest.split_first_chunk()?;
        let (kind, after) = after.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        rest = after.get(length.checked_add(4)?..)?;
        match kind {
            b"acTL" => animation = true,
            b"fcTL" => frames += 1,
            b"IEND" if animation => return Some(FrameCount { frames, largest: 0 }),
            b"IEND" => return Some(FrameCount::ONE),
            _ => {}
        }
    }
}

/// Segments that start with a marker, up to the marker of the end. In the data of a scan, the byte
/// that starts a marker is followed by a zero.
fn jpeg(file: &[u8]) -> Option<FrameCount> {
    let mut rest = file.get(2..)?;
    loop {
        let marker = memchr::memchr(0xff, rest)?;
        rest = rest.get(marker + 1..)?;
        match rest.first()? {
            0xd9 => return Some(FrameCount::ONE),
            // Fill bytes, scan data, restart markers.
            0xff | 0x00 | 0x01 | 0xd0..=0xd8 => {}
            _ => {
                let (length, _) = rest.get(1..)?.split_first_chunk()?;
                rest = rest.get(1 + usize::from(u16::from_be_bytes(*length))..)?;
            }
        }
    }
}

/// Blocks that start with a tag, up to the trailer.
fn gif(file: &[u8]) -> Option<FrameCount> {
    let (descriptor, rest) = file.get(6..)?.split_first_chunk::<7>()?;
    let [_, _, _, _, flags, _, _] = *descriptor;
    let mut rest = rest.get(color_table_bytes(flags)..)?;
    let mut count = FrameCount { frames: 0, largest: 0 };
    loop {
        let (tag, after) = rest.split_first()?;
        rest = match tag {
            // Padding.
            0x00 => after,
            0x21 => after_sub_blocks(after.get(1..)?)?,
            0x2c => {
                let (descriptor, after) = after.split_first_chunk::<9>()?;
                let [_, _, _, _, w0, w1, h0, h1, flags] = *descriptor;
                let [width, height] = [[w0, w1], [h0, h1]].map(u16::from_le_bytes);
                count.frames += 1;
                count.largest = count.largest.max(u64::from(width) * u64::from(height));
                after_sub_blocks(after.get(color_table_bytes(flags) + 1..)?)?
            }
            0x3b => return Some(count),
            // Not a block: data is missing before it.
            _ => return None,
        };
    }
}

fn color_table_bytes(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// Skips sub-blocks of a length and data, up to one of length 0.
fn after_sub_blocks(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (length, after) = rest.split_first()?;
        rest = after.get(usize::from(*length)..)?;
        if *length == 0 {
            return Some(rest);
        }
    }
}

/// Chunks of type, length and data, padded to an even length, in one chunk around them.
fn webp(file: &[u8]) -> Option<FrameCount> {
    let length = |bytes: &[u8; 4]| usize::try_from(u32::from_le_bytes(*bytes)).ok();
    let (size, _) = file.get(4..)?.split_first_chunk()?;
    let mut rest = file.get(12..length(size)?.checked_add(8)?)?;
    let mut frames = 0;
    while let Some((kind, after)) = rest.split_first_chunk::<4>() {
        let (size, after) = after.split_first_chunk()?;
        let size = length(size)?;
        let data = after.get(..size)?;
        rest = after.get(data.len() + size % 2..).unwrap_or_default();
        frames += u64::from(kind == b"ANMF");
    }
    Some(FrameCount { frames: frames.max(1), largest: 0 })
}

#[cfg(test)]
#[path = "container_tests.rs"]
mod tests;
