//! Walks through the blocks of an image file without decoding it: counts the frames, and finds out
//! whether the file is complete and well formed. Decoders accept some damaged files that others refuse.

use crate::images::image_type::ImageType;

const TRUNCATED: &str = "the file is truncated";
const BAD_CHECKSUM: &str = "a checksum is wrong";
const BAD_SEGMENT: &str = "a segment is malformed";

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
    match image {
        ImageType::Png => png(file),
        ImageType::Jpeg => jpeg(file),
        ImageType::Gif => gif(file).ok_or(TRUNCATED),
        ImageType::WebP => webp(file).ok_or(TRUNCATED),
    }
}

/// Chunks of length, type, data and checksum, up to `IEND`.
fn png(file: &[u8]) -> Result<FrameCount, &'static str> {
    let (mut animation, mut frames) = (false, 0);
    let mut rest = file.get(8..).ok_or(TRUNCATED)?;
    loop {
        let (chunk, checksum, after) = png_chunk(rest).ok_or(TRUNCATED)?;
        if crc32fast::hash(chunk) != checksum {
            return Err(BAD_CHECKSUM);
        }
        rest = after;
        match chunk.first_chunk() {
            Some(b"acTL") => animation = true,
            Some(b"fcTL") => frames += 1,
            Some(b"IEND") if animation => return Ok(FrameCount { frames, largest: 0 }),
            Some(b"IEND") => return Ok(FrameCount::ONE),
            _ => {}
        }
    }
}

/// The type and data of the first chunk, its checksum, and what follows.
fn png_chunk(rest: &[u8]) -> Option<(&[u8], u32, &[u8])> {
    let (length, after) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (chunk, after) = after.split_at_checked(length.checked_add(4)?)?;
    let (checksum, after) = after.split_first_chunk()?;
    Some((chunk, u32::from_be_bytes(*checksum), after))
}

/// Segments that start with a marker, up to the marker of the end. In the data of a scan, the byte
/// that starts a marker is followed by a zero.
fn jpeg(file: &[u8]) -> Result<FrameCount, &'static str> {
    let mut rest = file.get(2..).ok_or(TRUNCATED)?;
    let mut is_progressive = false;
    loop {
        let start = memchr::memchr(0xff, rest).ok_or(TRUNCATED)?;
        rest = rest.get(start + 1..).unwrap_or_default();
        let (marker, after) = rest.split_first().ok_or(TRUNCATED)?;
        match marker {
            0xd9 => return Ok(FrameCount::ONE),
            // Fill bytes, scan data, restart markers.
            0xff | 0x00 | 0x01 | 0xd0..=0xd7 => {}
            0xc0..=0xc2 | 0xc4 | 0xc9..=0xca | 0xcc | 0xda..=0xdd | 0xe0..=0xef | 0xfe => {
                let (length, _) = after.split_first_chunk().ok_or(TRUNCATED)?;
                let length = usize::from(u16::from_be_bytes(*length));
                let (segment, after) = after.split_at_checked(length).ok_or(TRUNCATED)?;
                is_progressive |= *marker == 0xc2;
                if *marker == 0xda && !is_scan_header(segment, is_progressive) {
                    return Err(BAD_SEGMENT);
                }
                rest = after;
            }
            _ => return Err(BAD_SEGMENT),
        }
    }
}

/// Whether the tables that the header of a scan names can exist, and the scan is one that an image of
/// this kind can have.
fn is_scan_header(segment: &[u8], is_progressive: bool) -> bool {
    let Some((components, [first, last, bits])) =
        segment.get(3..).and_then(<[u8]>::split_last_chunk)
    else {
        return false;
    };
    // Of each kind, there are four tables: one kind in the high, one in the low half of a byte.
    let no_table = match (is_progressive, first) {
        (false, _) => 0xcc,
        (true, 0) => 0xc0,
        (true, _) => 0x0c,
    };
    let has_tables = |component: &[u8]| component.get(1).is_some_and(|byte| byte & no_table == 0);
    let (before, shift) = (bits >> 4, bits & 0xf);
    let is_scan = match first {
        0 => *last == 0,
        _ => components.len() == 2 && first <= last && *last < 64,
    } && (before == 0 || before == shift + 1)
        && shift <= 13;
    components.chunks(2).all(has_tables) && (is_scan || !is_progressive)
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
