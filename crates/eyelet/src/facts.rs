//! The numbers of a result, for logs and metrics.

/// The numbers of a result, for logs, records and metrics. They contain nothing of a file or of output, except
/// the paths and hosts in `refusals`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The first and the last line, entry, file or match that is shown, counting from 1.
    pub range: Option<(u64, u64)>,
    /// How many matches or files of a search are shown.
    pub found: Option<u64>,
    /// How many pixels of an image are shown.
    pub pixels: Option<u64>,
    /// The exit code of a command.
    pub exit_code: Option<i32>,
    /// What the sandbox refused to a command, in words.
    pub refusals: Vec<String>,
    /// Which protected paths the sandbox restored, in words.
    pub restored: Vec<String>,
    /// How often the sandbox did either. More than both lists have entries if there were too many or equal ones.
    pub refusal_count: u64,
}

impl Facts {
    /// A page of `shown` items that starts with the item `offset`.
    #[must_use]
    pub fn page(offset: u64, shown: u64) -> Self {
        let last = offset.saturating_add(shown).saturating_sub(1);
        Facts { range: (shown > 0).then_some((offset, last)), ..Facts::default() }
    }

    /// Sets how many matches or files of a search are shown.
    #[must_use]
    pub fn with_found(mut self, found: u64) -> Self {
        self.found = Some(found);
        self
    }
}
