//! Why a command was not run.

use std::io;

/// Why a command did not run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The sandbox policy cannot be enforced.
    Unavailable(String),
    /// The command may run if it is tried again later.
    Later(String),
    /// The system's error.
    Io(io::Error),
}

impl<E: Into<io::Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Refusal::Io(error.into())
    }
}
