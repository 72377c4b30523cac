//! The record of calls: one line of JSON per call, appended to a file.
//!
//! docs/records.md describes the lines for their readers.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process;

use chrono::{DateTime, SecondsFormat, Utc};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call_summary::{CallSummary, ReplyNumbers};

/// The size at which the file is renamed.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum length of a path or command in a line.
const MAX_TARGET_BYTES: usize = 4096;
/// How many bytes of text count as one token.
const BYTES_PER_TOKEN: u64 = 4;
/// How many pixels of an image count as one token.
const PIXELS_PER_TOKEN: u64 = 750;

const NOT_REGULAR: &str = "it is not a regular file";

/// One line of the record: one tool call. The line never contains the content of files or the
/// output of commands.
///
/// Readers must ignore fields that they do not know, because later versions may add fields. No
/// version removes a field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct CallRecord {
    /// The time at which the call began, in UTC and in the format of RFC 3339.
    pub time: String,
    /// The process ID of the server.
    pub server: u32,
    /// The number of the session in this server, counting from 1. It is 0 for requests that belong
    /// to no session.
    pub session: u64,
    /// The name of the tool.
    pub tool: String,
    /// The absolute path of the file or directory that the call used. For `bash`, the working
    /// directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The command that `bash` ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The numbers of the first and the last line, entry, file or match in the reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(u64, u64)>,
    /// How many matches or files of a search the reply shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
    /// The number of bytes of text in the reply.
    pub shown: u64,
    /// The number of bytes of the result that the reply does not show, as far as the tool knows.
    pub withheld: u64,
    /// How many tokens the reply is likely to cost: one token per four bytes of `shown`, and one
    /// per 750 pixels of an image.
    pub tokens: u64,
    /// The duration of the call in milliseconds, including the time in the queue.
    pub ms: u64,
    /// The exit code of the command that `bash` ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The error code, if the call failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The actions that the sandbox refused to the command, and the protected paths that the
    /// sandbox restored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub refusals: Vec<String>,
}

/// The path and command of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) path: Option<String>,
    pub(crate) command: Option<String>,
}

impl CallRecord {
    pub(crate) fn new(call: &CallSummary<'_>, time: DateTime<Utc>, target: &Target) -> Self {
        let ReplyNumbers { shown, withheld, error, facts } = call.reply;
        let pixels = facts.pixels.unwrap_or_default();
        CallRecord {
            time: time.to_rfc3339_opts(SecondsFormat::Millis, true),
            server: process::id(),
            session: call.session,
            tool: call.tool.to_owned(),
            path: target.path.clone(),
            command: target.command.clone(),
            range: facts.range,
            found: facts.found,
            shown: *shown,
            withheld: *withheld,
            tokens: shown.div_ceil(BYTES_PER_TOKEN) + pixels.div_ceil(PIXELS_PER_TOKEN),
            ms: call.milliseconds(),
            exit_code: facts.exit_code,
            error: error.map(str::to_owned),
            refusals: [facts.refusals.as_slice(), &facts.restored].concat(),
        }
    }
}

impl Target {
    /// Finds path and command among the arguments of a tool with this schema.
    pub(crate) fn new(arguments: &str, schema: &Value, cwd: &Path) -> Target {
        const PATHS: [&str; 4] = ["path", "file_path", "dir_path", "cwd"];
        let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
        let text = |name: &str| arguments.get(name)?.as_str().filter(|text| !text.is_empty());
        let takes_path = PATHS.iter().any(|name| schema["properties"].get(name).is_some());
        let path =
            PATHS.iter().find_map(|name| text(name)).map_or(cwd.into(), |path| cwd.join(path));
        Target {
            path: takes_path.then(|| shortened(&path.to_string_lossy())),
            command: text("command").map(shortened),
        }
    }
}

/// The start of a text.
fn shortened(text: &str) -> String {
    let ends = text.char_indices().map(|(start, character)| start + character.len_utf8());
    let end = ends.take_while(|end| *end <= MAX_TARGET_BYTES).last();
    text.get(..end.unwrap_or_default()).unwrap_or_default().to_owned()
}

/// A file to which servers append the record of their calls. Several servers may use the same file.
#[derive(Debug)]
pub struct Record {
    path: PathBuf,
    max_bytes: u64,
}

impl Record {
    /// Opens the file. If the file does not exist, creates it so that only its owner can read it.
    ///
    /// # Errors
    /// Fails if the file cannot be written, is not a regular file, or other users have access to it.
    pub fn open(path: impl Into<PathBuf>) -> io::Result<Record> {
        let record = Record { path: path.into(), max_bytes: MAX_FILE_BYTES };
        record.open_file()?;
        Ok(record)
    }

    fn open_file(&self) -> io::Result<File> {
        // A symlink could lead a write elsewhere, and a pipe could block.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).map_err(io::Error::other)?;
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).custom_flags(flags);
        let unsuitable = |message| io::Error::new(ErrorKind::InvalidInput, message);
        let file =
            options.open(&self.path).map_err(|error| match Errno::from_io_error(&error) {
                Some(Errno::LOOP) => unsuitable("it is a symlink; use the path of its target"),
                // A pipe that nobody reads.
                Some(Errno::NXIO) => unsuitable(NOT_REGULAR),
                Some(_) | None => error,
            })?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(unsuitable(NOT_REGULAR));
        }
        if metadata.mode() & 0o077 != 0 {
            let message = "other users can access the file; run `chmod 600` on it";
            return Err(io::Error::new(ErrorKind::PermissionDenied, message));
        }
        Ok(file)
    }

    /// Appends a line. Renames a file that would become too large.
    pub(crate) fn append(&self, call: &CallRecord) -> io::Result<()> {
        let mut line = serde_json::to_vec(call)?;
        line.push(b'\n');
        loop {
            let mut file = self.open_file()?;
            flock(&file, FlockOperation::LockExclusive)?;
            let opened = file.metadata()?;
            // Another server may have renamed it in between.
            if !fs::symlink_metadata(&self.path).is_ok_and(|now| now.ino() == opened.ino()) {
                continue;
            }
            let size = opened.len();
            if size > 0 && size + line.len() as u64 > self.max_bytes {
                fs::rename(&self.path, self.older())?;
                continue;
            }
            return file.write_all(&line).inspect_err(|_| {
                // The disk may be full: leave no part of a line.
                let _ = file.set_len(size);
            });
        }
    }

    /// The name of the file before the current one.
    fn older(&self) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".1");
        name.into()
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
