//! The private temp folder that the commands of one session share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eyelet_sandbox::{Tier, remove_all};
use rustix::process::geteuid;

use crate::paths::root::Root;
use crate::saved_output::private_dir::{PrivateDir, TempDir};

/// The folder's path inside the namespaces tier.
const TMP: &str = "/tmp";

/// A private temp directory. Created when first needed; dropping this removes it and everything in
/// it.
#[derive(Debug)]
pub struct PrivateTemp {
    temp_dirs: Vec<PathBuf>,
    /// Whether it is removed before anyone can read a file in it.
    is_for_one_call: bool,
    created: Mutex<Option<PrivateDir>>,
}

impl PrivateTemp {
    /// Uses a directory in `temp_dir`, or in `/tmp` if that fails. Removes the directories of dead
    /// sessions now.
    pub fn session(temp_dir: impl Into<PathBuf>) -> Self {
        PrivateTemp::new(temp_dir.into(), false)
    }

    /// Like [`PrivateTemp::session`], for a process that makes one call: replies name no file in it.
    pub fn for_one_call(temp_dir: impl Into<PathBuf>) -> Self {
        PrivateTemp::new(temp_dir.into(), true)
    }

    fn new(temp_dir: PathBuf, is_for_one_call: bool) -> Self {
        let mut temp_dirs = vec![temp_dir.components().collect(), PathBuf::from(TMP)];
        temp_dirs.dedup();
        for temp in temp_dirs.iter().filter_map(|temp_dir| TempDir::open(temp_dir).ok()) {
            temp.dead_sessions(&prefix()).iter().for_each(|(_, folder)| remove(folder));
        }
        PrivateTemp { temp_dirs, is_for_one_call, created: Mutex::default() }
    }

    pub(crate) fn is_for_one_call(&self) -> bool {
        self.is_for_one_call
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
        let created = self.created.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(created) = created.take() {
            remove(&created);
        }
    }
}

fn prefix() -> String {
    format!("eyelet-{}-tmp-", geteuid().as_raw())
}

fn remove(folder: &PrivateDir) {
    // The next start removes the rest.
    let _ = remove_all(folder.path());
}
