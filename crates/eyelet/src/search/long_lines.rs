//! Looks for a pattern in lines of any length, in memory that does not grow with them.
//!
//! The automaton takes one byte after the other, so that nothing but its state is kept. It is
//! slower than a search over a buffer, and is used only where a line does not fit into one. Where
//! every match starts with one of a few words, it is only asked from the next one on.

use std::io;
use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::{start, syntax};
use regex_automata::{MatchKind, Span};

use crate::search::match_file::{MAX_LINE_BYTES, Origin};
use crate::search::query::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, MAX_NESTING};

/// How far a file is looked through for a NUL behind a match. Ripgrep's buffer is at most three
/// times as large as the longest line that it holds.
const MAX_BYTES_BEHIND: usize = 3 * MAX_LINE_BYTES;

/// The automaton of a pattern.
pub(crate) struct LongLines {
    automaton: DFA,
    /// Finds the words that every match starts with.
    starts: Option<Prefilter>,
}

/// Where the automaton is in a line.
enum Progress {
    /// Before its first byte, or as if it were.
    Start,
    Within(LazyStateID),
    /// Nothing that follows in this line can match.
    Hopeless,
}

/// What a byte brings.
enum Step {
    On(Progress),
    Match,
    Ended { matches: bool },
}

/// Where a match was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    GoesOn,
    Ended,
}

impl LongLines {
    /// None where the pattern is of a kind that has no automaton.
    pub(crate) fn new(pattern: &str) -> Option<LongLines> {
        let words = syntax::Config::new().multi_line(true).utf8(false).nest_limit(MAX_NESTING);
        let states = thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let parsed = syntax::parse_with(pattern, &words).ok()?;
        // One that looks at what stands before it is not the same after every byte.
        let looks_around = !parsed.properties().look_set().is_empty();
        let starts = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &parsed)
            .filter(|starts| !looks_around && starts.is_fast());
        // Unicode's word boundaries are known for ASCII text; at other bytes the automaton quits.
        let config = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(MAX_CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .specialize_start_states(starts.is_some());
        let automaton =
            DFA::builder().syntax(words).thompson(states).configure(config).build(pattern).ok()?;
        Some(LongLines { automaton, starts })
    }

    /// Whether a line holds the pattern; none where that cannot be told.
    ///
    /// `source` is read in pieces as large as `buffer`. A NUL ends a line in a file that was named;
    /// in one that a walk found, nothing counts that does not end before it.
    pub(crate) fn hold(
        &self,
        mut source: impl io::Read,
        origin: Origin,
        buffer: &mut [u8],
    ) -> io::Result<Option<bool>> {
        let mut cache = self.automaton.create_cache();
        let mut progress = Progress::Start;
        loop {
            let length = source.read(buffer)?;
            if length == 0 {
                let in_line = !matches!(progress, Progress::Start);
                return Ok(if in_line { self.ends(&mut cache, &progress) } else { Some(false) });
            }
            let mut next = 0;
            loop {
                let piece = buffer.get(..length).unwrap_or_default();
                if matches!(progress, Progress::Start) {
                    let passed = next..self.next_start(piece, next);
                    next = passed.end;
                    let passed = piece.get(passed).unwrap_or_default();
                    if origin == Origin::Walked && memchr::memchr(0, passed).is_some() {
                        return Ok(Some(false));
                    }
                }
                let Some(byte) = piece.get(next).copied() else { break };
                next += 1;
                let step = if byte == b'\n' || (byte == 0 && origin == Origin::Named) {
                    self.ends(&mut cache, &progress).map(|matches| Step::Ended { matches })
                } else if byte == 0 {
                    return Ok(Some(false));
                } else {
                    self.step(&mut cache, &progress, byte)
                };
                let line = match step {
                    None => return Ok(None),
                    Some(Step::On(next)) => {
                        progress = next;
                        continue;
                    }
                    Some(Step::Ended { matches: false }) => {
                        progress = Progress::Start;
                        continue;
                    }
                    Some(Step::Ended { matches: true }) => Line::Ended,
                    Some(Step::Match) => Line::GoesOn,
                };
                return match origin {
                    Origin::Named => Ok(Some(true)),
                    Origin::Walked => confirm(source, buffer, next..length, line),
                };
            }
        }
    }

    /// Where the next match can start, from `at` on: up to there the automaton would not move.
    fn next_start(&self, piece: &[u8], at: usize) -> usize {
        let Some(starts) = &self.starts else { return at };
        // From here on a word may reach over the end.
        let end = piece.len().saturating_sub(starts.max_needle_len().saturating_sub(1));
        let found = starts.find(piece, Span { start: at, end: piece.len() });
        found.map_or(end, |word| word.start.min(end)).max(at)
    }

    /// One byte on; none where the automaton does not know what follows.
    fn step(&self, cache: &mut Cache, progress: &Progress, byte: u8) -> Option<Step> {
        let state = match progress {
            Progress::Hopeless => return Some(Step::On(Progress::Hopeless)),
            Progress::Start => self.start(cache)?,
            Progress::Within(state) => *state,
        };
        let state = self.automaton.next_state(cache, state, byte).ok()?;
        if !state.is_tagged() {
            return Some(Step::On(Progress::Within(state)));
        }
        if state.is_match() {
            Some(Step::Match)
        } else if state.is_quit() {
            None
        } else if state.is_dead() {
            Some(Step::On(Progress::Hopeless))
        } else if state.is_start() {
            Some(Step::On(Progress::Start))
        } else {
            Some(Step::On(Progress::Within(state)))
        }
    }

    fn start(&self, cache: &mut Cache) -> Option<LazyStateID> {
        self.automaton.start_state(cache, &start::Config::new()).ok()
    }

    /// Whether the line matches that ends here.
    fn ends(&self, cache: &mut Cache, progress: &Progress) -> Option<bool> {
        let state = match progress {
            Progress::Hopeless => return Some(false),
            Progress::Start => self.start(cache)?,
            Progress::Within(state) => *state,
        };
        self.automaton.next_eoi_state(cache, state).ok().map(|state| state.is_match())
    }
}

/// Whether a match counts in a file that a walk found: not where a NUL stands in its line, and
/// where one follows soon, that depends on how ripgrep would read the file.
fn confirm(
    mut source: impl io::Read,
    buffer: &mut [u8],
    rest: Range<usize>,
    mut line: Line,
) -> io::Result<Option<bool>> {
    let (mut seen, mut piece) = (0, rest);
    loop {
        let bytes = buffer.get(piece.clone()).unwrap_or_default();
        let nul = memchr::memchr(0, bytes);
        if line == Line::GoesOn {
            let end = memchr::memchr(b'\n', bytes);
            if nul.is_some_and(|nul| end.is_none_or(|end| nul < end)) {
                return Ok(Some(false));
            }
            line = if end.is_some() { Line::Ended } else { line };
        }
        if nul.is_some() {
            return Ok(None);
        }
        seen += if line == Line::Ended { bytes.len() } else { 0 };
        let length = if seen < MAX_BYTES_BEHIND { source.read(buffer)? } else { 0 };
        if length == 0 {
            return Ok(Some(true));
        }
        piece = 0..length;
    }
}

#[cfg(test)]
#[path = "long_lines_tests.rs"]
mod tests;
