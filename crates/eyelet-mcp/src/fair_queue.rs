//! The waiting calls of one kind. Sessions take turns, so a session with many calls does not delay
//! another session.

use std::collections::{HashMap, VecDeque};

use eyelet::limits::{MAX_QUEUE, MAX_QUEUE_OF_ALL};

/// The number of a session of this server. Over HTTP, the requests that belong to no session share
/// [`NO_SESSION`].
pub(crate) type SessionNumber = u64;

/// The number that requests without a session share.
pub(crate) const NO_SESSION: SessionNumber = 0;

/// The queue is full.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Busy;

/// The waiting calls of each session, and how many calls of it run.
pub(crate) struct FairQueue<W> {
    /// How many calls of one session may run at once.
    slots_per_session: usize,
    /// The sessions with waiting calls; the first one is next.
    sessions: VecDeque<(SessionNumber, VecDeque<W>)>,
    running: HashMap<SessionNumber, usize>,
}

impl<W> FairQueue<W> {
    pub(crate) fn new(slots_per_session: usize) -> Self {
        FairQueue { slots_per_session, sessions: VecDeque::new(), running: HashMap::new() }
    }

    /// Adds a call. The `starting` first ones do not count: threads are about to take them.
    pub(crate) fn add(
        &mut self,
        session: SessionNumber,
        work: W,
        starting: usize,
    ) -> Result<(), Busy> {
        let all = self.waiting();
        let own = self.sessions.iter_mut().find(|(number, _)| *number == session);
        let waiting = own.as_ref().map_or(0, |(_, calls)| calls.len());
        if waiting >= MAX_QUEUE + starting || all >= MAX_QUEUE_OF_ALL + starting {
            return Err(Busy);
        }
        match own {
            Some((_, calls)) => calls.push_back(work),
            None => self.sessions.push_back((session, VecDeque::from([work]))),
        }
        Ok(())
    }

    /// Removes the call that the session added last.
    pub(crate) fn take_back(&mut self, session: SessionNumber) {
        if let Some((_, calls)) = self.sessions.iter_mut().find(|(number, _)| *number == session) {
            calls.pop_back();
        }
        self.sessions.retain(|(_, calls)| !calls.is_empty());
    }

    /// The next call to run, and its session. None if nothing waits, or only sessions that use all their slots.
    pub(crate) fn start_next(&mut self) -> Option<(SessionNumber, W)> {
        let next = self.sessions.iter().position(|(session, _)| self.free_slots(*session) > 0)?;
        let (session, mut calls) = self.sessions.remove(next)?;
        let work = calls.pop_front()?;
        if !calls.is_empty() {
            self.sessions.push_back((session, calls));
        }
        *self.running.entry(session).or_default() += 1;
        Some((session, work))
    }

    /// Records that a call of the session has ended.
    pub(crate) fn end(&mut self, session: SessionNumber) {
        if let Some(running) = self.running.get_mut(&session) {
            *running = running.saturating_sub(1);
        }
        self.running.retain(|_, running| *running > 0);
    }

    fn free_slots(&self, session: SessionNumber) -> usize {
        let running = self.running.get(&session).copied().unwrap_or_default();
        self.slots_per_session.saturating_sub(running)
    }

    /// How many waiting calls could start now if there were enough threads.
    pub(crate) fn startable(&self) -> usize {
        let calls = self.sessions.iter().map(|(session, calls)| (self.free_slots(*session), calls));
        calls.map(|(free, calls)| free.min(calls.len())).sum()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.sessions.iter().map(|(_, calls)| calls.len()).sum()
    }

    pub(crate) fn running(&self) -> usize {
        self.running.values().sum()
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
