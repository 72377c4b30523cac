//! Logs, counts and records a call when it has ended.

use std::sync::Arc;
use std::time::Instant;

use chrono::{DateTime, Utc};
use eyelet::{ToolDefinition, TurnContext};

use crate::call_summary::{CallSummary, ReplyNumbers};
use crate::fair_queue::SessionNumber;
use crate::log;
use crate::record::{CallRecord, Target};
use crate::server::Server;

/// The facts about a call that are known when the call starts.
pub(crate) struct CallLog {
    server: Arc<Server>,
    session: SessionNumber,
    tool: &'static str,
    /// Empty if the server does not record its calls.
    target: Target,
    /// The trace of the caller.
    trace_id: Option<String>,
    start: Instant,
    time: DateTime<Utc>,
}

impl CallLog {
    pub(crate) fn start(
        server: &Arc<Server>,
        session: SessionNumber,
        tool: &ToolDefinition,
        arguments: &str,
        turn: &TurnContext,
        trace_id: Option<String>,
    ) -> Self {
        let target = match server.options.record {
            Some(_) => Target::new(arguments, &tool.input_schema, turn.cwd()),
            None => Target::default(),
        };
        let (server, tool) = (Arc::clone(server), tool.name);
        let (start, time) = (Instant::now(), Utc::now());
        CallLog { server, session, tool, target, trace_id, start, time }
    }

    /// How long the call takes so far.
    pub(crate) fn elapsed(&self) -> std::time::Duration {
        self.start.elapsed()
    }

    /// Logs, counts and records the call.
    pub(crate) fn end(&self, reply: &ReplyNumbers) {
        let (session, tool, time) = (self.session, self.tool, self.start.elapsed());
        let call = CallSummary { session, tool, time, reply };
        log::call(&call, self.trace_id.as_deref());
        for what in &reply.facts.restored {
            log::restored(session, what);
        }
        if let Some(metrics) = &self.server.metrics {
            metrics.add(&call);
        }
        if let Some(record) = &self.server.options.record {
            let line = CallRecord::new(&call, self.time, &self.target);
            if let Err(error) = record.append(&line) {
                log::record_failed(&error);
            }
        }
    }
}
