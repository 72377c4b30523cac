//! The log of `eyelet mcp` on stderr.
//!
//! A thread writes the lines: if nobody reads stderr, lines are dropped, and no call waits.

use std::io::{self, Write};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use eyelet_mcp::RESTORED_TARGET;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

/// How many lines may wait for stderr.
const MAX_WAITING: usize = 1024;
/// How long to wait for stderr at the end.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

/// The form of the log. Its values have no doc comments, with which clap would print all help in another layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogForm {
    // One line of text per event.
    Text,
    // One JSON object per event, and for everything else on stderr too.
    Json,
    // Only restored protected paths, as text.
    Off,
}

/// The running log.
struct Log {
    form: LogForm,
    lines: SyncSender<Entry>,
    dropped: AtomicU64,
}

enum Entry {
    Line(Vec<u8>),
    /// Everything before it is written when this is received.
    Flush(SyncSender<()>),
}

static LOG: OnceLock<Log> = OnceLock::new();

/// Starts the log. Only the first call has an effect.
pub(crate) fn start(form: LogForm) {
    let (sender, lines) = sync_channel(MAX_WAITING);
    let log = Log { form, lines: sender, dropped: AtomicU64::new(0) };
    if LOG.set(log).is_err() {
        return;
    }
    // Without the thread, all lines are dropped.
    let _ = thread::Builder::new().name("eyelet-log".to_owned()).spawn(move || write(&lines));
    // Not those of other crates, which may contain what a client sent.
    let own = match form {
        LogForm::Text | LogForm::Json => Targets::new()
            .with_target("eyelet", LevelFilter::INFO)
            .with_target("eyelet_mcp", LevelFilter::INFO),
        LogForm::Off => Targets::new().with_target(RESTORED_TARGET, LevelFilter::WARN),
    };
    let layer = fmt::layer()
        .with_target(false)
        .with_ansi(false)
        .log_internal_errors(false)
        .with_writer(|| LineWriter);
    let registry = tracing_subscriber::registry();
    match form {
        LogForm::Json => registry.with(layer.json().flatten_event(true).with_filter(own)).init(),
        LogForm::Text | LogForm::Off => registry.with(layer.with_filter(own)).init(),
    }
}

/// Whether everything on stderr must be JSON.
pub(crate) fn is_json() -> bool {
    LOG.get().is_some_and(|log| log.form == LogForm::Json)
}

/// Waits until the lines so far are written.
pub(crate) fn flush() {
    let Some(log) = LOG.get() else { return };
    let (sender, written) = sync_channel(1);
    if log.lines.try_send(Entry::Flush(sender)).is_ok() {
        // Nobody may read stderr.
        let _ = written.recv_timeout(FLUSH_TIMEOUT);
    }
}

/// Writes the lines to stderr.
fn write(entries: &Receiver<Entry>) {
    for entry in entries {
        match entry {
            // If stderr is gone, there is nowhere to report it.
            Entry::Line(line) => drop(io::stderr().write_all(&line)),
            Entry::Flush(done) => drop(done.send(())),
        }
        let dropped = LOG.get().map_or(0, |log| log.dropped.swap(0, Ordering::Relaxed));
        if dropped > 0 {
            tracing::warn!(lines = dropped, "log lines dropped: stderr is not read fast enough");
        }
    }
}

/// Hands a line to the thread.
struct LineWriter;

impl Write for LineWriter {
    /// `tracing_subscriber` writes each line at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(log) = LOG.get()
            && log.lines.try_send(Entry::Line(line.to_owned())).is_err()
        {
            log.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
