//! Saved files that were removed to free space; a limited number of them by name.

use std::path::PathBuf;

use crate::text::escape;

/// How many are listed by name.
const MAX_NAMED: usize = 8;

/// Saved output files of earlier commands that eyelet removed to make room for new ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemovedFiles {
    named: Vec<PathBuf>,
    others: usize,
}

impl RemovedFiles {
    pub(crate) fn add(&mut self, path: PathBuf) {
        if self.named.len() < MAX_NAMED {
            self.named.push(path);
        } else {
            self.others += 1;
        }
    }

    pub(crate) fn join(&mut self, other: RemovedFiles) {
        other.named.into_iter().for_each(|path| self.add(path));
        self.others += other.others;
    }

    /// Returns the paths of the first removed files, oldest first.
    pub fn named(&self) -> &[PathBuf] {
        &self.named
    }

    /// Returns the number of removed files.
    pub fn count(&self) -> usize {
        self.named.len() + self.others
    }

    /// The named ones, then how many more there are.
    pub(crate) fn list(&self) -> Vec<String> {
        let shown = |path: &PathBuf| escape::name(path.as_os_str()).into_owned();
        let mut list: Vec<_> = self.named.iter().map(shown).collect();
        list.extend((self.others > 0).then(|| format!("and {} more", self.others)));
        list
    }

    /// The summary for the header, with one name.
    pub(crate) fn summary(&self) -> Option<String> {
        let first = escape::name(self.named.first()?.as_os_str());
        Some(match self.count() - 1 {
            0 => format!("removed to free space: {first}"),
            more => format!("removed to free space: {first} and {more} more"),
        })
    }
}
