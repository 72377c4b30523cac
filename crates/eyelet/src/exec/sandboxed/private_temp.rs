//! The private temp folder that the commands of one session share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eyelet_sandbox::{Tier, remove_all};

use crate::paths::root::Root;
use crate::saved_output::private_dir::{ParentDir, PrivateDir, user_prefix};

/// The folder's path inside the namespaces tier.
const TMP: &str = "/tmp";

/// A private temp directory. eyelet creates the directory when a command first needs it. Dropping
/// this value removes the directory and everything in it.
#[derive(Debug)]
pub struct PrivateTemp {
    temp_dirs: Vec<PathBuf>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    created: Option<PrivateDir>,
    /// Whether the session has ended.
    is_closed: bool,
}

impl PrivateTemp {
    /// Creates a value for one session. eyelet will create the directory in `temp_dir`, or in `/tmp`
    /// if that fails. This call also removes the directories of sessions that no longer run.
    pub fn session(temp_dir: impl Into<PathBuf>) -> Self {
        let temp_dir: PathBuf = temp_dir.into();
        let mut temp_dirs = vec![temp_dir.components().collect(), PathBuf::from(TMP)];
        temp_dirs.dedup();
        for temp in temp_dirs.iter().filter_map(|temp_dir| ParentDir::open(temp_dir).ok()) {
            temp.dead_sessions(&prefix()).iter().for_each(|(_, folder)| remove(folder));
        }
        PrivateTemp { temp_dirs, state: Mutex::default() }
    }

    /// A temp directory in the same place, for another session.
    pub(crate) fn for_another_session(&self) -> Self {
        PrivateTemp { temp_dirs: self.temp_dirs.clone(), state: Mutex::default() }
    }

    /// Removes the directory now, even if others still hold this. None is created afterwards: nobody would remove it.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        if let Some(created) = state.created.take() {
            remove(&created);
        }
    }

    /// The folder, created if necessary.
    pub(crate) fn create(&self) -> Result<Arc<Root>, String> {
        let mut state = self.state();
        if state.is_closed {
            return Err("the session has ended".to_owned());
        }
        let created = &mut state.created;
        if let Some(created) = created.as_ref().filter(|created| created.path().is_dir()) {
            return Ok(Arc::clone(created.root()));
        }
        let mut reason = String::new();
        for temp_dir in &self.temp_dirs {
            match ParentDir::open(temp_dir).and_then(|temp| temp.create_session(&prefix())) {
                Ok((_, folder)) => return Ok(Arc::clone(created.insert(folder).root())),
                Err(why) => reason = why,
            }
        }
        Err(reason)
    }

    /// Whether it exists.
    pub(crate) fn is_created(&self) -> bool {
        self.state().created.is_some()
    }

    /// The folder as a root, if it exists. In the namespaces tier it is also called `/tmp`.
    pub(crate) fn root(&self, tier: Option<Tier>) -> Option<Arc<Root>> {
        let state = self.state();
        let root = state.created.as_ref()?.root();
        match tier? {
            Tier::Landlock => Some(Arc::clone(root)),
            Tier::Namespaces => root.with_alias(Path::new(TMP)).ok().map(Arc::new),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
