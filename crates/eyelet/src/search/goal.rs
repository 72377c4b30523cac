//! What a search counts in each file.

/// What a search counts in each file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// Whether a line matches.
    Files,
    /// The matching lines, up to this many. Those before a NUL count.
    Lines { most: u64 },
    /// All matching lines. A file that contains a NUL has none.
    Count,
}

impl Goal {
    /// After this many matching lines, the rest of a file does not matter.
    pub(crate) fn most(self) -> u64 {
        match self {
            Goal::Files => 1,
            Goal::Lines { most } => most,
            Goal::Count => u64::MAX,
        }
    }
}
