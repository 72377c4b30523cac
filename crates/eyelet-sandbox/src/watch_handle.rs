//! The inotify instances that the caller lends its supervisors.
//!
//! Closing an instance takes the kernel about 10 ms. The caller therefore owns them and uses them again for the next
//! command.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use rustix::fs::inotify::{CreateFlags, init};
use rustix::io::Errno;

/// How many unused instances the caller keeps: as many as commands usually run at once. While jobs run there may be more,
/// but each user has only 128.
const MAX_UNUSED: usize = 8;

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
        let mut unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        if unused.len() < MAX_UNUSED {
            unused.push(handle);
            return;
        }
        drop(unused);
        drop(handle);
    }
}

pub(crate) fn create() -> io::Result<OwnedFd> {
    init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
        .map_err(|error| exhausted(error, "instances"))
}

/// The error with the limit to raise if all `what` of the user are in use.
pub(crate) fn exhausted(error: Errno, what: &str) -> io::Error {
    match error {
        Errno::MFILE | Errno::NOSPC => {
            let setting = format!("fs.inotify.max_user_{what}");
            let reason = format!(
                "all inotify {what} of this user are in use; raise the kernel setting {setting}"
            );
            io::Error::other(reason)
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_some_unused_instances_stay_open() {
        let handles = WatchHandles::default();
        let taken: Vec<_> = (0..2 * MAX_UNUSED).filter_map(|_| handles.take()).collect();
        assert_eq!(taken.len(), 2 * MAX_UNUSED);
        taken.into_iter().for_each(|handle| handles.give_back(handle));
        assert_eq!(handles.unused.lock().unwrap().len(), MAX_UNUSED);
    }
}
