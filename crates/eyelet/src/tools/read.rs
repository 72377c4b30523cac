//! `read`: returns a page of lines of one file and its exact number of lines.
//!
//! Long lines are truncated to a window of characters. `offset` selects the lines and `column` the
//! window, so every part of a file can be read.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::input_schema::{flag, object, string, whole_number};
use super::read_image::{self, not_an_image, parse_region, read_image};
pub use super::read_image::{Image, MAX_IMAGE_FILE_BYTES};
use super::read_text::{self, unreadable};
pub use super::text_page::MAX_LINE_LENGTH;
use super::text_page::{MAX_DUMP_BYTES, TextPage};
use crate::args;
use crate::context::TurnContext;
use crate::error::{ErrorCode, Hint, ToolError};
use crate::facts::Facts;
use crate::fs::regular_file::RegularFile;
use crate::fs::similar_file::similar_file;
use crate::images::image_type;
use crate::limits::Limit;
use crate::output::{Attachment, Report};
use crate::paths::confined_path::OpenFailure;
use crate::text::binary_type;
use crate::text::escape;
use crate::text::line_page::{PagePart, PageRequest};
use crate::tool::{Load, Tool, ToolDefinition};

/// The maximum number of lines per page.
pub const MAX_LINES: u64 = 2000;

/// The maximum length of the header, in bytes.
const HEADER_BYTES: usize = 320;

/// The tool `read`: reads a file.
#[derive(Clone, Copy, Debug)]
pub struct Read;

/// The arguments of `read`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "RawArgs")]
pub struct ReadArgs {
    /// The path of the file, absolute or relative to the working directory.
    pub path: String,
    /// The number of the first line of the page, counting from 1.
    pub offset: Option<u64>,
    /// The maximum number of lines on the page.
    pub limit: Option<u64>,
    /// The number of the first character to show of each line, counting from 1.
    pub column: Option<u64>,
    /// Shows this many lines from the end of the file. Cannot be combined with `offset` or `limit`.
    pub tail: Option<u64>,
    /// Whether the text form shows the number of each line.
    pub numbers: bool,
    /// The WHATWG label of the file's encoding. The default is the encoding of the byte-order mark,
    /// or UTF-8 if the file has none.
    pub encoding: Option<String>,
    /// The part of an image to show: `x,y,w,h` in pixels, which are the left and top edge, width
    /// and height.
    pub region: Option<String>,
}

impl ReadArgs {
    /// Creates arguments that read the first page of `path`, with the default for every other
    /// argument.
    pub fn new(path: impl Into<String>) -> Self {
        ReadArgs { path: path.into(), ..ReadArgs::default() }
    }
}

/// The arguments as models send them: some use `file_path`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArgs {
    path: Option<String>,
    #[serde(default, deserialize_with = "args::blank_as_none")]
    file_path: Option<String>,
    #[serde(default, deserialize_with = "args::number")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "args::number")]
    limit: Option<u64>,
    #[serde(default, deserialize_with = "args::number")]
    column: Option<u64>,
    #[serde(default, deserialize_with = "args::number")]
    tail: Option<u64>,
    #[serde(default, deserialize_with = "args::flag")]
    numbers: Option<bool>,
    #[serde(default, deserialize_with = "args::blank_as_none")]
    encoding: Option<String>,
    #[serde(default, deserialize_with = "args::blank_as_none")]
    region: Option<String>,
}

impl TryFrom<RawArgs> for ReadArgs {
    type Error = &'static str;

    fn try_from(raw: RawArgs) -> Result<Self, Self::Error> {
        let RawArgs { path, file_path, offset, limit, column, tail, numbers, encoding, region } =
            raw;
        let path = match (path, file_path) {
            (Some(path), None) | (None, Some(path)) => path,
            (Some(_), Some(_)) => return Err("`path` and `file_path` are aliases; use only one"),
            (None, None) => return Err("missing field `path`"),
        };
        let numbers = numbers.unwrap_or(false);
        Ok(ReadArgs { path, offset, limit, column, tail, numbers, encoding, region })
    }
}

/// The result of `read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ReadReport {
    /// A page of lines of a text file, or the start of a binary file.
    Text(TextPage),
    /// An image, possibly scaled down or cropped.
    Image(Image),
}

impl Tool for Read {
    type Args = ReadArgs;
    type Report = ReadReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new(
            "read",
            format!(
                "Reads a file and returns up to {MAX_LINES} lines and the total number of lines. If \
                 more lines follow, continue with offset set to the next line; if a line has more \
                 than {MAX_LINE_LENGTH} characters, with column {next}. Also shows images, the start of \
                 binary files as hex, and output that bash saved.",
                next = MAX_LINE_LENGTH + 1,
            ),
        )
        .with_title("Read a file")
        .with_input_schema(object(
            "path",
            json!({
                "path": string("Absolute, or relative to the working directory."),
                "offset": whole_number("First line, from 1."),
                "limit": whole_number("Lines per page."),
                "column": whole_number("First character of each line, from 1."),
                "tail": whole_number("Last lines, instead of offset and limit."),
                "numbers": flag("Show line numbers."),
                "encoding": string("Such as gb18030. Default: byte-order mark or utf-8."),
                "region": string("Part of an image: x,y,w,h in pixels.")
            }),
        ))
        .read_only()
        .with_load(Load::Read)
        .with_counts("bytes read")
        .with_limits(
            [
                Limit::new("lines per page", MAX_LINES, "lines")
                    .beyond("`truncated` is true; continue with offset"),
                Limit::new("length of a line", MAX_LINE_LENGTH as u64, "characters")
                    .beyond("the line is truncated; continue with column"),
                Limit::new("hex dump of a binary file", MAX_DUMP_BYTES as u64, "bytes")
                    .beyond("the rest is not shown; set encoding to read the file as text"),
            ]
            .into_iter()
            .chain(read_image::limits())
            .collect(),
        )
    }

    fn run(&self, args: ReadArgs, turn: &TurnContext) -> Result<ReadReport, ToolError> {
        let page = page_request(&args, turn)?;
        let encoding = args.encoding.as_deref().map(read_text::encoding_argument).transpose()?;
        if args.path.is_empty() {
            return Err(ToolError::invalid_input("path must not be empty"));
        }
        let region = args.region.as_deref().map(parse_region).transpose()?;
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
            OpenFailure::Io(error) => {
                let similar = (error.kind() == std::io::ErrorKind::NotFound)
                    .then(|| similar_file(&args.path, turn))
                    .flatten();
                let error = unreadable(&args.path, &error);
                match similar {
                    Some(path) => {
                        error.with_hint(Hint::SimilarPath(escape::text(&path).into_owned()))
                    }
                    None => error,
                }
            }
        })?;
        let mut start = [0; binary_type::CHECKED_BYTES];
        let start = file.read_start(&mut start).map_err(|error| unreadable(&args.path, &error))?;
        match image_type::detect(start) {
            Some(image) => read_image(args.path, image, region, &file, turn).map(ReadReport::Image),
            None if region.is_some() => Err(not_an_image(&args.path)),
            None => {
                let read = read_text::read_text(args.path, page, encoding, file, start, turn);
                let is_jobs = turn.jobs.as_ref().is_some_and(|jobs| jobs.is_writing(path.shown()));
                read.map(|mut page| {
                    page.is_growing |= is_jobs;
                    ReadReport::Text(page)
                })
            }
        }
    }
}

/// The page that the arguments select, within the limits of the tool and of the reply.
fn page_request(args: &ReadArgs, turn: &TurnContext) -> Result<PageRequest, ToolError> {
    let (part, lines) = match args.tail {
        Some(_) if args.offset.is_some() || args.limit.is_some() => {
            return Err(ToolError::invalid_input(
                "tail cannot be combined with offset or limit; use only tail",
            ));
        }
        Some(0) => return Err(ToolError::invalid_input("tail must be greater than zero")),
        Some(lines) => (PagePart::Tail, lines),
        None => (PagePart::FromOffset, args.limit.unwrap_or(MAX_LINES)),
    };
    let mut page = PageRequest {
        part,
        offset: args.offset.unwrap_or(1).max(1),
        limit: lines.min(MAX_LINES),
        column: args.column.unwrap_or(1).max(1),
        width: MAX_LINE_LENGTH,
        bytes: usize::MAX,
        is_numbered: args.numbers,
    };
    if let Some(budget) = turn.reply_budget {
        let room = budget.beside(HEADER_BYTES, 1);
        page.bytes = room.bytes;
        page.limit = page.limit.min(room.lines as u64);
    }
    if page.limit == 0 {
        return Err(ToolError::invalid_input("limit must be greater than zero"));
    }
    Ok(page)
}

impl Report for ReadReport {
    fn content(&self) -> String {
        match self {
            ReadReport::Text(page) => page.text_form(),
            ReadReport::Image(image) => image.header(),
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
            // The text form of a binary file has no pages.
            ReadReport::Text(page) if page.binary.is_some() => None,
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

    fn facts(&self) -> Facts {
        match self {
            // The text form of a binary file shows bytes, not lines.
            ReadReport::Text(page) if page.binary.is_some() => Facts::default(),
            ReadReport::Text(page) => Facts::page(page.offset, page.lines_shown),
            ReadReport::Image(image) => {
                let (width, height) = image.shown_size;
                Facts { pixels: Some(u64::from(width) * u64::from(height)), ..Facts::default() }
            }
        }
    }
}
