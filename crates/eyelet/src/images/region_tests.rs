use image::{DynamicImage, GrayImage, Luma};

use super::*;

#[test]
fn a_region_is_four_numbers() {
    let region = Region { x: 1, y: 2, width: 3, height: 4 };
    assert_eq!(Region::parse("1,2,3,4"), Some(region));
    assert_eq!(Region::parse(" 1, 2 ,3, 4 "), Some(region));
    assert_eq!(region.to_string(), "1,2,3,4");
    for wrong in
        ["", "1,2,3", "1,2,3,4,5", "1,2,3,x", "-1,2,3,4", "1,2,0,4", "1,2,3,0", "1.5,2,3,4"]
    {
        assert_eq!(Region::parse(wrong), None, "{wrong}");
    }
    let huge = Region::parse("0,0,99999999999999,1").expect("a number");
    assert_eq!(huge.within((10, 10)).map(|region| region.width), Some(10));
    assert_eq!(Region::parse("10,0,1,1").and_then(|region| region.within((10, 10))), None);
}

#[test]
fn a_region_of_the_upright_image_is_found_in_the_stored_one() {
    let stored = DynamicImage::from(GrayImage::from_fn(7, 5, |x, y| Luma([(x * 16 + y) as u8])));
    for exif in 1..=8 {
        let orientation = Orientation::from_exif(exif).expect("a value of EXIF");
        let mut upright = stored.clone();
        upright.apply_orientation(orientation);
        assert_eq!(is_turned(orientation), upright.width() == 5);
        let region = Region { x: 1, y: 2, width: 3, height: 2 };
        let expected = upright.crop_imm(region.x, region.y, region.width, region.height);
        let part = region.as_stored(orientation, (7, 5));
        let mut found = stored.crop_imm(part.x, part.y, part.width, part.height);
        found.apply_orientation(orientation);
        assert_eq!(found, expected, "{orientation:?}");
    }
}
