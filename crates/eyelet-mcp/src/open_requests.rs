//! The requests that have no answer yet, by id.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

/// The open requests.
#[derive(Default)]
pub(crate) struct OpenRequests(Mutex<HashMap<RequestId, Stage>>);

/// How far a request is. It stays open until `rmcp` is done with it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// No answer exists yet.
    Waiting,
    /// A call's thread is writing the answer.
    Answering,
    /// The answer is written, but `rmcp` has not been told yet.
    Answered,
}

impl OpenRequests {
    /// Opens a request. Fails with the stage of an open one if its id is in use.
    pub(crate) fn open(&self, id: &RequestId) -> Result<(), Stage> {
        let mut requests = self.lock();
        match requests.get(id) {
            Some(stage) => Err(*stage),
            None => {
                requests.insert(id.clone(), Stage::Waiting);
                Ok(())
            }
        }
    }

    /// Returns whether the request is still open.
    pub(crate) fn set_stage(&self, id: &RequestId, stage: Stage) -> bool {
        self.lock().get_mut(id).map(|current| *current = stage).is_some()
    }

    pub(crate) fn close(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    pub(crate) fn are_all_answered(&self) -> bool {
        self.lock().values().all(|stage| *stage == Stage::Answered)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Stage>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
