use std::time::Duration;

use super::*;
use crate::cancel::CancelFlag;

#[test]
fn a_call_that_waits_for_another_image_can_stop() {
    let no_limit = StopCheck::new(Duration::MAX, None, CancelFlag::default());
    let first = one_at_a_time(&no_limit).unwrap();
    let cancel = CancelFlag::default();
    std::thread::scope(|scope| {
        let second = StopCheck::new(Duration::from_secs(60), None, cancel.clone());
        let waiting = scope.spawn(move || one_at_a_time(&second).map(drop));
        cancel.cancel();
        assert_eq!(waiting.join().unwrap(), Err(Stop::Cancelled));
    });
    let passed = StopCheck::new(Duration::ZERO, None, CancelFlag::default());
    assert_eq!(one_at_a_time(&passed).map(drop), Err(Stop::TimedOut));
    drop(first);
    assert!(one_at_a_time(&no_limit).is_ok());
}
