//! `read`: returns a page of lines of one file and its exact number of lines.
//!
//! Long lines are truncated to a window of characters. `offset` selects the lines and `column` the
//! window, so every part of a file can be read.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::input_schema::{object, string, whole_number};
use crate::args;
use crate::context::TurnContext;
use crate::error::{ErrorCode, ToolError};
use crate::fs::read_line_page::{self, LinePageResult, ReadFailure};
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};
use crate::limits::{Limit, TIME_LIMIT};
use crate::output::{Attachment, Report};
use crate::paths::confined_path::OpenFailure;
use crate::text::escape;
use crate::text::image_type;
use crate::text::line_page::{PageLines, PageRequest};
use crate::text::reply_budget::ReplyBudget;
use crate::text::truncate;
use crate::tool::{Load, Tool, ToolDefinition};

/// The maximum number of lines per page.
pub const MAX_LINES: u64 = 2000;
/// The maximum number of characters shown of one line.
pub const MAX_LINE_LENGTH: usize = 500;
/// The maximum size of an image, in bytes.
pub const MAX_IMAGE_BYTES: u64 = 3_932_160;

/// The maximum length of the header, in bytes.
const HEADER_BYTES: usize = 256;

/// Reads a file.
#[derive(Clone, Copy, Debug)]
pub struct Read;

/// The arguments of `read`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "RawArgs")]
pub struct ReadArgs {
    /// The file, absolute or relative to the working directory.
    pub path: String,
    /// The first line of the page, counting from 1.
    pub offset: Option<u64>,
    /// The maximum number of lines on the page.
    pub limit: Option<u64>,
    /// The first character shown of each line, counting from 1.
    pub column: Option<u64>,
}

impl ReadArgs {
    /// Reads the first page of `path`, with defaults for everything else.
    pub fn new(path: impl Into<String>) -> Self {
        ReadArgs { path: path.into(), ..ReadArgs::default() }
    }
}

/// The arguments as models send them: some use `file_path`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArgs {
    path: Option<String>,
    file_path: Option<String>,
    #[serde(default, deserialize_with = "args::number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "args::number")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::number")]
    column: Option<u64>,
}

impl TryFrom<RawArgs> for ReadArgs {
    type Error = &'static str;

    fn try_from(raw: RawArgs) -> Result<Self, Self::Error> {
        let RawArgs { path, file_path, offset, limit, column } = raw;
        let path = match (path, file_path) {
            (Some(path), None) | (None, Some(path)) => path,
            (Some(_), Some(_)) => return Err("`path` and `file_path` are aliases; use only one"),
            (None, None) => return Err("missing field `path`"),
        };
        Ok(ReadArgs { path, offset, limit, column })
    }
}

/// The result of `read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReadReport {
    /// A page of lines.
    Text(TextPage),
    /// A complete image.
    Image(Image),
}

/// A page of lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextPage {
    /// The path as requested.
    pub path: String,
    /// The lines with their own line endings, and nothing else.
    pub content: String,
    /// The first line of the page, counting from 1.
    pub offset: u64,
    /// How many lines `content` has.
    pub lines_shown: u64,
    /// How many lines the file has.
    pub total_lines: u64,
    /// Whether lines follow the last one shown.
    pub truncated: bool,
    /// False if the time limit was reached before the end of the file.
    #[serde(skip_serializing_if = "is_true")]
    pub total_lines_exact: bool,
    /// How many of the lines shown are truncated at their end.
    #[serde(skip)]
    pub lines_truncated: u64,
    /// The first character shown of each line, counting from 1.
    #[serde(skip)]
    pub column: u64,
    /// How many bytes of the file are not shown, if its size is known.
    #[serde(skip)]
    pub withheld_bytes: u64,
}

/// An image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Image {
    /// The path as requested.
    pub path: String,
    /// Always `image`.
    pub r#type: &'static str,
    /// The MIME type, such as `image/png`.
    pub mime_type: &'static str,
    /// The size of the file.
    pub bytes: u64,
    /// The content of the file.
    #[serde(skip)]
    pub data: Vec<u8>,
}

fn is_true(value: &bool) -> bool {
    *value
}

impl Tool for Read {
    type Args = ReadArgs;
    type Report = ReadReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "read",
            title: "Read a file",
            description: format!(
                "Reads a text file and returns up to {MAX_LINES} lines and the total number of \
                 lines. If more lines follow, continue with offset set to the next line; to read \
                 a line past its first {MAX_LINE_LENGTH} characters, continue with column {next}. \
                 Also reads images (PNG, JPEG, GIF, WebP) and files in which bash saved long \
                 output. To list a directory, use list_dir.",
                next = MAX_LINE_LENGTH + 1,
            ),
            input_schema: object(
                "path",
                json!({
                    "path": string("Path of the file, absolute or relative to the working directory."),
                    "offset": whole_number("First line to return, counting from 1. Default 1."),
                    "limit": whole_number(&format!(
                        "Maximum number of lines to return. Default and maximum {MAX_LINES}."
                    )),
                    "column": whole_number(
                        "First character to return of each line, counting from 1. \
                         Default 1."
                    )
                }),
            ),
            read_only: true,
            load: Load::Read,
            counts: "bytes read",
            limits: vec![
                Limit::new("lines per page", MAX_LINES, "lines")
                    .beyond("`truncated` is true; continue with offset"),
                Limit::new("length of a line", MAX_LINE_LENGTH as u64, "characters")
                    .beyond("the line is truncated; continue with column"),
                Limit::new("size of an image", MAX_IMAGE_BYTES, "bytes")
                    .beyond("fails with `too_large`"),
            ],
        }
    }

    fn run(&self, args: ReadArgs, turn: &TurnContext) -> Result<ReadReport, ToolError> {
        let mut page = PageRequest {
            offset: args.offset.unwrap_or(1).max(1),
            limit: args.limit.unwrap_or(MAX_LINES).min(MAX_LINES),
            column: args.column.unwrap_or(1).max(1),
            width: MAX_LINE_LENGTH,
            bytes: usize::MAX,
        };
        if let Some(budget) = turn.reply_budget {
            let room = budget.beside(HEADER_BYTES, 1);
            page.bytes = room.bytes;
            page.limit = page.limit.min(room.lines as u64);
        }
        if page.limit == 0 {
            return Err(ToolError::invalid_input("limit must be greater than zero"));
        }
        if args.path.is_empty() {
            return Err(ToolError::invalid_input("path must not be empty"));
        }
        let path = turn.resolve_path("path", &args.path)?;
        let file = RegularFile::open(&path).map_err(|failure| match failure {
            OpenFailure::Refused(error) => error,
            OpenFailure::NotAFile => ToolError::new(
                ErrorCode::NotAFile,
                format!(
                    "path `{}` is not a regular file; use list_dir to list a directory",
                    escape::text(&args.path)
                ),
            ),
            OpenFailure::Io(error) => unreadable(&args.path, &error),
        })?;
        let mut start = [0; image_type::MAGIC_BYTES];
        let start = file.read_at(0, &mut start).map_err(|error| unreadable(&args.path, &error))?;
        match start.and_then(image_type::detect) {
            Some(mime_type) => read_image(args.path, mime_type, &file).map(ReadReport::Image),
            None => read_text(args.path, page, &file, turn).map(ReadReport::Text),
        }
    }
}

impl Report for ReadReport {
    fn content(&self) -> String {
        match self {
            ReadReport::Text(page) => {
                let header = page.header();
                if page.content.is_empty() { header } else { header + "\n" + &page.content }
            }
            ReadReport::Image(image) => format!(
                "[image {}; {}; {} bytes]",
                truncate::at_most(&escape::text(&image.path), ReplyBudget::MIN_BYTES / 2),
                image.mime_type,
                image.bytes
            ),
        }
    }

    fn success(&self) -> bool {
        true
    }

    fn withheld_bytes(&self) -> u64 {
        match self {
            ReadReport::Text(page) => page.withheld_bytes,
            ReadReport::Image(_) => 0,
        }
    }

    fn next_offset(&self) -> Option<u64> {
        match self {
            ReadReport::Text(page) => page.next_offset(),
            ReadReport::Image(_) => None,
        }
    }

    fn attachment(&self) -> Option<Attachment<'_>> {
        match self {
            ReadReport::Text(_) => None,
            ReadReport::Image(image) => {
                Some(Attachment { mime_type: image.mime_type, bytes: &image.data })
            }
        }
    }
}

impl TextPage {
    fn next_offset(&self) -> Option<u64> {
        self.truncated.then(|| self.offset.saturating_add(self.lines_shown))
    }

    /// One line that says which part of the file this is and how to continue.
    fn header(&self) -> String {
        let total = match self.total_lines_exact {
            true => self.total_lines.to_string(),
            false => format!("at least {}", self.total_lines),
        };
        if self.lines_shown == 0 {
            let lines = if self.total_lines == 1 { "line" } else { "lines" };
            return format!("[no lines at offset {}; {total} {lines} in total]", self.offset);
        }
        let last = self.offset + self.lines_shown - 1;
        let mut header = format!("[lines {}-{last} of {total}", self.offset);
        if let Some(offset) = self.next_offset() {
            header.push_str(&format!("; next offset {offset}"));
        }
        if self.lines_truncated > 0 {
            let lines = if self.lines_truncated == 1 { "line" } else { "lines" };
            let column = self.column.saturating_add(MAX_LINE_LENGTH as u64);
            header.push_str(&format!(
                "; {} {lines} truncated, continue with column {column}",
                self.lines_truncated
            ));
        }
        header.push(']');
        header
    }
}

fn unreadable(path: &str, error: &std::io::Error) -> ToolError {
    ToolError::io(format_args!("path `{}` cannot be read", escape::text(path)), error)
}

fn read_text(
    path: String,
    page: PageRequest,
    file: &RegularFile,
    turn: &TurnContext,
) -> Result<TextPage, ToolError> {
    let stop_check = turn.stop_check(TIME_LIMIT);
    let scanned = read_line_page::read_page(file, page, &stop_check, &turn.progress);
    let LinePageResult { lines, exact } = scanned.map_err(|failure| match failure {
        ReadFailure::Stopped(stop) => stop.error("read", &stop_check),
        ReadFailure::Io(error) => unreadable(&path, &error),
    })?;
    let PageLines { content, lines_shown, lines_truncated, total_lines } = lines;
    let withheld_bytes = file.size().unwrap_or(0).saturating_sub(content.len() as u64);
    Ok(TextPage {
        path,
        content,
        offset: page.offset,
        lines_shown,
        total_lines,
        truncated: lines_shown > 0 && page.offset - 1 + lines_shown < total_lines,
        total_lines_exact: exact,
        lines_truncated,
        column: page.column,
        withheld_bytes,
    })
}

fn read_image(
    path: String,
    mime_type: &'static str,
    file: &RegularFile,
) -> Result<Image, ToolError> {
    let mut data = Vec::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    while data.len() as u64 <= MAX_IMAGE_BYTES && file.size() <= Some(MAX_IMAGE_BYTES) {
        let piece = file.read_at(data.len() as u64, &mut buffer);
        match piece.map_err(|error| unreadable(&path, &error))? {
            Some(piece) => data.extend_from_slice(piece),
            None => {
                let bytes = data.len() as u64;
                return Ok(Image { path, r#type: "image", mime_type, bytes, data });
            }
        }
    }
    Err(ToolError::new(
        ErrorCode::TooLarge,
        format!(
            "path `{}` is an image larger than {MAX_IMAGE_BYTES} bytes; create a smaller copy",
            escape::text(&path)
        ),
    ))
}
