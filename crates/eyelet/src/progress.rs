//! Counts the work of a running call. A host reports it as progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::text::head_tail::{HeadTailBuffer, Keep};
use crate::text::terminal_fold::TerminalFold;
use crate::text::{escape, truncate};

/// How much of the output is held for its last line.
const OUTPUT_BYTES: usize = 512;
/// The most bytes of the last line.
const LINE_BYTES: usize = 200;

/// The progress of a running call, in the unit of its tool. Clones share the count.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<State>);

#[derive(Debug, Default)]
struct State {
    count: AtomicU64,
    /// The end of what a command has printed.
    output: Mutex<Vec<u8>>,
}

impl Progress {
    /// Returns the count so far.
    pub fn count(&self) -> u64 {
        self.0.count.load(Ordering::Relaxed)
    }

    /// Adds `count` to the count.
    pub fn add(&self, count: u64) {
        self.0.count.fetch_add(count, Ordering::Relaxed);
    }

    /// Returns the last line that the command of this call has printed and that is not blank,
    /// escaped for display and truncated to 200 bytes.
    pub fn last_line(&self) -> Option<String> {
        let output = self.0.output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut fold = TerminalFold::new(HeadTailBuffer::new(Keep::Tail, OUTPUT_BYTES));
        fold.push(&output);
        let (folded, _) = fold.so_far();
        let shown = folded.shown();
        let line = shown.text().lines().rev().find(|line| !line.trim().is_empty())?;
        let line = escape::text(line.trim());
        Some(truncate::at_most(&line, LINE_BYTES).to_owned())
    }

    /// Counts what a command prints.
    pub(crate) fn add_output(&self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        let end = bytes.get(bytes.len().saturating_sub(OUTPUT_BYTES)..).unwrap_or_default();
        let mut output = self.0.output.lock().unwrap_or_else(PoisonError::into_inner);
        let excess = (output.len() + end.len()).saturating_sub(OUTPUT_BYTES);
        output.drain(..excess);
        output.extend_from_slice(end);
    }

    /// Takes over the progress of `other`.
    pub(crate) fn follow(&self, other: &Progress) {
        self.0.count.store(other.count(), Ordering::Relaxed);
        let output = other.0.output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        *self.0.output.lock().unwrap_or_else(PoisonError::into_inner) = output;
    }
}
