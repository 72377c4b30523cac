//! Image files for the tests, of every kind that `read` shows.

use std::io::Cursor;

use image::codecs::gif::GifEncoder;
use image::{DynamicImage, Frame, GrayImage, ImageFormat, Luma, Rgb, RgbImage, RgbaImage};
use testkit::png_chunk;

/// A coloured image: red to the right, green down.
pub(crate) fn picture(width: u32, height: u32) -> DynamicImage {
    let color = |at: u32, size: u32| (at * 255 / size.max(2)) as u8;
    RgbImage::from_fn(width, height, |x, y| Rgb([color(x, width), color(y, height), 90])).into()
}

/// An image that cannot be compressed.
pub(crate) fn noise(width: u32, height: u32) -> DynamicImage {
    let mut random = fastrand::Rng::with_seed(7);
    RgbImage::from_fn(width, height, |_, _| Rgb([random.u8(..), random.u8(..), random.u8(..)]))
        .into()
}

pub(crate) fn encoded(image: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut file = Vec::new();
    image.write_to(&mut Cursor::new(&mut file), format).unwrap();
    file
}

/// A small image of each kind, with its MIME type.
pub(crate) fn small_files() -> [(Vec<u8>, &'static str); 4] {
    let image = picture(40, 30);
    [
        (encoded(&image, ImageFormat::Png), "image/png"),
        (encoded(&image, ImageFormat::Jpeg), "image/jpeg"),
        (encoded(&image, ImageFormat::Gif), "image/gif"),
        (encoded(&image, ImageFormat::WebP), "image/webp"),
    ]
}

pub(crate) fn animated_gif(width: u32, height: u32, frames: usize) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = GifEncoder::new_with_speed(&mut file, 30);
    for frame in 0..frames {
        let image = RgbaImage::from_pixel(width, height, image::Rgba([frame as u8, 9, 9, 255]));
        encoder.encode_frame(Frame::new(image)).unwrap();
    }
    drop(encoder);
    file
}

/// A PNG with frames. They are all the same.
pub(crate) fn animated_png(width: u32, height: u32, frames: u32) -> Vec<u8> {
    let still = encoded(&GrayImage::from_pixel(width, height, Luma([7])).into(), ImageFormat::Png);
    let mut file = still[..8].to_vec();
    let mut rest = &still[8..];
    let mut data = Vec::new();
    let mut sequence = 0;
    let mut control = || {
        let numbers = [sequence, width, height, 0, 0].map(u32::to_be_bytes).concat();
        sequence += 1;
        png_chunk(b"fcTL", &[&numbers[..], &[0, 1, 0, 10, 0, 0]].concat())
    };
    while let Some((length, after)) = rest.split_first_chunk() {
        let length = u32::from_be_bytes(*length) as usize;
        let kind: &[u8; 4] = after[..4].try_into().unwrap();
        let (chunk, after) = rest.split_at(length + 12);
        match kind {
            b"IHDR" => {
                file.extend_from_slice(chunk);
                file.extend(png_chunk(b"acTL", &[frames, 0].map(u32::to_be_bytes).concat()));
                file.extend(control());
            }
            b"IDAT" => {
                data.extend_from_slice(&chunk[8..8 + length]);
                file.extend_from_slice(chunk);
            }
            _ => {}
        }
        rest = after;
    }
    for frame in 1..frames {
        let numbers = [frame * 2 - 1, width, height, 0, 0].map(u32::to_be_bytes).concat();
        file.extend(png_chunk(b"fcTL", &[&numbers[..], &[0, 1, 0, 10, 0, 0]].concat()));
        file.extend(png_chunk(b"fdAT", &[&(frame * 2).to_be_bytes()[..], &data].concat()));
    }
    file.extend(png_chunk(b"IEND", b""));
    file
}

/// A WebP with frames. They are all the same.
pub(crate) fn animated_webp(width: u32, height: u32, frames: usize) -> Vec<u8> {
    let still = encoded(&picture(width, height), ImageFormat::WebP);
    let size = [width - 1, height - 1].map(|side| side.to_le_bytes()[..3].to_vec()).concat();
    let frame = [&[0; 6][..], &size, &[10, 0, 0, 0], &still[12..]].concat();
    let frames = webp_chunk(b"ANMF", &frame).repeat(frames);
    webp(&[
        webp_chunk(b"VP8X", &[&[2, 0, 0, 0][..], &size].concat()),
        webp_chunk(b"ANIM", &[0; 6]),
        frames,
    ])
}

/// A WebP with these EXIF metadata.
pub(crate) fn webp_with_exif(image: &DynamicImage, exif: &[u8]) -> Vec<u8> {
    let still = encoded(image, ImageFormat::WebP);
    let size = [image.width() - 1, image.height() - 1].map(|side| side.to_le_bytes()[..3].to_vec());
    let header = webp_chunk(b"VP8X", &[&[8, 0, 0, 0][..], &size.concat()].concat());
    webp(&[header, still[12..].to_vec(), webp_chunk(b"EXIF", exif)])
}

fn webp(chunks: &[Vec<u8>]) -> Vec<u8> {
    let body = [b"WEBP", &chunks.concat()[..]].concat();
    [&b"RIFF"[..], &(body.len() as u32).to_le_bytes(), &body].concat()
}

fn webp_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let mut chunk = [&kind[..], &(data.len() as u32).to_le_bytes(), data].concat();
    chunk.resize(chunk.len().next_multiple_of(2), 0);
    chunk
}

/// EXIF metadata with this orientation, as in a JPEG.
pub(crate) fn exif(orientation: u8) -> Vec<u8> {
    [
        &b"Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0"[..],
        &[orientation, 0, 0, 0],
        &[0; 4],
    ]
    .concat()
}

/// A JPEG with this EXIF orientation.
pub(crate) fn turned_jpeg(image: &DynamicImage, orientation: u8) -> Vec<u8> {
    let jpeg = encoded(image, ImageFormat::Jpeg);
    let exif = exif(orientation);
    let length = (exif.len() as u16 + 2).to_be_bytes();
    [&jpeg[..2], b"\xff\xe1", &length, &exif, &jpeg[2..]].concat()
}

/// A grey JPEG with four channels, of 8x8 pixels.
pub(crate) fn cmyk_jpeg() -> Vec<u8> {
    let components: Vec<u8> = (1..=4).flat_map(|id| [id, 0x11, 0]).collect();
    let selectors: Vec<u8> = (1..=4).flat_map(|id| [id, 0]).collect();
    // Tables with one code of one bit: no difference, and the end of a block.
    let table = |class: u8| {
        let counts = [&[1][..], &[0; 15]].concat();
        [&[0xff, 0xc4, 0, 20, class][..], &counts, &[0]].concat()
    };
    [
        &b"\xff\xd8\xff\xee\0\x0eAdobe\0\x64\0\0\0\0\0"[..],
        &[&b"\xff\xdb\0\x43\0"[..], &[1; 64]].concat(),
        &[&b"\xff\xc0\0\x14\x08\0\x08\0\x08\x04"[..], &components].concat(),
        &table(0x00),
        &table(0x10),
        &[&b"\xff\xda\0\x0e\x04"[..], &selectors, &[0, 63, 0]].concat(),
        &[0, 0xff, 0xd9],
    ]
    .concat()
}
