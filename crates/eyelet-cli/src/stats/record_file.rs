//! Reads the lines of a record, one at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use super::collector::Collector;

/// A longer line is not a call: a path and a command have at most 4096 bytes each.
const MAX_LINE_BYTES: u64 = 1024 * 1024;

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) struct Unreadable(pub(crate) io::Error);

/// Adds all calls of a file.
pub(crate) fn add_file(collector: &mut Collector, path: &Path) -> Result<(), Unreadable> {
    let file = File::open(path).map_err(Unreadable)?;
    collector.begin_file(path.to_string_lossy().into_owned());
    add_lines(collector, &mut BufReader::new(file)).map_err(Unreadable)
}

fn add_lines(collector: &mut Collector, reader: &mut impl BufRead) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            return Ok(());
        }
        let is_complete = line.ends_with(b"\n");
        if !is_complete && read as u64 == MAX_LINE_BYTES {
            reader.skip_until(b'\n')?;
            collector.add_unreadable_line();
            continue;
        }
        // An incomplete last line is not an error: a server is writing it, or the file is the start of a record.
        if (is_complete || is_json(&line)) && !line.trim_ascii().is_empty() {
            collector.add_line(&line);
        }
    }
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: &str = r#"{"time":"2026-11-18T20:05:17.123Z","tool":"read","tokens":7}"#;

    /// How many lines were calls, and how many could not be read.
    fn counts(text: &str) -> (u64, u64) {
        let mut collector = Collector::new(10);
        add_lines(&mut collector, &mut text.as_bytes()).unwrap();
        let report = collector.finish();
        (report.total.calls, report.unreadable_lines)
    }

    #[test]
    fn lines_that_are_not_calls_are_counted() {
        assert_eq!(counts(""), (0, 0));
        assert_eq!(counts(&format!("{CALL}\n\n{CALL}\r\n")), (2, 0));
        assert_eq!(counts(&format!("# calls\n{CALL}\nnull\n{{}}\n\u{0}\n")), (1, 4));
        let without_time = CALL.replace("2026-11", "2026-13");
        assert_eq!(counts(&format!("{without_time}\n{CALL}\n")), (1, 1));
    }

    #[test]
    fn incomplete_last_line_is_ignored() {
        assert_eq!(counts(&format!("{CALL}\n{}", CALL.split_at(30).0)), (1, 0));
        assert_eq!(counts(&format!("{CALL}\n{CALL}")), (2, 0));
    }

    #[test]
    fn too_long_lines_are_skipped() {
        let long = "x".repeat(MAX_LINE_BYTES as usize * 3);
        assert_eq!(counts(&format!("{long}\n{CALL}\n{long}")), (1, 2));
        let exact = format!("{CALL}{}\n", " ".repeat(MAX_LINE_BYTES as usize - CALL.len() - 1));
        assert_eq!(counts(&format!("{exact}{CALL}")), (2, 0));
    }
}
