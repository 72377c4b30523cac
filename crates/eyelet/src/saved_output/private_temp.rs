//! The private temp folder that the commands of one session share.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use eyelet_sandbox::{Tier, remove_all};
use rustix::process::geteuid;

use crate::paths::root::Root;
use crate::saved_output::private_dir::{PrivateDir, TempDir, random_name};

/// The folder's path inside the namespaces tier.
const TMP: &str = "/tmp";

/// How often the folder is created again if another start took it for a dead session's.
const MAX_TRIES: usize = 8;

/// A private temp directory. Created when first needed; dropping this removes it and everything in
/// it.
#[derive(Debug)]
pub struct PrivateTemp {
    temp_dirs: Vec<PathBuf>,
    /// Whether it is removed before anyone can read a file in it.
    is_for_one_call: bool,
    created: Mutex<Option<CreatedDir>>,
}

#[derive(Clone, Debug)]
struct CreatedDir {
    path: PathBuf,
    folder: Arc<PrivateDir>,
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
            for name in temp.names(&prefix()) {
                if let Ok(folder) = temp.folder(&name) {
                    if folder.lock().unwrap_or(false) {
                        remove(&folder.path_of("."));
                    }
                }
            }
        }
        PrivateTemp { temp_dirs, is_for_one_call, created: Mutex::default() }
    }

    pub(crate) fn is_for_one_call(&self) -> bool {
        self.is_for_one_call
    }

    /// The folder, created if necessary.
    pub(crate) fn create(&self) -> Result<Arc<Root>, String> {
        let mut created = self.created.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(created) = created.as_ref().filter(|created| created.path.is_dir()) {
            return Ok(Arc::clone(created.folder.root()));
        }
        let mut reason = String::new();
        for temp_dir in &self.temp_dirs {
            match create_in(temp_dir) {
                Ok(new) => {
                    let root = Arc::clone(new.folder.root());
                    *created = Some(new);
                    return Ok(root);
                }
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
        let created = self.created.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        match tier? {
            Tier::Landlock => Some(Arc::clone(created.folder.root())),
            Tier::Namespaces => {
                let root = created.folder.root().with_alias(Path::new(TMP)).ok()?;
                Some(Arc::new(root))
            }
        }
    }
}

impl Drop for PrivateTemp {
    fn drop(&mut self) {
        let created = self.created.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(created) = created.take() {
            remove(&created.path);
        }
    }
}

fn prefix() -> String {
    format!("eyelet-{}-tmp-", geteuid().as_raw())
}

fn create_in(temp_dir: &Path) -> Result<CreatedDir, String> {
    let temp = TempDir::open(temp_dir)?;
    let mut last_reason = "another process removed it".to_owned();
    for _ in 0..MAX_TRIES {
        let random = random_name().map_err(|error| error.to_string())?;
        let name = format!("{}{random}", prefix());
        temp.make_folder(&name)?;
        match temp.folder(&name) {
            // Another start may have removed it in between, as a dead session's. That does not
            // happen if folders cannot be locked.
            Ok(folder) => {
                if folder.lock().unwrap_or(true) && temp.holds(&name, &folder) {
                    let path = fs::canonicalize(temp_dir.join(&name));
                    let path = path.map_err(|error| error.to_string())?;
                    return Ok(CreatedDir { path, folder: Arc::new(folder) });
                }
            }
            Err(reason) => {
                temp.remove_empty(&name);
                last_reason = reason;
            }
        }
    }
    Err(last_reason)
}

fn remove(path: &Path) {
    let path: PathBuf = path.components().collect();
    // The next start removes the rest.
    let _ = remove_all(&path);
}
