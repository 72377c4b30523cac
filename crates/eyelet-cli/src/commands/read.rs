//! `eyelet read`: prints the lines of a text file.

use std::process::ExitCode;

use eyelet::tools::{Read, ReadArgs, ReadReport, TextPage};
use eyelet::{Report as _, escape_name, grouped};

use super::tool_runner;
use crate::failure::Failure;
use crate::flags::{ContextFlags, ReadFlags};
use crate::{context, print};

pub(crate) fn run(flags: &ReadFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let turn = context::build(&before.with(&flags.common.context))?;
    let args = ReadArgs {
        offset: flags.offset,
        limit: flags.limit,
        column: flags.column,
        ..ReadArgs::new(tool_runner::absolute_path("FILE", &flags.file, &turn)?)
    };
    let outcome = tool_runner::run::<Read>(args, &turn);
    if flags.common.json {
        return tool_runner::print_report(outcome);
    }
    match outcome? {
        ReadReport::Text(page) => {
            print::text(&page.content)?;
            if let Some(note) = note(&page) {
                print::note(&note);
            }
        }
        // There is nothing to print of an image, so it is described.
        ReadReport::Image(image) => {
            let path = escape_name(image.path.as_ref());
            print::lines(&format!("[image {path}; {}; {} bytes]", image.mime_type, image.bytes))?;
        }
        other => print::lines(&other.content())?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Which lines were printed and how to continue, if they are not the end of the file in full; and what the lines do
/// not show about the file.
fn note(page: &TextPage) -> Option<String> {
    let next_lines = page.next_offset().map(|offset| format!("continue with --offset {offset}"));
    let next_column = page
        .next_column()
        .map(|column| format!("{}, continue with --column {column}", page.truncated_in_words()));
    let is_partial = page.lines_shown == 0 || next_lines.is_some() || next_column.is_some();
    let lines = is_partial.then(|| page.lines_in_words());
    let content = match &page.binary {
        Some(binary) => Some(format!("binary file: {}", binary.kind)),
        None => (page.invalid_bytes > 0).then(|| not_utf8(page)),
    };
    let growing = page.is_growing.then(|| "the file is still growing".to_owned());
    let parts = [lines, next_lines, next_column, content, growing];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// How many bytes are not UTF-8, in words.
fn not_utf8(page: &TextPage) -> String {
    let at_least = if page.total_lines_exact { "" } else { "at least " };
    let bytes =
        if page.invalid_bytes == 1 { "byte of the file is" } else { "bytes of the file are" };
    format!("{at_least}{} {bytes} not UTF-8, shown as U+FFFD", grouped(page.invalid_bytes))
}
