//! Runs a target of the crate `properties` for an input of libFuzzer.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use properties::{Check, Target};
use testkit::Choices;

/// Checks one input. Prints how long the slowest input took, whenever a slower one comes.
pub fn check(target: &Target, input: &[u8]) {
    thread_local! {
        static STATE: RefCell<Option<(Check, Duration)>> = const { RefCell::new(None) };
    }
    STATE.with_borrow_mut(|state| {
        let (check, slowest) = state.get_or_insert_with(|| ((target.start)(), Duration::ZERO));
        let start = Instant::now();
        check(&mut Choices::from_bytes(input));
        let time = start.elapsed();
        if time > *slowest {
            *slowest = time;
            eprintln!("slowest: {} us", time.as_micros());
        }
    });
}
