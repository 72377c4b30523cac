//! The numbers of a finished call. The log line, the record and the metrics of the call use these
//! numbers.

use std::time::Duration;

use eyelet::Facts;

use crate::fair_queue::SessionNumber;

/// A call that has ended.
pub(crate) struct CallSummary<'a> {
    pub(crate) session: SessionNumber,
    pub(crate) tool: &'static str,
    /// With the time in the queue.
    pub(crate) time: Duration,
    pub(crate) reply: &'a ReplyNumbers,
}

/// The numbers of a reply.
#[derive(Default)]
pub(crate) struct ReplyNumbers {
    /// Bytes of text in the reply.
    pub(crate) shown: u64,
    /// Bytes that are not in the reply.
    pub(crate) withheld: u64,
    /// The error code, if the call failed.
    pub(crate) error: Option<&'static str>,
    pub(crate) facts: Facts,
}

impl CallSummary<'_> {
    pub(crate) fn milliseconds(&self) -> u64 {
        u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX)
    }
}
