use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use eyelet::limits::MAX_QUEUE;

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// Blocks every thread of a kind until the sender is dropped.
fn fill(
    pool: &ThreadPool,
    load: Load,
    threads: usize,
) -> (std::sync::mpsc::Sender<()>, Receiver<()>) {
    let (hold, held) = channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let (started, starts) = channel();
    for _ in 0..threads {
        let (held, started) = (Arc::clone(&held), started.clone());
        pool.run(load, 1, move || {
            started.send(()).unwrap();
            drop(held.lock().map(|held| held.recv()));
        })
        .unwrap();
    }
    starts.recv_timeout(LONG).unwrap();
    (hold, starts)
}

#[test]
fn a_kind_with_a_full_queue_is_busy_and_others_are_not() {
    let pool = ThreadPool::new(Sharing::OneSession);
    let (hold, _starts) = fill(&pool, Load::Command, MAX_COMMANDS);
    let mut queued = 0;
    while pool.run(Load::Command, 1, || {}).is_ok() {
        queued += 1;
        assert!(queued <= MAX_QUEUE + MAX_COMMANDS);
    }
    assert!(queued >= MAX_QUEUE - MAX_COMMANDS);
    let (done, dones) = channel();
    pool.run(Load::Read, 1, move || done.send(()).unwrap()).unwrap();
    dones.recv_timeout(LONG).unwrap();
    drop(hold);
    let (done, dones) = channel();
    while pool
        .run(Load::Command, 1, {
            let done = done.clone();
            move || done.send(()).unwrap()
        })
        .is_err()
    {
        std::thread::sleep(Duration::from_millis(1));
    }
    dones.recv_timeout(LONG).unwrap();
}

#[test]
fn a_panic_does_not_end_the_thread() {
    let pool = ThreadPool::new(Sharing::OneSession);
    for _ in 0..MAX_WALKS * 2 {
        pool.run(Load::Walk, 1, || panic!("a panic for the test")).unwrap();
    }
    let (done, dones) = channel();
    pool.run(Load::Walk, 1, move || done.send(()).unwrap()).unwrap();
    dones.recv_timeout(LONG).unwrap();
}
