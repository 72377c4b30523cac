//! Where paths of the machine appear inside the sandbox.

use std::path::{Path, PathBuf};

use crate::request::{Policy, SandboxRequest, Tier};

/// The directory that is private in the first tier.
pub(super) const TMP: &str = "/tmp";

/// Maps paths outside the sandbox to paths inside.
pub(super) struct TmpPaths<'r> {
    request: &'r SandboxRequest,
    /// Whether the private temp directory is mounted at `/tmp`.
    pub(super) covers_tmp: bool,
}

impl<'r> TmpPaths<'r> {
    pub(super) fn new(request: &'r SandboxRequest, tier: Tier) -> Self {
        let has_tmp = request.roots.iter().any(|root| Path::new(TMP).starts_with(&root.path));
        let is_sandbox = request.policy != Policy::Full && tier == Tier::Namespaces;
        let is_folder = || Path::new(TMP).symlink_metadata().is_ok_and(|found| found.is_dir());
        let covers_tmp = is_sandbox && request.private_temp.is_some() && !has_tmp && is_folder();
        TmpPaths { request, covers_tmp }
    }

    /// The path of the private temp directory inside the sandbox.
    pub(super) fn private_temp(&self) -> Option<PathBuf> {
        let temp = self.request.private_temp.as_ref()?;
        Some(if self.covers_tmp { TMP.into() } else { temp.path.clone() })
    }

    /// The path inside the sandbox for `outside`.
    pub(super) fn inside(&self, outside: &Path) -> PathBuf {
        let below = self
            .request
            .private_temp
            .as_ref()
            .filter(|_| self.covers_tmp)
            .and_then(|temp| outside.strip_prefix(&temp.path).ok());
        match below {
            Some(below) if below.as_os_str().is_empty() => TMP.into(),
            Some(below) => Path::new(TMP).join(below),
            None => outside.to_owned(),
        }
    }
}
