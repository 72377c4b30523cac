//! Files and trees that the first run creates under `target/bench` and later runs reuse. A fixed seed
//! determines their content.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Result;
use crate::options::io_error;

pub(crate) const GIBIBYTE: u64 = 1 << 30;
pub(crate) const TEBIBYTE: u64 = 1 << 40;

/// The number of entries in the large trees.
pub(crate) const MANY: usize = 1_000_000;
const DIRECTORIES: usize = 1000;

/// The directory of the fixtures.
#[derive(Clone)]
pub(crate) struct Fixtures {
    pub(crate) folder: PathBuf,
}

impl Fixtures {
    /// 1 GiB of log lines.
    pub(crate) fn log(&self) -> Result<PathBuf> {
        self.once("log-1g", |path| {
            let mut random = Random(1);
            write_until(path, GIBIBYTE, |line, count| log_line(line, count, &mut random))
        })
    }

    /// One line of 1 GiB: mostly ASCII, with some characters of two to four bytes.
    pub(crate) fn long_line(&self) -> Result<PathBuf> {
        self.once("line-1g", |path| {
            let mut random = Random(2);
            write_until(path, GIBIBYTE, |text, count| {
                let (key, value) = (random.below(100_000), random.below(1_000_000));
                let name = WORDS[random.below(WORDS.len())];
                let _ = write!(text, "{{\"id\":{count},\"k{key}\":{value},\"name\":\"{name}\"}},");
            })
        })
    }

    /// A sparse file of `size` bytes with a page of lines at its start, middle and end.
    pub(crate) fn sparse(&self, name: &str, size: u64) -> Result<PathBuf> {
        self.once(name, |path| {
            let mut file = File::create(path).map_err(io_error)?;
            let lines = "a line between holes\n".repeat(SPARSE_LINES);
            for start in [0, size / 2, size - lines.len() as u64] {
                file.seek(SeekFrom::Start(start)).map_err(io_error)?;
                file.write_all(lines.as_bytes()).map_err(io_error)?;
            }
            Ok(())
        })
    }

    /// A small project: fifty files of 16 KiB in five directories.
    pub(crate) fn project(&self) -> Result<PathBuf> {
        self.once("project-50", |top| {
            let mut random = Random(3);
            for number in 0..50 {
                let folder = top.join(format!("part-{}", number % 5));
                fs::create_dir_all(&folder).map_err(io_error)?;
                let path = folder.join(format!("file-{number:02}.log"));
                write_until(&path, 16 * 1024, |line, count| log_line(line, count, &mut random))?;
            }
            Ok(())
        })
    }

    /// Twenty entries: directories and files, one of them with 2 KiB of text.
    pub(crate) fn small(&self) -> Result<PathBuf> {
        self.once("small-20", |top| {
            for number in 0..4 {
                fs::create_dir_all(top.join(format!("part-{number}"))).map_err(io_error)?;
            }
            make_files(top, 15)?;
            let mut random = Random(4);
            write_until(&top.join("page.txt"), 2048, |line, count| {
                log_line(line, count, &mut random)
            })
        })
    }

    /// A million entries: a thousand directories with 999 files each.
    pub(crate) fn tree(&self) -> Result<PathBuf> {
        self.once("tree-1m", |top| {
            for directory in 0..DIRECTORIES {
                let here = top.join(format!("package-{directory:03}"));
                fs::create_dir_all(&here).map_err(io_error)?;
                make_files(&here, MANY / DIRECTORIES - 1)?;
            }
            Ok(())
        })
    }

    /// One directory with a million files.
    pub(crate) fn flat(&self) -> Result<PathBuf> {
        self.once("flat-1m", |top| {
            fs::create_dir_all(top).map_err(io_error)?;
            make_files(top, MANY)
        })
    }

    /// Creates the fixture under a temporary name first, so an interrupted run leaves no partial fixture.
    fn once(&self, name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let done = self.folder.join(name);
        if done.exists() {
            return Ok(done);
        }
        println!("== creating {name} (once)");
        let unfinished = self.folder.join(format!("{name}.unfinished"));
        if unfinished.is_dir() {
            fs::remove_dir_all(&unfinished).map_err(io_error)?;
        }
        fs::create_dir_all(&self.folder).map_err(io_error)?;
        make(&unfinished)?;
        fs::rename(&unfinished, &done).map_err(io_error)?;
        Ok(done)
    }
}

/// The number of lines in each of the three parts of a sparse file.
pub(crate) const SPARSE_LINES: usize = 1000;

const WORDS: [&str; 8] =
    ["request", "café", "connection", "worker", "retry", "cache", "東京", "queue 🧵"];
const LEVELS: [&str; 6] = ["INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"];

fn log_line(line: &mut String, count: u64, random: &mut Random) {
    let second = count / 40;
    let _ = write!(
        line,
        "2026-03-{:02}T{:02}:{:02}:{:02}.{:03}Z {} [{}-{}] request_id={:016x} status={} took={}ms",
        1 + second / 86_400 % 28,
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        random.below(1000),
        LEVELS[random.below(LEVELS.len())],
        WORDS[random.below(6)],
        random.below(32),
        random.next(),
        [200, 200, 201, 404, 500][random.below(5)],
        random.below(900),
    );
    for _ in 0..random.below(9) {
        let _ = write!(line, " {}", WORDS[random.below(WORDS.len())]);
    }
    line.push('\n');
}

/// Writes pieces of text until the file has exactly `size` bytes. The file ends in a newline, because
/// `wc -l` counts newlines and `read` counts lines; without one the counts differ.
fn write_until(path: &Path, size: u64, mut piece: impl FnMut(&mut String, u64)) -> Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path).map_err(io_error)?);
    let mut text = String::new();
    let (mut written, mut count) = (0, 0);
    loop {
        text.clear();
        piece(&mut text, count);
        count += 1;
        if written + text.len() as u64 >= size {
            break;
        }
        written += text.len() as u64;
        file.write_all(text.as_bytes()).map_err(io_error)?;
    }
    let rest = usize::try_from(size - written - 1).unwrap_or(0);
    file.write_all(("x".repeat(rest) + "\n").as_bytes()).map_err(io_error)?;
    file.flush().map_err(io_error)
}

/// Creates empty files in an order that differs from the order of their names.
fn make_files(directory: &Path, count: usize) -> Result<()> {
    for index in 0..count {
        // 7919 is prime and divides no count, so each number occurs once.
        let number = index * 7919 % count;
        File::create(directory.join(format!("module_{number:06}.rs"))).map_err(io_error)?;
    }
    Ok(())
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }
}
