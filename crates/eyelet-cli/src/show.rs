//! Writing to stdout and stderr: the only place that does.
//!
//! On a terminal nothing that a file or a command printed may move the cursor, so control
//! characters are escaped there; into a pipe the text goes unchanged.

use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, IsTerminal, Write};

use clap::builder::styling::{AnsiColor, Style};
use eyelet::is_escaped;

const DIRECTORY: Style = AnsiColor::Blue.on_default().bold();
const LINK: Style = AnsiColor::Cyan.on_default();

/// Writes text to stdout.
pub(crate) fn text(text: &str) -> io::Result<()> {
    stream(&mut io::stdout().lock(), text)
}

/// Writes a command's stderr to stderr.
pub(crate) fn stderr_text(text: &str) -> io::Result<()> {
    stream(&mut io::stderr().lock(), text)
}

/// On a terminal what follows starts on a new line, whatever the text ends in.
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

/// Writes text and a newline, unless it ends in one.
pub(crate) fn lines(lines: &str) -> io::Result<()> {
    let newline = if lines.ends_with('\n') { "" } else { "\n" };
    text(&format!("{lines}{newline}"))
}

/// Writes one line of JSON.
pub(crate) fn json(json: &impl Display) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        return write(&mut stdout, format!("{}\n", escaped_json(&json.to_string())).as_bytes());
    }
    tolerant(writeln!(stdout, "{json}").and_then(|()| stdout.flush()))
}

/// Writes a listing, with colours where they can be seen.
pub(crate) fn listing(content: &str) -> io::Result<()> {
    if !io::stdout().is_terminal() || !colours_wanted() {
        return lines(content);
    }
    let mut coloured = String::with_capacity(content.len() * 2);
    for line in escaped(content).lines() {
        let style = match line.chars().last() {
            Some('/') => DIRECTORY,
            Some('@') => LINK,
            Some(_) | None => Style::new(),
        };
        let name = line.trim_start_matches(' ');
        let indentation = line.len() - name.len();
        // Writing to a string cannot fail.
        let _ = writeln!(coloured, "{:indentation$}{style}{name}{style:#}", "");
    }
    write(&mut io::stdout().lock(), coloured.as_bytes())
}

/// Tells a person something beside the answer, on stderr.
pub(crate) fn note(note: &str) {
    // There is no other place to tell that stderr is gone.
    let _ = write(&mut io::stderr().lock(), format!("{}\n", one_line(note)).as_bytes());
}

/// Tells on stderr why there is no answer.
pub(crate) fn error(message: &str) {
    note(&format!("eyelet: {message}"));
}

fn write(stream: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    tolerant(stream.write_all(bytes).and_then(|()| stream.flush()))
}

/// A reader that went away (`| head -1`) has what it wanted.
pub(crate) fn tolerant(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn colours_wanted() -> bool {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !no_color && !dumb
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if is_escaped(character) && !matches!(character, '\n' | '\t') {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// JSON that says the same: what is escaped stands inside strings only.
fn escaped_json(json: &str) -> String {
    let mut safe = String::with_capacity(json.len());
    for character in json.chars() {
        if is_escaped(character) {
            let _ = write!(safe, "\\u{:04x}", u32::from(character));
        } else {
            safe.push(character);
        }
    }
    safe
}

/// A message of several lines as one. The marks under a faulty pattern point nowhere then.
fn one_line(message: &str) -> String {
    let lines = message.lines().map(str::trim);
    let told: Vec<_> = lines.filter(|line| !line.trim_matches(['^', ' ']).is_empty()).collect();
    escaped(&told.join(" "))
}
