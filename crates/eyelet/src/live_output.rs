//! Passes the output of a running command to the host while it runs.

use std::fmt;
use std::sync::Arc;

/// An output stream of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// The standard output of the command.
    Stdout,
    /// The standard error of the command.
    Stderr,
}

type Take = dyn Fn(OutputKind, &[u8]) -> usize + Send + Sync;

/// The function that takes the output. It returns how many bytes it took.
#[derive(Clone)]
pub(crate) struct LiveOutput(Arc<Take>);

impl LiveOutput {
    pub(crate) fn new(take: impl Fn(OutputKind, &[u8]) -> usize + Send + Sync + 'static) -> Self {
        LiveOutput(Arc::new(take))
    }

    /// Offers bytes. Returns how many of them were taken.
    pub(crate) fn offer(&self, kind: OutputKind, bytes: &[u8]) -> usize {
        (self.0)(kind, bytes).min(bytes.len())
    }
}

impl fmt::Debug for LiveOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveOutput")
    }
}
