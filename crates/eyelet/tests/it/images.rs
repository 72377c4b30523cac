//! `read` of images: complete or an error, never too large, parts on request.

use std::fs;

use eyelet::tools::{Image, Read, ReadArgs, ReadReport};
use eyelet::{Report as _, Tool as _, ToolError, TurnContext};
use image::{DynamicImage, GenericImageView as _, GrayImage, ImageFormat, Rgba};
use serde_json::json;
use testkit::{TempTree, each_seed};

use crate::ask::{content, data, turn};
use crate::image_files::{
    animated_gif, animated_png, animated_webp, cmyk_jpeg, encoded, exif, noise, picture,
    small_files, turned_jpeg, webp_with_exif,
};

/// The image that `read` returns for this file.
fn show(file: &[u8], region: Option<&str>) -> Result<Image, ToolError> {
    let tree = TempTree::new("");
    tree.file("a", file);
    read(&turn(tree.path()), region)
}

fn read(turn: &TurnContext, region: Option<&str>) -> Result<Image, ToolError> {
    let args = ReadArgs { region: region.map(str::to_owned), ..ReadArgs::new("a") };
    match Read.run(args, turn)? {
        ReadReport::Image(image) => Ok(image),
        other => panic!("not an image: {other:?}"),
    }
}

fn header(image: &Image) -> String {
    ReadReport::Image(image.clone()).content()
}

fn decoded(image: &Image) -> DynamicImage {
    assert!(image.data.len() <= 3_932_160);
    image::load_from_memory(&image.data).unwrap()
}

/// The error's code and message.
fn error(file: &[u8], region: Option<&str>) -> String {
    let error = show(file, region).map(|image| header(&image)).unwrap_err();
    format!("{}: {error}", error.code)
}

#[test]
fn small_images_are_sent_byte_for_byte() {
    let tree = TempTree::new("");
    let turn = turn(tree.path());
    for (file, mime) in small_files() {
        tree.file("picture.txt", &file);
        let arguments = json!({"path": "picture.txt"});
        assert_eq!(
            data(&turn, "read", &arguments),
            json!({"path": "picture.txt", "type": "image", "mime_type": mime, "bytes": file.len()})
        );
        assert_eq!(content(&turn, "read", &arguments), "[image picture.txt; 40x30]");
        tree.file("a", &file);
        assert_eq!(read(&turn, None).unwrap().data, file);
    }
    let largest = encoded(&picture(1568, 1), ImageFormat::Png);
    assert_eq!(show(&largest, None).unwrap().data, largest);
    let cmyk = cmyk_jpeg();
    assert_eq!(show(&cmyk, None).unwrap().data, cmyk);
}

#[test]
fn large_images_are_scaled_to_1568_pixels() {
    let huge = encoded(&GrayImage::new(9600, 9600).into(), ImageFormat::Png);
    let image = show(&huge, None).unwrap();
    assert_eq!(header(&image), "[image a; 9600x9600 shown as 1568x1568]");
    assert_eq!(decoded(&image).dimensions(), (1568, 1568));
    assert_eq!((image.mime_type, image.bytes), ("image/png", image.data.len() as u64));
    for (size, shown) in
        [((1569, 2), (1568, 2)), ((100_000, 1), (1568, 1)), ((1, 2_000), (1, 1568))]
    {
        let image = show(&encoded(&picture(size.0, size.1), ImageFormat::Png), None).unwrap();
        assert_eq!(decoded(&image).dimensions(), shown);
    }
    // The colours stay where they are.
    for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
        let image = decoded(&show(&encoded(&picture(2000, 1600), format), None).unwrap());
        for (x, y, expected) in
            [(0, 0, [0, 0, 90]), (1567, 0, [254, 0, 90]), (0, 1253, [0, 254, 90])]
        {
            let Rgba([r, g, b, _]) = image.get_pixel(x, y);
            let difference = [r, g, b].iter().zip(expected).map(|(a, b)| a.abs_diff(b)).max();
            assert!(difference < Some(30), "{format:?}: {:?} at {x},{y}", [r, g, b]);
        }
    }
    let deep = DynamicImage::from(picture(2000, 10).into_rgb16());
    let image = decoded(&show(&encoded(&deep, ImageFormat::Png), None).unwrap());
    assert_eq!((image.dimensions(), image.color()), ((1568, 8), image::ColorType::Rgb8));
}

#[test]
fn an_image_with_too_many_bytes_is_sent_as_jpeg() {
    let file = encoded(&noise(1500, 1400), ImageFormat::Png);
    assert!(file.len() > 3_932_160);
    let image = show(&file, None).unwrap();
    assert_eq!((image.mime_type, header(&image).as_str()), ("image/jpeg", "[image a; 1500x1400]"));
    assert_eq!(decoded(&image).dimensions(), (1500, 1400));
    // JPEG has no transparency.
    let mut clear = noise(1500, 1400).into_rgba8();
    clear.get_pixel_mut(0, 0).0[3] = 0;
    (0..64).for_each(|at| clear.get_pixel_mut(at % 8, at / 8).0[3] = 0);
    let image = decoded(&show(&encoded(&clear.into(), ImageFormat::Png), None).unwrap());
    assert!(image.get_pixel(3, 3).0.iter().all(|channel| *channel > 150), "white behind it");
}

#[test]
fn truncated_images_are_errors() {
    let files = small_files().map(|(file, _)| file);
    for file in files.into_iter().chain([
        animated_gif(20, 20, 3),
        animated_png(20, 20, 3),
        animated_webp(20, 20, 3),
    ]) {
        assert!(show(&file, None).is_ok());
        for length in (13..file.len()).step_by(7).chain([file.len() - 1]) {
            let start = &file[..length];
            // Without a NUL, the start of some is text.
            if start.starts_with(b"GIF") || start.starts_with(b"RIFF") {
                assert!(start.contains(&0));
            }
            let error = error(start, None);
            assert!(error.starts_with("io_error: path `a` is a corrupt image: "), "{error}");
        }
    }
}

#[test]
fn corrupt_images_are_errors_or_decodable() {
    let files = small_files().map(|(file, _)| file);
    let animated = [animated_gif(20, 20, 3), animated_png(20, 20, 3), animated_webp(20, 20, 3)];
    let files: Vec<_> = files.into_iter().chain(animated).collect();
    each_seed(400, |random| {
        let mut file = files[random.usize(..files.len())].clone();
        for _ in 0..random.usize(1..6) {
            let place = random.usize(12..file.len());
            file[place] = random.u8(..);
        }
        if let Ok(image) = show(&file, None) {
            assert!(
                image.data == file && image.shown_size.0.max(image.shown_size.1) <= 1568
                    || image::load_from_memory(&image.data).is_ok()
            );
        }
    });
    assert!(error(b"\x89PNG\r\n\x1a\n and more", None).contains("is a corrupt image: "));
}

#[test]
fn images_that_are_too_large_are_refused_before_decoding() {
    testkit::in_own_process(
        "images::images_that_are_too_large_are_refused_before_decoding",
        || {
            let before = testkit::peak_memory();
            // The header lies about the data.
            let mut png = testkit::png(1, 1);
            let header =
                [&60_000_u32.to_be_bytes()[..], &60_000_u32.to_be_bytes(), &[8, 0, 0, 0, 0]];
            png.splice(8..33, testkit::png_chunk(b"IHDR", &header.concat()));
            assert_eq!(
                error(&png, None),
                "too_large: image `a` has 60000x60000 pixels; the limit is 100 megapixels"
            );
            assert!(error(&png, Some("0,0,1,1")).starts_with("too_large: "));
            let mut jpeg = encoded(&picture(8, 8), ImageFormat::Jpeg);
            let frame = jpeg.windows(2).position(|marker| marker == [0xff, 0xc0]).unwrap();
            jpeg[frame + 5..frame + 9].fill(0xf0);
            assert!(error(&jpeg, None).starts_with("too_large: image `a` has 61680x61680 pixels"));
            let mut gif = animated_gif(2, 2, 1);
            gif[6..10].fill(0xff);
            assert!(error(&gif, None).starts_with("too_large: "));
            // A frame that is larger than its image.
            let mut gif = animated_gif(2, 2, 1);
            let frame = gif.windows(5).position(|tag| tag == b"\x2c\0\0\0\0").unwrap();
            gif[frame + 5..frame + 9].fill(0xff);
            assert!(error(&gif, None).starts_with("too_large: "), "{}", error(&gif, None));
            // 16 bits for each of four channels.
            let mut deep = testkit::png(1, 1);
            let header =
                [&9_000_u32.to_be_bytes()[..], &9_000_u32.to_be_bytes(), &[16, 6, 0, 0, 0]];
            deep.splice(8..33, testkit::png_chunk(b"IHDR", &header.concat()));
            assert_eq!(
                error(&deep, None),
                "too_large: image `a` needs 617 MiB when decoded; the limit is 400 MiB"
            );
            let grown = testkit::peak_memory() - before;
            assert!(grown < 16 << 20, "grew by {grown} bytes");
        },
    );
}

#[test]
fn an_image_file_above_32_mib_is_refused_unread() {
    let tree = TempTree::new("");
    tree.file("a", testkit::png(1, 1));
    let file = fs::OpenOptions::new().write(true).open(tree.path().join("a")).unwrap();
    file.set_len(32 << 20).unwrap();
    assert_eq!(read(&turn(tree.path()), None).unwrap().mime_type, "image/png");
    file.set_len((32 << 20) + 1).unwrap();
    let error = read(&turn(tree.path()), None).unwrap_err();
    assert_eq!(
        format!("{}: {error}", error.code),
        "too_large: path `a` is an image file larger than 32 MiB; create a smaller copy"
    );
}

#[test]
fn an_image_without_pixels_is_an_error() {
    let mut png = testkit::png(1, 1);
    let header = [&0_u32.to_be_bytes()[..], &1_u32.to_be_bytes(), &[8, 0, 0, 0, 0]].concat();
    png.splice(8..33, testkit::png_chunk(b"IHDR", &header));
    assert!(error(&png, None).contains("is a corrupt image: "));
    let mut gif = animated_gif(1, 1, 1);
    gif[6..10].fill(0);
    assert!(error(&gif, None).contains("is a corrupt image: "));
    let no_frame = b"GIF89a\x01\0\x01\0\0\0\0\x3b";
    assert!(error(no_frame, None).contains("is a corrupt image: "));
}

#[test]
fn small_animations_stay_whole_and_large_ones_show_their_first_frame() {
    for file in [animated_gif(30, 20, 24), animated_png(30, 20, 24), animated_webp(30, 20, 24)] {
        let image = show(&file, None).unwrap();
        assert_eq!((header(&image).as_str(), image.data == file), ("[image a; 30x20]", true));
        let image = show(&file, Some("0,0,5,5")).unwrap();
        assert_eq!(header(&image), "[image a; 30x20; region 0,0,5,5; first of 24 frames]");
    }
    for file in [animated_gif(2000, 4, 24), animated_png(2000, 4, 24), animated_webp(2000, 4, 24)] {
        let image = show(&file, None).unwrap();
        assert_eq!(header(&image), "[image a; 2000x4 shown as 1568x3; first of 24 frames]");
        assert_eq!(decoded(&image).dimensions(), (1568, 3));
    }
}

#[test]
fn all_frames_together_have_a_limit() {
    // A frame of one pixel still makes a whole image.
    let one = animated_gif(1500, 1500, 1);
    let start = one.windows(5).position(|tag| tag == b"\x2c\0\0\0\0").unwrap();
    let frame = b"\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0";
    let file = |frames: usize| [&one[..start], &frame.repeat(frames), b"\x3b"].concat();
    assert!(show(&file(3), None).is_ok());
    assert_eq!(
        error(&file(45), None),
        "too_large: image `a` has 45 frames of 1500x1500 pixels; the limit is 100 megapixels for all frames; \
         to see a part of the first frame, use region"
    );
    assert_eq!(
        header(&show(&file(45), Some("0,0,9,9")).unwrap()),
        "[image a; 1500x1500; region 0,0,9,9; first of 45 frames]"
    );
}

#[test]
fn a_scaled_image_is_upright() {
    // The stored image lies on its side.
    let file = turned_jpeg(&picture(2000, 1000), 6);
    let image = show(&file, None).unwrap();
    assert_eq!(header(&image), "[image a; 1000x2000 shown as 784x1568]");
    let upright = decoded(&image);
    // The stored bottom left is the upright top left.
    let Rgba([r, g, ..]) = upright.get_pixel(2, 2);
    assert!(r < 30 && g > 225, "red {r}, green {g}");
    let small = turned_jpeg(&picture(20, 10), 6);
    let image = show(&small, None).unwrap();
    assert_eq!((header(&image).as_str(), image.data == small), ("[image a; 10x20]", true));
    // In a WebP, some programs write the metadata as in a JPEG, others without the first six bytes.
    for exif in [&exif(6)[..], &exif(6)[6..]] {
        let image = show(&webp_with_exif(&picture(20, 10), exif), None).unwrap();
        assert_eq!(header(&image), "[image a; 10x20]");
    }
}

#[test]
fn a_region_shows_a_part_at_full_resolution() {
    let whole = picture(3000, 2000);
    let file = encoded(&whole, ImageFormat::Png);
    let image = show(&file, Some("100,200,800,600")).unwrap();
    assert_eq!(header(&image), "[image a; 3000x2000; region 100,200,800,600]");
    assert_eq!(decoded(&image), whole.crop_imm(100, 200, 800, 600));
    // Clipped at the edge.
    let image = show(&file, Some("2990,1990,500,99999999999")).unwrap();
    assert_eq!(header(&image), "[image a; 3000x2000; region 2990,1990,10,10]");
    assert_eq!(decoded(&image), whole.crop_imm(2990, 1990, 10, 10));
    // A large part is scaled.
    let image = show(&file, Some("0,0,2000,2000")).unwrap();
    assert_eq!(header(&image), "[image a; 3000x2000; region 0,0,2000,2000 shown as 1568x1568]");
    assert_eq!(decoded(&image).dimensions(), (1568, 1568));
    // Regions of a small image, and of an image that lies on its side.
    let small = show(&encoded(&picture(40, 30), ImageFormat::Gif), Some("1,1,2,3")).unwrap();
    assert_eq!(
        (header(&small).as_str(), small.mime_type),
        ("[image a; 40x30; region 1,1,2,3]", "image/png")
    );
    let turned = turned_jpeg(&picture(200, 100), 8);
    let mut upright = image::load_from_memory(&turned).unwrap();
    upright.apply_orientation(image::metadata::Orientation::Rotate270);
    let part = show(&turned, Some("10,20,30,40")).unwrap();
    assert_eq!(header(&part), "[image a; 100x200; region 10,20,30,40]");
    assert_eq!(decoded(&part), upright.crop_imm(10, 20, 30, 40));
}

#[test]
fn a_region_outside_of_an_image_is_an_error() {
    let file = encoded(&picture(40, 30), ImageFormat::Png);
    let outside = "invalid_input: region is outside of the image `a`, which has 40x30 pixels";
    assert_eq!(error(&file, Some("40,0,1,1")), outside);
    assert_eq!(error(&file, Some("0,30,1,1")), outside);
    let malformed = "invalid_input: region must be `x,y,w,h` in pixels, with w and h above zero";
    for region in ["1,2,3", "a,b,c,d", "0,0,0,5", "-1,0,2,2"] {
        assert_eq!(error(&file, Some(region)), malformed);
    }
    assert_eq!(
        error(b"text\n", Some("0,0,1,1")),
        "invalid_input: region is only for images; path `a` is not a PNG, JPEG, GIF or WebP image"
    );
    // As models write an argument that they do not use.
    assert!(show(&file, Some("0,0,1,1")).is_ok());
    let tree = TempTree::new("a = text");
    let answer = content(&turn(tree.path()), "read", &json!({"path": "a", "region": ""}));
    assert_eq!(answer, "[lines 1-1 of 1]\ntext");
}

#[test]
fn a_text_that_starts_like_an_image_is_text() {
    let tree = TempTree::new("");
    for text in ["GIF89a is a format\n", "GIF87a", "RIFF....WEBP is one too\n"] {
        tree.file("a", text);
        let answer = content(&turn(tree.path()), "read", &json!({"path": "a"}));
        assert_eq!(answer, format!("[lines 1-1 of 1]\n{text}"));
    }
}

#[test]
fn one_image_is_decoded_at_a_time() {
    testkit::in_own_process("images::one_image_is_decoded_at_a_time", || {
        let tree = TempTree::new("");
        tree.file("a", encoded(&GrayImage::new(8000, 8000).into(), ImageFormat::Png));
        let turn = turn(tree.path());
        let before = testkit::peak_memory();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| read(&turn, None).unwrap());
            }
        });
        // One decoded image has 61 MiB.
        let grown = testkit::peak_memory().saturating_sub(before);
        assert!(grown < 110 << 20, "grew by {grown} bytes");
    });
}
