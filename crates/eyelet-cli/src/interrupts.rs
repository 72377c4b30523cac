//! Ctrl-C while a command runs.

use std::fs;
use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use eyelet::CancelFlag;
use nix::sys::signal::{SigSet, Signal};

/// How long a command may take to end after Ctrl-C.
const GRACE_TIME: Duration = Duration::from_secs(3);
/// The exit code of a shell whose command SIGINT ended.
const INTERRUPTED: i32 = 128 + Signal::SIGINT as i32;

/// How many times Ctrl-C was pressed before it ends eyelet at once.
const AT_ONCE: u8 = 2;

/// Passes Ctrl-C on to a command. Dropping it lets Ctrl-C end eyelet again.
pub(crate) struct Interrupts(Arc<AtomicU8>);

impl Interrupts {
    /// Interrupts the call of `cancel` at the first Ctrl-C, and cancels it at the second one, or if it still runs
    /// after [`GRACE_TIME`]. One more ends eyelet.
    pub(crate) fn pass_to(cancel: CancelFlag) -> io::Result<Self> {
        let count = Arc::new(AtomicU8::new(0));
        let interrupts = Interrupts(Arc::clone(&count));
        if is_ignored() {
            return Ok(interrupts);
        }
        let mut signals = SigSet::empty();
        signals.add(Signal::SIGINT);
        // Threads that start later inherit it; commands do not.
        signals.thread_block()?;
        let wait = move || {
            while signals.wait().is_ok() {
                match count.fetch_add(1, Ordering::AcqRel) {
                    0 => {
                        cancel.interrupt();
                        let cancel = cancel.clone();
                        thread::spawn(move || {
                            thread::sleep(GRACE_TIME);
                            cancel.cancel();
                        });
                    }
                    pressed if pressed < AT_ONCE => cancel.cancel(),
                    _ => process::exit(INTERRUPTED),
                }
            }
        };
        thread::Builder::new().spawn(wait)?;
        Ok(interrupts)
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.0.store(AT_ONCE, Ordering::Release);
    }
}

/// Whether eyelet was started with SIGINT ignored, as a script's background process is.
fn is_ignored() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (Signal::SIGINT as i32 - 1)) != 0)
}
