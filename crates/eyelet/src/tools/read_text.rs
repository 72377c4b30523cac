//! How `read` reads a file that is not an image: as UTF-8, decoded, or as a binary file.

use super::text_page::{BinaryFile, MAX_DUMP_BYTES, TextPage};
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::exec::find_program;
use crate::fs::decode_lines;
use crate::fs::guess_encoding::guess_encoding;
use crate::fs::read_line_page::{self, LinePageResult, ReadFailure};
use crate::fs::regular_file::RegularFile;
use crate::limits::TIME_LIMIT;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::binary_type;
use crate::text::encoding::{self, TextEncoding};
use crate::text::escape;
use crate::text::line_page::{PageLines, PageRequest};

/// The encoding that an argument names.
pub(super) fn encoding_argument(label: &str) -> Result<TextEncoding, ToolError> {
    encoding::from_label(label).ok_or_else(|| {
        ToolError::invalid_input(format!(
            "encoding `{}` is not known; use a WHATWG label such as utf-8, utf-16le, windows-1252, \
             shift_jis or gb18030",
            escape::text(label)
        ))
    })
}

/// The error of a file that cannot be read.
pub(super) fn unreadable(path: &str, error: &std::io::Error) -> ToolError {
    ToolError::io(format_args!("path `{}` cannot be read", escape::text(path)), error)
}

/// Reads a page of the file at `path`, which starts with the bytes `start`. Without `wanted`, the bytes
/// decide which encoding the file has and whether it is binary.
pub(super) fn read_text(
    path: String,
    page: PageRequest,
    wanted: Option<TextEncoding>,
    file: RegularFile,
    start: &[u8],
    turn: &TurnContext,
) -> Result<TextPage, ToolError> {
    let marked = encoding::from_mark(start);
    let encoding = wanted.or(marked).unwrap_or(TextEncoding::Utf8);
    let binary = match (wanted, encoding) {
        (None, TextEncoding::Utf8) => binary_file(&path, &file, start, turn),
        (Some(_), _) | (_, TextEncoding::Other(_)) => None,
    };
    let stop_check = turn.stop_check(TIME_LIMIT);
    let (file, scanned) = match encoding {
        TextEncoding::Utf8 => {
            let file = file.without_start(encoding::utf8_mark_bytes(start));
            let scanned = read_line_page::read_page(&file, page, &stop_check, &turn.progress);
            (file, scanned)
        }
        TextEncoding::Other(encoding) => {
            let scanned =
                decode_lines::read_page(&file, encoding, page, &stop_check, &turn.progress);
            (file, scanned)
        }
    };
    let LinePageResult { lines, exact, invalid_bytes } =
        scanned.map_err(|failure| match failure {
            ReadFailure::Stopped(stop) => stop.error("read", &stop_check),
            ReadFailure::Io(error) => unreadable(&path, &error),
        })?;
    let likely = match wanted.or(marked) {
        None if binary.is_none() => guess_encoding(&file, invalid_bytes, &stop_check)
            .map_err(|error| unreadable(&path, &error))?,
        Some(_) | None => None,
    };
    let PageLines { content, offset, lines_shown, lines_truncated, total_lines } = lines;
    let is_whole = exact
        && (offset, page.column) == (1, 1)
        && (lines_shown, lines_truncated) == (total_lines, 0);
    let withheld_bytes = match (&binary, file.size()) {
        // The text form shows the first bytes instead of the content.
        (Some(binary), Some(size)) => size.saturating_sub(binary.start.len() as u64),
        // Decoded text can be longer or shorter than the bytes of the file.
        (None, Some(size)) if !is_whole => size.saturating_sub(content.len() as u64),
        (_, Some(_) | None) => 0,
    };
    Ok(TextPage {
        path,
        content,
        offset,
        lines_shown,
        total_lines,
        truncated: lines_shown > 0 && offset - 1 + lines_shown < total_lines,
        total_lines_exact: exact,
        binary,
        lines_truncated,
        column: page.column,
        withheld_bytes,
        invalid_bytes,
        likely_encoding: likely.map(encoding::label),
        is_growing: file.has_grown(),
        is_numbered: page.is_numbered,
    })
}

fn binary_file(
    path: &str,
    file: &RegularFile,
    start: &[u8],
    turn: &TurnContext,
) -> Option<BinaryFile> {
    let found = binary_type::detect(start, path)?;
    let shown = start.get(..MAX_DUMP_BYTES).unwrap_or(start);
    let is_all = start.len() == shown.len();
    let is_installed = |reader: &&binary_type::Reader| {
        find_program::find(reader.program, &turn.environment).is_some()
    };
    let reader = match turn.sandbox() {
        SandboxPolicy::Off => None,
        SandboxPolicy::ReadOnly | SandboxPolicy::WorkspaceWrite | SandboxPolicy::Full => {
            found.readers.iter().find(is_installed)
        }
    };
    Some(BinaryFile {
        kind: found.name,
        size: file.size().or(is_all.then_some(shown.len() as u64)),
        start: shown.to_vec(),
        command: reader.map(|reader| reader.command),
    })
}
