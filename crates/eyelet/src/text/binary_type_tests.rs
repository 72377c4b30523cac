use super::detect;

fn name(start: &[u8]) -> Option<&'static str> {
    detect(start, "file").map(|found| found.name)
}

#[test]
fn binary_files_are_detected_by_their_first_bytes() {
    let mut tar = vec![b'x'; 257];
    tar.extend(b"ustar");
    for (start, expected) in [
        (&b"\x7fELF\x02rest"[..], "ELF 64-bit"),
        (b"\x7fELF\x01rest", "ELF 32-bit"),
        (b"\0asm\x01", "WebAssembly"),
        (b"%PDF-1.7\n", "PDF"),
        (b"PK\x03\x04", "zip archive"),
        (b"\x1f\x8b\x08", "gzip data"),
        (b"BZh91AY&SY", "bzip2 data"),
        (b"\xfd7zXZ\0", "xz data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"!<arch>\n", "ar archive"),
        (&tar, "tar archive"),
        (b"text\0", "data"),
    ] {
        assert_eq!(name(start), Some(expected));
    }
    for text in [&b""[..], b"text", b"PK", b"ELF\x02", b"BZh9 is how bzip2 starts", b"\xff\xfe"] {
        assert_eq!(name(text), None, "{}", text.escape_ascii());
    }
}

#[test]
fn a_compressed_tar_archive_is_listed_with_tar() {
    let command = |path: &str| detect(b"\x1f\x8b", path).unwrap().readers[0].command;
    assert_eq!(command("a.tar.gz"), "tar -tf FILE");
    assert_eq!(command("A.TGZ"), "tar -tf FILE");
    assert_eq!(command("a.gz"), "gzip -dc FILE");
}
