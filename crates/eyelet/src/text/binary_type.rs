//! Detects binary files by their first bytes, and names commands that show what is in them.

use memchr::memchr;

/// How many bytes of a file are checked.
pub(crate) const CHECKED_BYTES: usize = 8 * 1024;

/// A kind of binary file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BinaryType {
    /// The name, such as `ELF 64-bit`.
    pub(crate) name: &'static str,
    /// Programs that read it, in the order of preference, each with its command.
    pub(crate) readers: &'static [Reader],
}

/// A program, and how to run it on `FILE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reader {
    pub(crate) program: &'static str,
    pub(crate) command: &'static str,
}

const fn reader(program: &'static str, command: &'static str) -> Reader {
    Reader { program, command }
}

/// A name, where its bytes start, the bytes, and the programs that read such a file.
type Row = (&'static str, usize, &'static [u8], &'static [Reader]);

const TAR: &[Reader] = &[reader("tar", "tar -tf FILE")];

const TABLE: &[Row] = &[
    ("ELF 32-bit", 0, b"\x7fELF\x01", &[]),
    ("ELF 64-bit", 0, b"\x7fELF\x02", &[]),
    ("ELF", 0, b"\x7fELF", &[]),
    ("WebAssembly", 0, b"\0asm", &[]),
    ("PDF", 0, b"%PDF-", &[reader("pdftotext", "pdftotext FILE -")]),
    (
        "zip archive",
        0,
        b"PK\x03\x04",
        &[reader("unzip", "unzip -l FILE"), reader("python3", "python3 -m zipfile -l FILE")],
    ),
    ("empty zip archive", 0, b"PK\x05\x06", &[]),
    ("tar archive", 257, b"ustar", TAR),
    ("gzip data", 0, b"\x1f\x8b", &[reader("gzip", "gzip -dc FILE")]),
    ("bzip2 data", 4, b"1AY&SY", &[reader("bzip2", "bzip2 -dc FILE")]),
    ("xz data", 0, b"\xfd7zXZ\0", &[reader("xz", "xz -dc FILE")]),
    ("zstd data", 0, b"\x28\xb5\x2f\xfd", &[reader("zstd", "zstd -dc FILE")]),
    ("lz4 data", 0, b"\x04\x22\x4d\x18", &[reader("lz4", "lz4 -dc FILE")]),
    ("7z archive", 0, b"7z\xbc\xaf\x27\x1c", &[reader("7z", "7z l FILE")]),
    ("rar archive", 0, b"Rar!\x1a\x07", &[reader("unrar", "unrar l FILE")]),
    ("ar archive", 0, b"!<arch>\n", &[reader("ar", "ar t FILE")]),
    ("SQLite database", 0, b"SQLite format 3\0", &[reader("sqlite3", "sqlite3 FILE .schema")]),
];

/// The type of a file that starts with these bytes, if it is binary: one of the table, or any file with a
/// NUL. The caller has ruled out UTF-16.
pub(crate) fn detect(start: &[u8], path: &str) -> Option<BinaryType> {
    let has = |at: usize, magic: &[u8]| start.get(at..).is_some_and(|rest| rest.starts_with(magic));
    let row = TABLE.iter().find(|(_, at, magic, _)| has(*at, magic));
    match row {
        Some((name, _, _, readers)) => {
            let readers = if is_compressed_tar(name, path) { TAR } else { readers };
            Some(BinaryType { name, readers })
        }
        None => memchr(0, start).map(|_| BinaryType { name: "data", readers: &[] }),
    }
}

/// Whether a compressed file contains a tar archive, judged by its name.
fn is_compressed_tar(name: &str, path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let endings = [".tgz", ".tbz2", ".txz", ".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst"];
    name.ends_with(" data") && endings.iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
#[path = "binary_type_tests.rs"]
mod tests;
