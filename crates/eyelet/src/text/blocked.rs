//! The actions that the sandbox refused to a command, and their descriptions.

use std::fmt;

use crate::text::command_reply::{MAX_NOTE_BYTES, MAX_NOTED_PATH_BYTES};
use crate::text::truncate;

/// The maximum number of entries of a report. The report only counts further entries.
pub(crate) const MAX_BLOCKED: usize = 5;
/// The most bytes of one path or host in the header, if there is anything beside it.
const MAX_NAME_BYTES: usize = 60;

/// One action of a command that the sandbox refused. `Display` writes the same text as the
/// envelope, such as `sandbox blocked: network connect (3x)`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Blocked {
    /// The action that the command tried.
    pub action: BlockedAction,
    /// Whether it is certain that the sandbox refused the action.
    pub certainty: Certainty,
    /// How often the command tried the action.
    pub count: u64,
}

/// An action that the sandbox refused. Paths and hosts are escaped for display.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockedAction {
    /// A connection or a name lookup.
    #[non_exhaustive]
    Connect {
        /// The host, with its port if the port matters. `None` if the host is not known.
        host: Option<String>,
    },
    /// A connection or name lookup that bypassed the proxy. Allowed hosts can be reached only
    /// through the proxy.
    PastProxy,
    /// A connection to a Unix socket.
    UnixSocket,
    /// A request that a server refused with an HTTP error. The likely reason is missing
    /// credentials: the sandbox hides credential files from commands.
    #[non_exhaustive]
    Credentials {
        /// The HTTP status: 401 or 403.
        status: u16,
    },
    /// A write outside the writable directories.
    #[non_exhaustive]
    Write {
        /// The path.
        path: String,
    },
    /// A change to a protected path.
    #[non_exhaustive]
    Change {
        /// The path, relative to its root.
        path: String,
    },
    /// A git checkout that did not update this protected path, although git reported success.
    #[non_exhaustive]
    Checkout {
        /// The path, relative to its root.
        path: String,
    },
}

/// Whether it is certain that the sandbox refused an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The sandbox or the kernel counted the refused action.
    Certain,
    /// The refusal is a guess from the output of the command, or another command may have caused
    /// it.
    Probable,
}

impl Blocked {
    /// A connection or the look-up of a name that was refused `count` times.
    pub(crate) fn connect(host: Option<String>, certainty: Certainty, count: u64) -> Self {
        Blocked { action: BlockedAction::Connect { host }, certainty, count }
    }

    /// A guess.
    pub(crate) fn probably(action: BlockedAction) -> Self {
        Blocked { action, certainty: Certainty::Probable, count: 1 }
    }

    /// Describes the refused action and how often it was refused.
    fn in_words(&self, max_name_bytes: usize) -> String {
        let name = |name: &String| truncate::middle(name.clone(), max_name_bytes);
        let what = match &self.action {
            BlockedAction::Connect { host: None } => "network connect".to_owned(),
            BlockedAction::Connect { host: Some(host) } => {
                format!("network connect to {}", name(host))
            }
            BlockedAction::PastProxy => {
                "network connect without the proxy in HTTPS_PROXY".to_owned()
            }
            BlockedAction::UnixSocket => "connect to a Unix socket".to_owned(),
            BlockedAction::Credentials { status } => format!("credentials (HTTP {status})"),
            BlockedAction::Write { path } => format!("write {}", name(path)),
            BlockedAction::Change { path } => format!("change of {}", name(path)),
            BlockedAction::Checkout { path } => {
                format!("change of {}; git checkout -f leads back", name(path))
            }
        };
        match self.count {
            0 | 1 => what,
            count => format!("{what} ({count}x)"),
        }
    }
}

impl fmt::Display for Blocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sandbox {}: {}", self.certainty, self.in_words(usize::MAX))
    }
}

impl fmt::Display for Certainty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Certainty::Certain => "blocked",
            Certainty::Probable => "probably blocked",
        })
    }
}

/// Adds up equal entries, those that are certain first, and keeps the first few. Returns how many it left out.
pub(crate) fn summarize(found: impl IntoIterator<Item = Blocked>) -> (Vec<Blocked>, u64) {
    let mut entries: Vec<Blocked> = Vec::new();
    for one in found {
        let is_same =
            |other: &&mut Blocked| (&other.action, other.certainty) == (&one.action, one.certainty);
        match entries.iter_mut().find(is_same) {
            Some(other) => other.count = other.count.saturating_add(one.count),
            None => entries.push(one),
        }
    }
    entries.sort_by_key(|entry| entry.certainty == Certainty::Probable);
    let more = entries.len().saturating_sub(MAX_BLOCKED);
    entries.truncate(MAX_BLOCKED);
    (entries, more as u64)
}

/// The notes for the header: one for all entries that are certain, one for all guesses, and the hint. Together they
/// have at most [`MAX_NOTE_BYTES`] bytes; entries that do not fit are counted.
pub(crate) fn notes(entries: &[Blocked], mut more: u64, hint: Option<&str>) -> Vec<String> {
    /// Between two notes.
    const SEPARATOR: usize = "; ".len();
    const MORE: usize = " and 18446744073709551615 more".len();
    let name_bytes = match (entries, hint) {
        ([_], None) => MAX_NOTED_PATH_BYTES,
        _ => MAX_NAME_BYTES,
    };
    let hint_bytes = hint.map_or(0, |hint| hint.len() + SEPARATOR);
    let mut room = MAX_NOTE_BYTES.saturating_sub(hint_bytes + MORE);
    let mut notes: Vec<(Certainty, String)> = Vec::new();
    for entry in entries {
        let words = entry.in_words(name_bytes);
        let is_new = notes.last().is_none_or(|(certainty, _)| *certainty != entry.certainty);
        let added = match is_new {
            true => format!("sandbox {}: {words}", entry.certainty),
            false => format!(", {words}"),
        };
        if added.len() + SEPARATOR > room && !notes.is_empty() {
            more += 1;
            continue;
        }
        room = room.saturating_sub(added.len() + SEPARATOR);
        match notes.last_mut() {
            Some((_, note)) if !is_new => note.push_str(&added),
            _ => notes.push((entry.certainty, added)),
        }
    }
    if let (Some((_, last)), 1..) = (notes.last_mut(), more) {
        last.push_str(&format!(" and {more} more"));
    }
    let notes = notes.into_iter().map(|(_, note)| note);
    notes.chain(hint.map(str::to_owned)).collect()
}

#[cfg(test)]
#[path = "blocked_tests.rs"]
mod tests;
