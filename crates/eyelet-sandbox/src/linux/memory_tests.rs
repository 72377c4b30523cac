use super::*;

#[test]
fn a_sum_above_the_limit_is_confirmed_in_parts() {
    let own = look(rustix::process::getpid()).unwrap();
    let confirmation = |limit, count| Confirmation {
        limit,
        todo: vec![own; count],
        counted: Vec::new(),
        total: 0,
        spent: Duration::ZERO,
    };
    let now = Instant::now();
    let mut parts = confirmation(u64::MAX, 3);
    assert_eq!((parts.proceed(now), parts.todo.len()), (None, 2));
    // The same memory counts once.
    assert_eq!((parts.proceed(now), parts.counted.len()), (None, 1));
    assert_eq!((parts.proceed(now), parts.counted.len()), (Some(false), 1));
    assert!(parts.total > 0);
    // Once the limit is exceeded, the rest does not matter.
    let mut exceeded = confirmation(0, 3);
    assert_eq!((exceeded.proceed(now), exceeded.todo.len()), (Some(true), 2));
}

#[test]
fn a_process_that_has_exited_has_no_memory() {
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = Pid::from_child(&child);
    child.wait().unwrap();
    assert_eq!(proportional(Process { pid, bytes: 1 }), 0);
}

#[test]
fn without_a_limit_the_monitor_does_not_spin() {
    let mut watch = MemoryWatch::new(MemoryLimit::default());
    (watch.bytes, watch.next) = (Some(None), Instant::now());
    assert_eq!(watch.exceeded(rustix::process::getpid()), None);
    assert!(watch.next_check() > Duration::ZERO);
}
