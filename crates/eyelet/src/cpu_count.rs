//! The number of CPUs this process may use.

use std::sync::OnceLock;
use std::thread;

/// How many threads can run at once. Cached, because the system call takes longer than a small
/// search.
pub(crate) fn cpu_count() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}
