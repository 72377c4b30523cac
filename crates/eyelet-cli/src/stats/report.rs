//! The context report. docs/records.md documents its JSON form; later versions only add fields.

use eyelet_mcp::CallRecord;
use serde::Serialize;

use super::ledger::{Key, Totals};
use super::timeline::TimelineReport;

/// The report about the calls of one or several records: how much they put into the contexts of
/// models.
#[derive(Debug, Serialize)]
pub(crate) struct ContextReport {
    pub(crate) files: Vec<String>,
    /// Lines that are not calls.
    pub(crate) unreadable_lines: u64,
    /// When the first call began.
    pub(crate) first: Option<String>,
    /// When the last call began.
    pub(crate) last: Option<String>,
    pub(crate) total: Totals,
    pub(crate) timeline: TimelineReport,
    pub(crate) tools: Rows<ByTool>,
    pub(crate) paths: Rows<ByPath>,
    /// The calls with the most tokens.
    pub(crate) costliest_calls: Vec<CallRecord>,
    pub(crate) repeated_reads: RepeatedReads,
    pub(crate) empty_searches: Rows<BySearch>,
    pub(crate) errors: Rows<ByError>,
    pub(crate) refusals: Rows<ByRefusal>,
}

/// Rows with the most tokens first.
#[derive(Debug, Serialize)]
pub(crate) struct Rows<K> {
    pub(crate) rows: Vec<Row<K>>,
    /// The totals of the keys that have no row.
    pub(crate) others: Totals,
}

#[derive(Debug, Serialize)]
pub(crate) struct Row<K> {
    #[serde(flatten)]
    pub(crate) key: K,
    #[serde(flatten)]
    pub(crate) totals: Totals,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ByTool {
    pub(crate) tool: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ByPath {
    /// Some tools have no path.
    pub(crate) path: Option<String>,
}

/// Searches of the same directory; the record does not say what for.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct BySearch {
    pub(crate) tool: String,
    pub(crate) path: Option<String>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ByError {
    pub(crate) error: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct ByRefusal {
    pub(crate) refusal: String,
}

/// One session that reads one range of a file. Replies of another size were other content: the file has changed,
/// or the call continued a long line.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadOfRange {
    pub(crate) path: String,
    pub(crate) range: (u64, u64),
    pub(crate) shown: u64,
    pub(crate) server: u32,
    pub(crate) session: u64,
}

/// The first and the last line that a call of `read` showed. The ranges of other tools are entries or matches.
pub(crate) fn lines_read(call: &CallRecord) -> Option<(u64, u64)> {
    call.range.filter(|_| call.tool == "read")
}

/// Reads of a range that the same session had read before.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RepeatedReads {
    pub(crate) repeats: u64,
    /// The tokens of the repeats.
    pub(crate) tokens: u64,
    /// The ranges whose repeated reads have the most tokens.
    pub(crate) rows: Vec<RepeatedRead>,
}

#[derive(Debug, Serialize)]
pub(crate) struct RepeatedRead {
    pub(crate) path: String,
    pub(crate) range: (u64, u64),
    pub(crate) reads: u64,
    /// The reads without the first of each session.
    pub(crate) repeats: u64,
    /// The tokens of the repeats.
    pub(crate) tokens: u64,
}

impl Key for ByTool {
    fn bytes(&self) -> usize {
        self.tool.len()
    }
}

impl Key for ByPath {
    fn bytes(&self) -> usize {
        self.path.as_ref().map_or(0, String::len)
    }
}

impl Key for BySearch {
    fn bytes(&self) -> usize {
        self.tool.len() + self.path.as_ref().map_or(0, String::len)
    }
}

impl Key for ByError {
    fn bytes(&self) -> usize {
        self.error.len()
    }
}

impl Key for ByRefusal {
    fn bytes(&self) -> usize {
        self.refusal.len()
    }
}

impl Key for ReadOfRange {
    fn bytes(&self) -> usize {
        self.path.len()
    }
}
