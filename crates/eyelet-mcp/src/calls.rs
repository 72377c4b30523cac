//! The calls that run, so that all of them can be stopped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eyelet::CancelFlag;

/// The calls that run.
#[derive(Clone, Default)]
pub(crate) struct Calls(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: u64,
    flags: HashMap<u64, CancelFlag>,
    is_over: bool,
}

/// One call; dropped, it does not run any more.
pub(crate) struct Running {
    calls: Calls,
    number: u64,
    flag: CancelFlag,
}

impl Calls {
    pub(crate) fn begin(&self) -> Running {
        let flag = CancelFlag::default();
        let mut state = self.state();
        if state.is_over {
            flag.cancel();
        }
        state.next += 1;
        let number = state.next;
        state.flags.insert(number, flag.clone());
        drop(state);
        Running { calls: self.clone(), number, flag }
    }

    /// Stops every call, and those that come later.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.state();
        state.is_over = true;
        state.flags.values().for_each(CancelFlag::cancel);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.state().flags.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    pub(crate) fn flag(&self) -> &CancelFlag {
        &self.flag
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.calls.state().flags.remove(&self.number);
    }
}
