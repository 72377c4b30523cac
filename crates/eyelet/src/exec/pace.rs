//! How the next piece of a flood is waited for.
//!
//! Where a processor is free, without sleeping: pieces that are taken at once stay in its caches, and
//! nobody has to be woken. Where none is, that would keep the command from its work: then a pause
//! lets the pipe fill, and a few large pieces are read instead of many small ones.

use std::thread;
use std::time::{Duration, Instant};

use crate::cpu_count::cpu_count;

/// The next piece is ready after this time, as a rule.
const PATIENCE: Duration = Duration::from_micros(20);
/// A piece that is worth its read is there after this time.
const PAUSE: Duration = Duration::from_micros(300);
/// For this part of the time that a piece took, its writer is left alone with the pipe: only one of
/// the two has it at a time, and a writer that is far away needs longer to get it back.
const ALONE: f64 = 0.3;
/// How often it is looked whether a processor is free.
const LOOK_INTERVAL: Duration = Duration::from_millis(5);
/// Of the last sixteen looks, so many that found none say that none is: processes that wait for each
/// other do not want to run all the time, and now and then something else does, such as the system
/// that brings a file to disk.
const ENOUGH_LOOKS: u32 = 4;

/// What is known of the processors.
#[derive(Default)]
pub(crate) struct Pace {
    looked: Option<Instant>,
    /// A bit for each of the last looks, set where none was free.
    crowded: u16,
}

/// One time of reading on and on.
pub(crate) struct Spell {
    is_crowded: bool,
    until: Instant,
    last_piece: Instant,
    /// Since when it is read.
    resumed: Instant,
}

impl Pace {
    /// Begins to read for `time`.
    pub(crate) fn begin(&mut self, time: Duration) -> Spell {
        let now = Instant::now();
        if self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK_INTERVAL) {
            let crowded = (self.crowded << 1) | u16::from(is_crowded());
            *self = Pace { looked: Some(now), crowded };
        }
        let is_crowded = self.crowded.count_ones() >= ENOUGH_LOOKS;
        Spell { is_crowded, until: now + time, last_piece: now, resumed: now }
    }
}

impl Spell {
    /// Waits for the next piece; `came` is when the last one did, if one has come since. One that is
    /// kept left the pipe to its writer while it was written to its file. False where it is not worth to
    /// wait any longer.
    pub(crate) fn wait(&mut self, came: Option<Instant>, is_kept: bool) -> bool {
        let now = came.unwrap_or_else(Instant::now);
        self.last_piece = came.unwrap_or(self.last_piece);
        let patience = if self.is_crowded { Duration::ZERO } else { PATIENCE };
        if now >= self.until || (came.is_none() && now.duration_since(self.last_piece) >= patience)
        {
            return false;
        }
        if self.is_crowded {
            thread::sleep(PAUSE);
            return true;
        }
        let alone = if is_kept { 0.0 } else { ALONE };
        let alone_until = now + now.duration_since(self.resumed).mul_f64(alone);
        loop {
            thread::yield_now();
            self.resumed = Instant::now();
            if self.resumed >= alone_until {
                return true;
            }
        }
    }
}

/// Whether more threads want to run than there are processors, this one among them. Where the system
/// does not tell, they are taken to be free.
fn is_crowded() -> bool {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    running(&load).is_some_and(|running| running > cpu_count())
}

/// The number before the slash: how many threads run or could.
fn running(load: &str) -> Option<usize> {
    load.split_once('/')?.0.split_whitespace().last()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::running;

    #[test]
    fn the_threads_that_run_stand_before_the_slash() {
        assert_eq!(running("0.46 1.05 1.21 3/245 27713\n"), Some(3));
        assert_eq!(running(""), None);
        assert_eq!(running("0.46 1.05"), None);
    }
}
