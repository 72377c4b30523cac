//! Why setting up a sandbox failed.

use std::fmt::Display;
use std::io;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SetupFailure {
    pub(super) reason: String,
    /// Whether the system forbids or lacks the feature; then the other tier may be tried. Other errors may
    /// be temporary: then the command is refused, rather than run in a weaker sandbox.
    pub(super) is_refusal: bool,
}

impl SetupFailure {
    /// A failed step that is never counted as a refusal.
    pub(super) fn new(what: &str, error: impl Display) -> Self {
        SetupFailure { reason: format!("{what}: {error}"), is_refusal: false }
    }

    /// A failed step that may be a refusal, depending on the system's error.
    pub(super) fn at<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| {
            let error = error.into();
            SetupFailure { is_refusal: is_one_of(&error, &REFUSALS), ..Self::new(&what, error) }
        }
    }

    /// New namespaces cannot be created, possibly because their limit is zero.
    pub(super) fn no_namespaces(error: &io::Error) -> Self {
        let is_refusal =
            is_one_of(error, &REFUSALS) || is_one_of(error, &[Errno::USERS, Errno::NOSPC]);
        SetupFailure { is_refusal, ..Self::new("cannot create namespaces", error) }
    }
}

const REFUSALS: [Errno; 5] =
    [Errno::PERM, Errno::ACCESS, Errno::NOSYS, Errno::INVAL, Errno::OPNOTSUPP];

fn is_one_of(error: &io::Error, numbers: &[Errno]) -> bool {
    Errno::from_io_error(error).is_some_and(|number| numbers.contains(&number))
}
