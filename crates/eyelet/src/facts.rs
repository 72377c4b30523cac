//! The numbers of a result, for logs and metrics.

/// The numbers of a result, for logs, records and metrics. They contain no content of files or
/// output; only `refusals` and `restored` contain paths and hosts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Facts {
    /// The numbers of the first and the last line, entry, file or match that the reply shows,
    /// counting from 1.
    pub range: Option<(u64, u64)>,
    /// For a search: how many matches or files the reply shows.
    pub found: Option<u64>,
    /// How many pixels of an image the reply shows.
    pub pixels: Option<u64>,
    /// The exit code of the command, if the call ran one.
    pub exit_code: Option<i32>,
    /// Descriptions of the actions that the sandbox refused to a command.
    pub refusals: Vec<String>,
    /// Descriptions of the protected paths that the sandbox restored.
    pub restored: Vec<String>,
    /// How many accesses the sandbox refused, plus how many protected paths it restored. The count
    /// can exceed the number of entries in `refusals` and `restored`: equal refusals share an
    /// entry, and `refusals` has a maximum length.
    pub refusal_count: u64,
}

impl Facts {
    /// Creates the numbers of a page whose first item has the number `offset` and that shows `shown`
    /// items.
    #[must_use]
    pub fn page(offset: u64, shown: u64) -> Self {
        let last = offset.saturating_add(shown).saturating_sub(1);
        Facts { range: (shown > 0).then_some((offset, last)), ..Facts::default() }
    }

    /// For a search: sets how many matches or files the reply shows.
    #[must_use]
    pub fn with_found(mut self, found: u64) -> Self {
        self.found = Some(found);
        self
    }
}
