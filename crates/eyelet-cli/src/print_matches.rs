//! Prints matching lines as `rg` does: in groups and in colour on a terminal, one path per line otherwise.

use std::fmt::Write as _;
use std::io;
use std::path::Path;

use clap::builder::styling::{AnsiColor, Style};
use eyelet::escape_name;
use eyelet::tools::{FileCount, FileMatches, MatchPage, ShownLine};

use crate::print::{self, Colours, escaped};

const PATH: Style = AnsiColor::Magenta.on_default();
const NUMBER: Style = AnsiColor::Green.on_default();
const MATCH: Style = AnsiColor::Red.on_default().bold();

/// Prints matching lines. Paths below `cwd` are relative to it on a terminal.
pub(crate) fn lines(page: &MatchPage, cwd: &Path) -> io::Result<()> {
    if print::is_terminal() {
        let colours = Colours::detect();
        return print::verbatim(&grouped(page, cwd, colours));
    }
    let mut text = String::new();
    for file in &page.files {
        plain(file, page.in_one_file, &mut text);
    }
    print::text(&text)
}

/// Prints how many lines of each file match.
pub(crate) fn counts(counts: &[FileCount], cwd: &Path) -> io::Result<()> {
    let colours = Colours::detect();
    let is_terminal = print::is_terminal();
    let mut text = String::new();
    for count in counts {
        let path = if is_terminal { shown(&count.path, cwd) } else { absolute(&count.path) };
        let _ = writeln!(text, "{}:{}", colours.paint(PATH, &path), count.lines);
    }
    print::verbatim(&text)
}

/// The lines of each file below its path.
fn grouped(page: &MatchPage, cwd: &Path, colours: Colours) -> String {
    let mut text = String::new();
    for (place, file) in page.files.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        if !page.in_one_file {
            let _ = writeln!(text, "{}", colours.paint(PATH, &shown(&file.path, cwd)));
        }
        for line in file.lines() {
            if line.starts_group && has_context(file) {
                text.push_str("--\n");
            }
            text.push_str(&colours.paint(NUMBER, &line.prefix()));
            write_text(&line, colours, &mut text);
            text.push('\n');
        }
        if let Some(note) = file.more_note() {
            text.push_str(&note);
            text.push('\n');
        }
    }
    text
}

/// A line with its matches in colour.
fn write_text(line: &ShownLine<'_>, colours: Colours, out: &mut String) {
    out.push_str(if line.text.follows_more { "…" } else { "" });
    let mut rest = 0;
    for span in line.spans {
        let text = |range: std::ops::Range<usize>| line.text.text.get(range).unwrap_or_default();
        out.push_str(&escaped(text(rest..span.start)));
        if !span.is_empty() {
            out.push_str(&colours.paint(MATCH, &escaped(text(span.clone()))));
        }
        rest = span.end;
    }
    out.push_str(&escaped(line.text.text.get(rest..).unwrap_or_default()));
    out.push_str(if line.text.precedes_more { "…" } else { "" });
}

/// One line per match, each with its path.
fn plain(file: &FileMatches, in_one_file: bool, out: &mut String) {
    for line in file.lines() {
        if line.starts_group && has_context(file) {
            out.push_str("--\n");
        }
        let prefix = line.prefix();
        if !in_one_file {
            let separator = if line.column.is_some() { ':' } else { '-' };
            let _ = write!(out, "{}{separator}", absolute(&file.path));
        }
        let before = if line.text.follows_more { "…" } else { "" };
        let after = if line.text.precedes_more { "…" } else { "" };
        let _ = writeln!(out, "{prefix}{before}{}{after}", line.text.text);
    }
}

fn has_context(file: &FileMatches) -> bool {
    file.matches.iter().any(|found| !found.before.is_empty() || !found.after.is_empty())
}

/// A path for people: relative to the working directory if it is below it.
fn shown(path: &str, cwd: &Path) -> String {
    let path = Path::new(path);
    escape_name(path.strip_prefix(cwd).unwrap_or(path).as_os_str()).into_owned()
}

fn absolute(path: &str) -> String {
    escape_name(path.as_ref()).into_owned()
}
