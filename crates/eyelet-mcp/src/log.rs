//! The lines of the log. The lines never contain contents, arguments or secrets. All log lines are
//! defined in this file.
//!
//! The lines are `tracing` events; the host decides whether and where to write them.

use tracing::{info, warn};

use crate::call_summary::CallSummary;
use crate::fair_queue::SessionNumber;

/// A client's session starts.
pub(crate) fn session(number: SessionNumber, client: &str, protocol: &str) {
    info!(session = number, client, protocol, "session");
}

/// A call has ended.
pub(crate) fn call(call: &CallSummary<'_>, trace_id: Option<&str>) {
    let reply = call.reply;
    info!(
        session = call.session,
        tool = call.tool,
        ms = call.milliseconds(),
        exit_code = reply.facts.exit_code,
        shown = reply.shown,
        withheld = reply.withheld,
        error = reply.error,
        trace_id,
        "call"
    );
}

/// The `tracing` target of the events that report a restored protected path. A host should show
/// these events even if it shows no others, because the user may have made the change that was
/// reverted.
pub const RESTORED_TARGET: &str = "eyelet_mcp::restored";

/// The sandbox restored a protected path, as these words say.
pub(crate) fn restored(session: SessionNumber, what: &str) {
    warn!(target: RESTORED_TARGET, session, "protected path {what}");
}

/// The server refuses a request before it reaches a session. `reason` is a text of this program.
pub(crate) fn refused(status: u16, reason: &'static str) {
    warn!(status, reason, "refused");
}

/// The server cannot write the record of a call. `error` is the system's error.
pub(crate) fn record_failed(error: &std::io::Error) {
    warn!(%error, "cannot write the record of a call");
}

/// The server stops.
pub(crate) fn shutdown(reason: &'static str, running_calls: usize) {
    info!(reason, running_calls, "shutdown");
}

/// The trace of a `traceparent` (W3C Trace Context): 32 hexadecimal digits. None if it is malformed.
pub(crate) fn trace_id(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let (_version, trace) = (parts.next()?, parts.next()?);
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (trace.len() == 32 && trace.bytes().all(is_digit)).then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::trace_id;

    #[test]
    fn only_a_well_formed_traceparent_has_a_trace_id() {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        assert_eq!(trace_id(&format!("00-{trace}-00f067aa0ba902b7-01")), Some(trace));
        for wrong in ["", "00", "00-secret-1-2", &trace.to_uppercase(), "00-x\ny-1-2"] {
            assert_eq!(trace_id(wrong), None, "{wrong}");
        }
    }
}
