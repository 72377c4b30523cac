use expect_test::expect;

use super::hex_dump;

#[test]
fn a_line_shows_16_bytes_with_offset_and_ascii() {
    expect![[r#"
        00000000  7f 45 4c 46 02 01 01 00  20 7e 7f 0a 61 62 63 64  |.ELF.... ~..abcd|
        00000010  80 ff                                             |..|
    "#]]
    .assert_eq(&hex_dump(b"\x7fELF\x02\x01\x01\0 ~\x7f\nabcd\x80\xff"));
    assert_eq!(hex_dump(b""), "");
}
