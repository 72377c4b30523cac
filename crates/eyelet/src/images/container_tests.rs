use super::*;

const GIF_START: &[u8] = b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\xff\xff";
const GIF_FRAME: &[u8] = b"\x2c\0\0\0\0\x09\0\x01\0\0\x02\x02\x44\x01\0";

#[test]
fn frames_of_a_gif_are_counted_up_to_its_end() {
    let comment = b"\x21\xfe\x02hi\0";
    let file = [GIF_START, comment, GIF_FRAME, GIF_FRAME, b"\x3b", b"rest"].concat();
    let count = FrameCount { frames: 2, largest: 9 };
    assert_eq!(count_frames(ImageType::Gif, &file), Ok(count));
    for length in 0..file.len() - 4 {
        assert_eq!(count_frames(ImageType::Gif, &file[..length]), Err(TRUNCATED), "{length}");
    }
}

#[test]
fn a_jpeg_is_complete_only_with_its_end() {
    let scan = b"\xff\xda\0\x08\x01\x01\0\0\x3f\0ab\xff\0c\xff\xd0d\xff\xff\xd9";
    let file = [&b"\xff\xd8\xff\xe1\0\x04\xff\xd9"[..], scan].concat();
    assert_eq!(count_frames(ImageType::Jpeg, &file), Ok(FrameCount::ONE));
    for length in 0..file.len() {
        assert_eq!(count_frames(ImageType::Jpeg, &file[..length]), Err(TRUNCATED), "{length}");
    }
}

#[test]
fn chunks_of_png_and_webp_must_be_complete() {
    let chunk = |kind| testkit::png_chunk(kind, b"x");
    let png =
        [b"\x89PNG\r\n\x1a\n".to_vec(), chunk(b"acTL"), chunk(b"fcTL"), chunk(b"IEND")].concat();
    let count = FrameCount { frames: 1, largest: 0 };
    assert_eq!(count_frames(ImageType::Png, &png), Ok(count));
    let webp = b"RIFF\x18\0\0\0WEBPANMF\x01\0\0\0x\0ANMF\x02\0\0\0xx";
    let count = FrameCount { frames: 2, largest: 0 };
    assert_eq!(count_frames(ImageType::WebP, webp), Ok(count));
    for length in 0..png.len() {
        assert_eq!(count_frames(ImageType::Png, &png[..length]), Err(TRUNCATED), "{length}");
    }
    for length in 0..webp.len() {
        assert_eq!(count_frames(ImageType::WebP, &webp[..length]), Err(TRUNCATED), "{length}");
    }
}

#[test]
fn each_chunk_of_a_png_has_the_right_checksum() {
    let parts = [b"\x89PNG\r\n\x1a\n".to_vec(), testkit::png_chunk(b"eXIf", b"x")];
    let png = [parts.concat(), testkit::png_chunk(b"IEND", b"")].concat();
    assert_eq!(count_frames(ImageType::Png, &png), Ok(FrameCount::ONE));
    for place in 12..21 {
        let mut png = png.clone();
        png[place] ^= 1;
        assert_eq!(count_frames(ImageType::Png, &png), Err(BAD_CHECKSUM), "{place}");
    }
}

#[test]
fn a_jpeg_has_only_known_segments_and_scans() {
    let jpeg = |frame: u8, scan: &[u8]| {
        let length = scan.len() as u8 + 2;
        let start = [&b"\xff\xd8\xff"[..], &[frame, 0, 2, 0xff, 0xda, 0, length]].concat();
        count_frames(ImageType::Jpeg, &[&start, scan, b"\xff\xd9"].concat())
    };
    for (frame, scan) in [
        (0xc0, &[1, 1, 0x11, 0, 63, 0][..]),
        (0xc0, &[2, 1, 0, 2, 0x33, 0, 63, 0]),
        // Only scans of a progressive image have a range of coefficients.
        (0xc0, &[1, 1, 0, 5, 2, 0x79]),
        (0xc2, &[2, 1, 0x0f, 2, 0x3f, 0, 0, 0x01]),
        (0xc2, &[1, 1, 0xf3, 1, 63, 0x21]),
        (0xc2, &[1, 1, 0, 63, 63, 0x0d]),
    ] {
        assert_eq!(jpeg(frame, scan), Ok(FrameCount::ONE), "{frame:x} {scan:?}");
    }
    for (frame, scan) in [
        (0xd8, &[1, 1, 0, 0, 63, 0][..]),
        (0xc5, &[1, 1, 0, 0, 63, 0]),
        (0xf1, &[1, 1, 0, 0, 63, 0]),
        (0xc0, &[1, 1, 0x04, 0, 63, 0]),
        (0xc0, &[1, 1, 0x40, 0, 63, 0]),
        (0xc0, &[]),
        (0xc2, &[2, 1, 0, 2, 0x40, 0, 0, 0]),
        (0xc2, &[1, 1, 0x04, 1, 63, 0]),
        (0xc2, &[1, 1, 0, 0, 1, 0]),
        (0xc2, &[1, 1, 0, 2, 1, 0]),
        (0xc2, &[1, 1, 0, 1, 64, 0]),
        (0xc2, &[2, 1, 0, 2, 0, 1, 63, 0]),
        (0xc2, &[1, 1, 0, 1, 63, 0x11]),
        (0xc2, &[1, 1, 0, 1, 63, 0x0e]),
    ] {
        assert_eq!(jpeg(frame, scan), Err(BAD_SEGMENT), "{frame:x} {scan:?}");
    }
}
