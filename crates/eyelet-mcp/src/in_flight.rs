//! The calls in flight, so that a shutdown can cancel all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eyelet::CancelFlag;

/// The calls in flight. Clones share the same set.
#[derive(Clone, Default)]
pub(crate) struct InFlight(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    next: u64,
    flags: HashMap<u64, CancelFlag>,
    is_shut_down: bool,
}

/// Registers one call for as long as it lives.
pub(crate) struct InFlightCall {
    in_flight: InFlight,
    number: u64,
    flag: CancelFlag,
}

impl InFlight {
    pub(crate) fn register(&self) -> InFlightCall {
        let flag = CancelFlag::default();
        let mut state = self.state();
        if state.is_shut_down {
            flag.cancel();
        }
        state.next += 1;
        let number = state.next;
        state.flags.insert(number, flag.clone());
        drop(state);
        InFlightCall { in_flight: self.clone(), number, flag }
    }

    /// Cancels every call, including those that are registered later.
    pub(crate) fn cancel_all(&self) {
        let mut state = self.state();
        state.is_shut_down = true;
        state.flags.values().for_each(CancelFlag::cancel);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.state().flags.is_empty()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InFlightCall {
    pub(crate) fn cancel_flag(&self) -> &CancelFlag {
        &self.flag
    }
}

impl Drop for InFlightCall {
    fn drop(&mut self) {
        self.in_flight.state().flags.remove(&self.number);
    }
}
