//! Runs a target in a test: first the inputs of `fuzz/`, then changed and random ones.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use fastrand::Rng;
use testkit::{Choices, each_seed_for};

use crate::target::Target;

/// The inputs in `fuzz/`: the target, the file and its content.
const INPUTS: &[(&str, &str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/inputs.rs"));

/// How long random inputs are tried.
const TIME: Duration = Duration::from_secs(1);

/// The longest random input.
const MAX_BYTES: usize = 2048;

/// Checks a target with the files of `fuzz/`, which are seeds and inputs that once failed, and then for about
/// a second with random inputs.
pub fn check_for_a_second(target: &Target) {
    let mut check = (target.start)();
    let own = INPUTS.iter().filter(|(name, ..)| *name == target.name);
    let inputs: Vec<&[u8]> = own.clone().map(|(.., input)| *input).collect();
    assert!(!inputs.is_empty(), "fuzz/seeds/{} has no file", target.name);
    for (_, file, input) in own {
        let outcome = catch_unwind(AssertUnwindSafe(|| check(&mut Choices::from_bytes(input))));
        if let Err(panic) = outcome {
            eprintln!("failed with {file}");
            resume_unwind(panic);
        }
    }
    each_seed_for(TIME, |random| {
        let input = if random.u8(0..3) == 0 { any(random) } else { changed(&inputs, random) };
        check(&mut Choices::from_bytes(&input));
    });
}

fn any(random: &mut Rng) -> Vec<u8> {
    let mut bytes = vec![0; random.usize(0..MAX_BYTES)];
    random.fill(&mut bytes);
    bytes
}

/// An input with a few changes.
fn changed(inputs: &[&[u8]], random: &mut Rng) -> Vec<u8> {
    let some = |random: &mut Rng| inputs[random.usize(0..inputs.len())];
    let mut bytes = some(random).to_vec();
    for _ in 0..random.usize(1..6) {
        let place = random.usize(0..=bytes.len());
        let end = random.usize(place..=bytes.len()).min(place + 32);
        match random.u8(0..5) {
            0 => bytes.insert(place, random.u8(..)),
            1 => drop(bytes.drain(place..end)),
            2 => {
                let copy = bytes[place..end].to_vec();
                bytes.splice(place..place, copy);
            }
            3 => {
                let other = some(random);
                let start = random.usize(0..=other.len());
                bytes.truncate(place);
                bytes.extend(&other[start..]);
            }
            _ => bytes[place..end].iter_mut().for_each(|byte| *byte = random.u8(..)),
        }
    }
    bytes
}
