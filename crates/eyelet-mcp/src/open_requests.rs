//! The requests that have no answer yet, by id.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

/// The requests that have no answer yet.
#[derive(Default)]
pub(crate) struct OpenRequests(Mutex<HashSet<RequestId>>);

impl OpenRequests {
    /// Opens a request. Returns false if its id is in use.
    pub(crate) fn open(&self, id: &RequestId) -> bool {
        self.lock().insert(id.clone())
    }

    pub(crate) fn close(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
