//! Writes to stdout and stderr. Only `print_live` does so too.
//!
//! On a terminal, control characters are escaped: the content of a file or the output of a command
//! must not move the cursor. Text to a pipe is unchanged.

use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::builder::styling::{AnsiColor, Style};
use eyelet::tools::list_dir::INDENTATION_SPACES;
use eyelet::tools::{EntryKind, ListDirReport};
use eyelet::{Report as _, is_escaped};

use crate::log;

const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();
const LINK: Style = AnsiColor::Cyan.on_default();

/// Whether stdout is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints text that has no control characters but colours.
pub(crate) fn verbatim(text: &str) -> io::Result<()> {
    write(&mut io::stdout().lock(), text.as_bytes())
}

/// Prints text to stdout.
pub(crate) fn text(text: &str) -> io::Result<()> {
    stream(&mut io::stdout().lock(), text)
}

/// Prints a command's stderr to stderr.
pub(crate) fn stderr_text(text: &str) -> io::Result<()> {
    stream(&mut io::stderr().lock(), text)
}

/// On a terminal, adds a missing final newline: the next text must start on a new line.
fn stream(stream: &mut (impl Write + IsTerminal), text: &str) -> io::Result<()> {
    if !stream.is_terminal() {
        return write(stream, text.as_bytes());
    }
    let mut safe = escaped(text);
    if !safe.is_empty() && !safe.ends_with('\n') {
        safe.push('\n');
    }
    write(stream, safe.as_bytes())
}

/// Prints text, and a newline unless it ends with one.
pub(crate) fn lines(lines: &str) -> io::Result<()> {
    let newline = if lines.ends_with('\n') { "" } else { "\n" };
    text(&format!("{lines}{newline}"))
}

/// Prints one line of JSON.
pub(crate) fn json(json: &impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        return write(&mut stdout, format!("{}\n", escaped_json(json)).as_bytes());
    }
    ignore_broken_pipe(writeln!(stdout, "{json}").and_then(|()| stdout.flush()))
}

/// Prints the output of `list_dir`, in colour on a terminal.
pub(crate) fn directory_listing(listing: &ListDirReport) -> io::Result<()> {
    if !io::stdout().is_terminal() || !wants_colours() {
        return lines(&listing.content());
    }
    let mut coloured = escaped(&listing.header()) + "\n";
    for entry in &listing.entries {
        let style = match entry.kind {
            EntryKind::Directory => DIRECTORY,
            EntryKind::Symlink => LINK,
            EntryKind::File | EntryKind::Other => Style::new(),
        };
        let indentation = entry.depth * INDENTATION_SPACES;
        let (name, suffix) = (escaped(entry.shown_name()), entry.kind.suffix());
        // Writing to a string cannot fail.
        let _ = writeln!(coloured, "{:indentation$}{style}{name}{suffix}{style:#}", "");
    }
    coloured.extend(listing.more_line().map(|line| line + "\n"));
    write(&mut io::stdout().lock(), coloured.as_bytes())
}

/// Prints a note for people to stderr.
pub(crate) fn note(note: &str) {
    if log::is_json() {
        return tracing::info!("{}", one_line(note));
    }
    // If stderr is gone, there is nowhere to report it.
    let _ = write(&mut io::stderr().lock(), format!("{}\n", one_line(note)).as_bytes());
}

/// Prints a warning to stderr.
pub(crate) fn warning(warning: &str) {
    if log::is_json() {
        return tracing::warn!("{}", one_line(warning));
    }
    note(&format!("Warning: {warning}"));
}

/// Prints one line of JSON to stderr.
pub(crate) fn json_note(json: &impl Display) {
    if log::is_json() {
        return tracing::info!(%json, "entry");
    }
    let line = format!("{}\n", escaped_json(json));
    let _ = write(&mut io::stderr().lock(), line.as_bytes());
}

/// Prints an error to stderr.
pub(crate) fn error(message: &str) {
    if log::is_json() {
        return tracing::error!("{}", one_line(message));
    }
    note(&format!("eyelet: {message}"));
}

fn write(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    ignore_broken_pipe(stream.write_all(bytes).and_then(|()| stream.flush()))
}

/// Treats a closed pipe (`| head -1`) as success: the reader needs no more.
pub(crate) fn ignore_broken_pipe(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Whether colours are not turned off.
fn wants_colours() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !no_color && !dumb
}

/// Whether to print colours.
#[derive(Clone, Copy)]
pub(crate) enum Colours {
    On,
    Off,
}

impl Colours {
    /// On if stdout is a terminal and colours are not turned off.
    pub(crate) fn detect() -> Self {
        if is_terminal() && wants_colours() { Colours::On } else { Colours::Off }
    }

    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        match self {
            Colours::On => format!("{style}{text}{style:#}"),
            Colours::Off => text.to_owned(),
        }
    }
}

/// Text without control characters, except tabs and line breaks.
pub(crate) fn escaped(text: &str) -> String {
    replace_controls(text, |character| match character {
        '\n' | '\t' => character.to_string(),
        _ => character.escape_default().to_string(),
    })
}

/// Equivalent JSON: such characters occur only inside strings.
fn escaped_json(json: &impl Display) -> String {
    replace_controls(&json.to_string(), |character| format!("\\u{:04x}", u32::from(character)))
}

fn replace_controls(text: &str, escape: impl Fn(char) -> String) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) {
            safe.push_str(&escape(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Joins the lines of a message. Drops lines of `^` markers, which would point nowhere.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.trim_matches(['^', ' ']).is_empty()).collect();
    escaped(&lines.join(" "))
}
