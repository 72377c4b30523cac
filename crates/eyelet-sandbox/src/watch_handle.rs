//! The inotify instances that the caller lends its supervisors.
//!
//! Closing an instance takes the kernel about 10 ms. The caller therefore owns them and uses them again for the next
//! command.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::inotify::{CreateFlags, init};

/// Instances that no supervisor uses at the moment.
#[derive(Debug, Default)]
pub(crate) struct WatchHandles {
    unused: Mutex<Vec<OwnedFd>>,
}

impl WatchHandles {
    /// Takes an instance. None if the system has none left: then the supervisor says so.
    pub(crate) fn take(&self) -> Option<OwnedFd> {
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner).pop();
        unused.or_else(|| create().ok())
    }

    /// Gives an instance back that watches nothing.
    pub(crate) fn give_back(&self, handle: OwnedFd) {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).push(handle);
    }
}

pub(crate) fn create() -> rustix::io::Result<OwnedFd> {
    init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
}
