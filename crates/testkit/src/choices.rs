//! Choices that a generator of test data makes: from random numbers, or from the bytes of a fuzzer's input.

use std::ops::{Bound, RangeBounds};

/// A source of choices. Its methods are those of [`fastrand::Rng`], so a generator can use either.
pub struct Choices<'d>(Source<'d>);

enum Source<'d> {
    Random(fastrand::Rng),
    Bytes(&'d [u8]),
}

macro_rules! integers {
    ($($kind:ident)*) => {$(
        /// A number in the range; from bytes that are used up, its start.
        pub fn $kind(&mut self, range: impl RangeBounds<$kind>) -> $kind {
            if let Source::Random(random) = &mut self.0 {
                return random.$kind(range);
            }
            let first = match range.start_bound() {
                Bound::Included(first) => *first,
                Bound::Excluded(before) => *before + 1,
                Bound::Unbounded => 0,
            };
            let last = match range.end_bound() {
                Bound::Included(last) => *last,
                Bound::Excluded(after) => after.checked_sub(1).expect("the range is not empty"),
                Bound::Unbounded => $kind::MAX,
            };
            assert!(first <= last, "the range is not empty");
            first + self.at_most((last - first) as u64) as $kind
        }
    )*};
}

impl<'d> Choices<'d> {
    /// Random choices that depend only on the seed.
    pub fn random(seed: u64) -> Self {
        Choices(Source::Random(fastrand::Rng::with_seed(seed)))
    }

    /// The choices that these bytes make.
    pub fn from_bytes(bytes: &'d [u8]) -> Self {
        Choices(Source::Bytes(bytes))
    }

    integers!(u8 u16 u32 u64 usize);

    /// Either of two.
    pub fn bool(&mut self) -> bool {
        self.u8(0..2) == 1
    }

    /// One of several.
    pub fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.usize(0..of.len())]
    }

    /// All bytes that are left; of random choices, some bytes.
    pub fn rest(&mut self) -> Vec<u8> {
        match &mut self.0 {
            Source::Bytes(bytes) => std::mem::take(bytes).to_vec(),
            Source::Random(random) => {
                let mut bytes = vec![0; random.usize(0..4096)];
                random.fill(&mut bytes);
                bytes
            }
        }
    }

    /// Up to `most` bytes.
    pub fn bytes(&mut self, most: usize) -> Vec<u8> {
        let length = self.usize(0..=most);
        (0..length).map_while(|_| (!self.is_used_up()).then(|| self.u8(..))).collect()
    }

    /// Whether every further choice is the first possible one.
    pub fn is_used_up(&self) -> bool {
        matches!(self.0, Source::Bytes([]))
    }

    /// A number up to `last`, from as many bytes as it may have.
    fn at_most(&mut self, last: u64) -> u64 {
        let Source::Bytes(bytes) = &mut self.0 else {
            unreachable!("random numbers come from fastrand")
        };
        let mut number = 0;
        let mut left = last;
        while left > 0 {
            let Some((first, rest)) = bytes.split_first() else { break };
            number = number << 8 | u64::from(*first);
            *bytes = rest;
            left >>= 8;
        }
        if last == u64::MAX { number } else { number % (last + 1) }
    }
}
