use super::*;

/// The sessions of the calls that start, until none can.
fn started(queue: &mut FairQueue<&'static str>) -> Vec<(SessionNumber, &'static str)> {
    std::iter::from_fn(|| queue.start_next()).collect()
}

#[test]
fn sessions_take_turns() {
    let mut queue = FairQueue::new(100);
    for call in ["a1", "a2", "a3", "a4"] {
        queue.add(1, call, 0).unwrap();
    }
    for (session, call) in [(2, "b1"), (3, "c1"), (2, "b2")] {
        queue.add(session, call, 0).unwrap();
    }
    let order: Vec<_> = started(&mut queue).into_iter().map(|(_, call)| call).collect();
    assert_eq!(order, ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]);
}

#[test]
fn a_session_never_runs_more_calls_than_its_slots() {
    let mut queue = FairQueue::new(2);
    for _ in 0..5 {
        queue.add(1, "mine", 0).unwrap();
    }
    assert_eq!(queue.startable(), 2);
    assert_eq!(started(&mut queue), [(1, "mine"), (1, "mine")]);
    assert_eq!((queue.startable(), queue.waiting(), queue.running()), (0, 3, 2));
    queue.add(2, "theirs", 0).unwrap();
    assert_eq!(started(&mut queue), [(2, "theirs")]);
    queue.end(1);
    assert_eq!(started(&mut queue), [(1, "mine")]);
}

#[test]
fn a_full_queue_of_one_session_leaves_room_for_others() {
    let mut queue = FairQueue::new(2);
    let fill = |queue: &mut FairQueue<&'static str>, session| {
        (0..).take_while(|_| queue.add(session, "call", 0).is_ok()).count()
    };
    assert_eq!(fill(&mut queue, 1), MAX_QUEUE);
    assert_eq!(fill(&mut queue, 2), MAX_QUEUE);
    let all: usize = (3..100).map(|session| fill(&mut queue, session)).sum();
    assert_eq!(all + 2 * MAX_QUEUE, MAX_QUEUE_OF_ALL);
    queue.take_back(1);
    assert_eq!(queue.add(1, "call", 0), Ok(()));
    assert_eq!(queue.add(1, "call", 0), Err(Busy));
}
