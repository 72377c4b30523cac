//! The private temp folder that the commands of one session share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eyelet_sandbox::{Tier, remove_all};

use crate::paths::root::Root;
use crate::saved_output::private_dir::{PrivateDir, TempDir, user_prefix};

/// The folder's path inside the namespaces tier.
const TMP: &str = "/tmp";

/// A private temp directory. eyelet creates the directory when a command first needs it. Dropping
/// this value removes the directory and everything in it.
#[derive(Debug)]
pub struct PrivateTemp {
    temp_dirs: Vec<PathBuf>,
    created: Mutex<Option<PrivateDir>>,
}

impl PrivateTemp {
    /// Uses a directory in `temp_dir`, or in `/tmp` if that fails. This call also removes the
    /// directories of sessions that no longer run.
    pub fn session(temp_dir: impl Into<PathBuf>) -> Self {
        let temp_dir: PathBuf = temp_dir.into();
        let mut temp_dirs = vec![temp_dir.components().collect(), PathBuf::from(TMP)];
        temp_dirs.dedup();
        for temp in temp_dirs.iter().filter_map(|temp_dir| TempDir::open(temp_dir).ok()) {
            temp.dead_sessions(&prefix()).iter().for_each(|(_, folder)| remove(folder));
        }
        PrivateTemp { temp_dirs, created: Mutex::default() }
    }

    /// A temp directory in the same place, for another session.
    pub(crate) fn for_another_session(&self) -> Self {
        PrivateTemp { temp_dirs: self.temp_dirs.clone(), created: Mutex::default() }
    }

    /// Removes the directory now, even if others still hold this.
    pub(crate) fn close(&self) {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(created) = created.take() {
            remove(&created);
        }
    }

    /// The folder, created if necessary.
    pub(crate) fn create(&self) -> Result<Arc<Root>, String> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(created) = created.as_ref().filter(|created| created.path().is_dir()) {
            return Ok(Arc::clone(created.root()));
        }
        let mut reason = String::new();
        for temp_dir in &self.temp_dirs {
            match TempDir::open(temp_dir).and_then(|temp| temp.create_session(&prefix())) {
                Ok((_, folder)) => return Ok(Arc::clone(created.insert(folder).root())),
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    /// Whether it exists.
    pub(crate) fn is_created(&self) -> bool {
        self.created.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The folder as a root, if it exists. In the namespaces tier it is also called `/tmp`.
    pub(crate) fn root(&self, tier: Option<Tier>) -> Option<Arc<Root>> {
        let created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        let root = created.as_ref()?.root();
        match tier? {
            Tier::Landlock => Some(Arc::clone(root)),
            Tier::Namespaces => root.with_alias(Path::new(TMP)).ok().map(Arc::new),
        }
    }
}

impl Drop for PrivateTemp {
    fn drop(&mut self) {
        self.close();
    }
}

fn prefix() -> String {
    format!("{}-tmp-", user_prefix())
}

fn remove(folder: &PrivateDir) {
    // The next start removes the rest.
    let _ = remove_all(folder.path());
}
