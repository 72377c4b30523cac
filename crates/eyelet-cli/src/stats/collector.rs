//! Adds up recorded calls.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use chrono::{DateTime, SecondsFormat, Utc};
use eyelet_mcp::CallRecord;

use super::ledger::{Key, Ledger, Totals};
use super::report::{
    ByError, ByPath, ByRefusal, BySearch, ByTool, ContextReport, ReadOfRange, RepeatedRead,
    RepeatedReads, Row, Rows, lines_read,
};
use super::timeline::Timeline;

/// How many tools are listed by name. A server has fewer; a record from elsewhere may have any number.
const MAX_TOOLS: usize = 64;
const OTHER_TOOLS: &str = "other tools";

/// The sums of the calls so far, in bounded memory.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    /// The maximum number of rows of each list.
    max_rows: usize,
    files: Vec<String>,
    unreadable_lines: u64,
    times: Option<(DateTime<Utc>, DateTime<Utc>)>,
    total: Totals,
    timeline: Timeline,
    tool_names: BTreeSet<String>,
    tools: Ledger<ByTool>,
    paths: Ledger<ByPath>,
    costliest: Vec<CallRecord>,
    reads: Ledger<ReadOfRange>,
    empty_searches: Ledger<BySearch>,
    errors: Ledger<ByError>,
    refusals: Ledger<ByRefusal>,
}

impl Collector {
    pub(crate) fn new(max_rows: usize) -> Self {
        Collector { max_rows, ..Collector::default() }
    }

    /// Names a file whose lines follow.
    pub(crate) fn begin_file(&mut self, name: String) {
        self.files.push(name);
    }

    /// Adds a line of the record.
    pub(crate) fn add_line(&mut self, line: &[u8]) {
        match parse(line) {
            Some((call, time)) => self.add(call, time),
            None => self.add_unreadable_line(),
        }
    }

    /// Counts a line that is not a call.
    pub(crate) fn add_unreadable_line(&mut self) {
        self.unreadable_lines += 1;
    }

    fn add(&mut self, mut call: CallRecord, time: DateTime<Utc>) {
        call.tool = self.listed_tool(call.tool);
        call.path = call.path.map(|path| normal(&path));
        let totals = Totals::of(&call);
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first.min(time), last.max(time)));
        self.total.add(&totals);
        self.timeline.add(time, &call.tool, call.tokens);
        self.tools.add(ByTool { tool: call.tool.clone() }, &totals);
        self.paths.add(ByPath { path: call.path.clone() }, &totals);
        if let (Some(path), Some(range), None) = (&call.path, lines_read(&call), &call.error) {
            let CallRecord { shown, server, session, .. } = call;
            self.reads
                .add(ReadOfRange { path: path.clone(), range, shown, server, session }, &totals);
        }
        if call.found == Some(0) && call.error.is_none() {
            let search = BySearch { tool: call.tool.clone(), path: call.path.clone() };
            self.empty_searches.add(search, &totals);
        }
        if let Some(error) = call.error.clone() {
            self.errors.add(ByError { error }, &totals);
        }
        for refusal in call.refusals.iter().cloned() {
            self.refusals.add(ByRefusal { refusal }, &totals);
        }
        self.costliest.push(call);
        if self.costliest.len() > self.max_rows.saturating_mul(2) {
            self.drop_cheap_calls();
        }
    }

    fn listed_tool(&mut self, tool: String) -> String {
        if self.tool_names.contains(&tool) {
            return tool;
        }
        if self.tool_names.len() >= MAX_TOOLS || tool.len() > MAX_TOOLS {
            return OTHER_TOOLS.to_owned();
        }
        self.tool_names.insert(tool.clone());
        tool
    }

    fn drop_cheap_calls(&mut self) {
        self.costliest.sort_by(|one, other| {
            let rank = |call: &CallRecord| Reverse((call.tokens, call.ms));
            rank(one).cmp(&rank(other)).then_with(|| one.time.cmp(&other.time))
        });
        self.costliest.truncate(self.max_rows);
    }

    pub(crate) fn finish(mut self) -> ContextReport {
        self.drop_cheap_calls();
        let text = |time: DateTime<Utc>| time.to_rfc3339_opts(SecondsFormat::Millis, true);
        let max = self.max_rows;
        ContextReport {
            files: self.files,
            unreadable_lines: self.unreadable_lines,
            first: self.times.map(|(first, _)| text(first)),
            last: self.times.map(|(_, last)| text(last)),
            total: self.total,
            timeline: self.timeline.finish(),
            tools: rows(self.tools, max),
            paths: rows(self.paths, max),
            costliest_calls: self.costliest,
            repeated_reads: repeated_reads(self.reads, max),
            empty_searches: rows(self.empty_searches, max),
            errors: rows(self.errors, max),
            refusals: rows(self.refusals, max),
        }
    }
}

/// A line as a call, unless it has no tool or no valid time.
fn parse(line: &[u8]) -> Option<(CallRecord, DateTime<Utc>)> {
    let call: CallRecord = serde_json::from_slice(line).ok()?;
    let time = DateTime::parse_from_rfc3339(&call.time).ok()?.to_utc();
    (!call.tool.is_empty()).then_some((call, time))
}

/// The path without `.`, doubled slashes and a slash at its end, so that a directory has one row.
fn normal(path: &str) -> String {
    Path::new(path).components().collect::<PathBuf>().to_string_lossy().into_owned()
}

fn rows<K: Key>(ledger: Ledger<K>, max: usize) -> Rows<K> {
    let (mut all, mut others) = ledger.into_rows();
    for (_, totals) in all.iter().skip(max) {
        others.add(totals);
    }
    all.truncate(max);
    Rows { rows: all.into_iter().map(|(key, totals)| Row { key, totals }).collect(), others }
}

/// Finds ranges that a session read more than once, and joins the ranges of all sessions.
fn repeated_reads(reads: Ledger<ReadOfRange>, max: usize) -> RepeatedReads {
    let mut found = RepeatedReads::default();
    let mut ranges: BTreeMap<(String, (u64, u64)), RepeatedRead> = BTreeMap::new();
    for (read, totals) in reads.into_rows().0 {
        let repeats = totals.calls.saturating_sub(1);
        if repeats == 0 {
            continue;
        }
        // Replies of the same size have the same number of tokens.
        let tokens = (totals.tokens / totals.calls).saturating_mul(repeats);
        found.repeats = found.repeats.saturating_add(repeats);
        found.tokens = found.tokens.saturating_add(tokens);
        let ReadOfRange { path, range, .. } = read;
        let row = ranges.entry((path.clone(), range)).or_insert(RepeatedRead {
            path,
            range,
            reads: 0,
            repeats: 0,
            tokens: 0,
        });
        row.reads = row.reads.saturating_add(totals.calls);
        row.repeats = row.repeats.saturating_add(repeats);
        row.tokens = row.tokens.saturating_add(tokens);
    }
    found.rows = ranges.into_values().collect();
    found.rows.sort_by_key(|row| Reverse((row.tokens, row.repeats)));
    found.rows.truncate(max);
    found
}
