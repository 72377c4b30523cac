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
    let file = b"\xff\xd8\xff\xe1\0\x04\xff\xd9\xff\xda\0\x02ab\xff\0c\xff\xd0d\xff\xff\xd9";
    assert_eq!(count_frames(ImageType::Jpeg, file), Ok(FrameCount::ONE));
    for length in 0..file.len() {
        assert_eq!(count_frames(ImageType::Jpeg, &file[..length]), Err(TRUNCATED), "{length}");
    }
}

#[test]
fn chunks_of_png_and_webp_must_be_complete() {
    let chunk = |kind: &[u8; 4]| [&b"\0\0\0\x01"[..], kind, b"x", b"crc4"].concat();
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
