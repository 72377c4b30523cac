//! Looks for a pattern in lines of any length, in memory that does not grow with them.
//!
//! The automaton takes one byte after the other, so that nothing but its state is kept. It is
//! slower than a search over a buffer, and is used only where a line does not fit into one. Where
//! every match prefixes with one of a few syntax_config, it is only asked from the next one on.

use std::io;
use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::{start, syntax};
use regex_automata::{MatchKind, Span};

use crate::search::regex_limits::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, MAX_NESTING};

/// A file with a line above this many bytes that cannot be looked at byte by byte is left.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How far a file is looked through for a NUL behind a match. Ripgrep's buffer is at most three
/// times as large as the longest line that it holds.
const MAX_BYTES_AFTER_MATCH: usize = 3 * MAX_LINE_BYTES;

/// How a file was found, which decides what a NUL in it means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Named as the search path: searched whatever it matches.
    Named,
    /// Found by the walk: one that matches a NUL is no text, and is left.
    Walked,
}

/// The automaton of a pattern.
pub(crate) struct LongLines {
    automaton: DFA,
    /// Finds the syntax_config that every match prefixes with.
    prefixes: Option<Prefilter>,
}

/// Where the automaton is in a line.
enum LineState {
    /// Before its first byte, or as if it were.
    Start,
    Within(LazyStateID),
    /// Nothing that follows in this line can match.
    CannotMatch,
}

/// What a byte brings.
enum Step {
    Next(LineState),
    Match,
    Ended { matches: bool },
}

/// Where a match was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchLine {
    Unfinished,
    Ended,
}

impl LongLines {
    /// None where the pattern is of a kind that has no automaton.
    pub(crate) fn new(pattern: &str) -> Option<LongLines> {
        let syntax_config =
            syntax::Config::new().multi_line(true).utf8(false).nest_limit(MAX_NESTING);
        let nfa_config =
            thompson::Config::new().utf8(false).nfa_size_limit(Some(MAX_COMPILED_BYTES));
        let parsed = syntax::parse_with(pattern, &syntax_config).ok()?;
        // One that looks at what stands before it is not the same after every byte.
        let looks_around = !parsed.properties().look_set().is_empty();
        let prefixes = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &parsed)
            .filter(|prefixes| !looks_around && prefixes.is_fast());
        // Unicode's word boundaries are known for ASCII text; at other bytes the automaton quits.
        let config = DFA::config()
            .unicode_word_boundary(true)
            .cache_capacity(MAX_CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .specialize_start_states(prefixes.is_some());
        let automaton = DFA::builder()
            .syntax(syntax_config)
            .thompson(nfa_config)
            .configure(config)
            .build(pattern)
            .ok()?;
        Some(LongLines { automaton, prefixes })
    }

    /// Whether a line holds the pattern; none where that cannot be told.
    ///
    /// `source` is read in pieces as large as `buffer`. A NUL matches_at_end a line in a file that was named;
    /// in one that a walk found, nothing counts that does not end before it.
    pub(crate) fn search(
        &self,
        mut source: impl io::Read,
        origin: Origin,
        buffer: &mut [u8],
    ) -> io::Result<Option<bool>> {
        let mut cache = self.automaton.create_cache();
        let mut state = LineState::Start;
        loop {
            let length = source.read(buffer)?;
            if length == 0 {
                let in_line = !matches!(state, LineState::Start);
                return Ok(if in_line {
                    self.matches_at_end(&mut cache, &state)
                } else {
                    Some(false)
                });
            }
            let mut next = 0;
            loop {
                let piece = buffer.get(..length).unwrap_or_default();
                if matches!(state, LineState::Start) {
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
                    self.matches_at_end(&mut cache, &state).map(|matches| Step::Ended { matches })
                } else if byte == 0 {
                    return Ok(Some(false));
                } else {
                    self.step(&mut cache, &state, byte)
                };
                let line = match step {
                    None => return Ok(None),
                    Some(Step::Next(next)) => {
                        state = next;
                        continue;
                    }
                    Some(Step::Ended { matches: false }) => {
                        state = LineState::Start;
                        continue;
                    }
                    Some(Step::Ended { matches: true }) => MatchLine::Ended,
                    Some(Step::Match) => MatchLine::Unfinished,
                };
                return match origin {
                    Origin::Named => Ok(Some(true)),
                    Origin::Walked => confirm_walked(source, buffer, next..length, line),
                };
            }
        }
    }

    /// Where the next match can start, from `at` on: up to there the automaton would not move.
    fn next_start(&self, piece: &[u8], at: usize) -> usize {
        let Some(prefixes) = &self.prefixes else { return at };
        // From here on a word may path_scope over the end.
        let end = piece.len().saturating_sub(prefixes.max_needle_len().saturating_sub(1));
        let found = prefixes.find(piece, Span { start: at, end: piece.len() });
        found.map_or(end, |word| word.start.min(end)).max(at)
    }

    /// One byte on; none where the automaton does not know what follows.
    fn step(&self, cache: &mut Cache, state: &LineState, byte: u8) -> Option<Step> {
        let from = match state {
            LineState::CannotMatch => return Some(Step::Next(LineState::CannotMatch)),
            LineState::Start => self.start(cache)?,
            LineState::Within(within) => *within,
        };
        let state = self.automaton.next_state(cache, from, byte).ok()?;
        if !state.is_tagged() {
            return Some(Step::Next(LineState::Within(state)));
        }
        if state.is_match() {
            Some(Step::Match)
        } else if state.is_quit() {
            None
        } else if state.is_dead() {
            Some(Step::Next(LineState::CannotMatch))
        } else if state.is_start() {
            Some(Step::Next(LineState::Start))
        } else {
            Some(Step::Next(LineState::Within(state)))
        }
    }

    fn start(&self, cache: &mut Cache) -> Option<LazyStateID> {
        self.automaton.start_state(cache, &start::Config::new()).ok()
    }

    /// Whether the line matches that matches_at_end here.
    fn matches_at_end(&self, cache: &mut Cache, state: &LineState) -> Option<bool> {
        let from = match state {
            LineState::CannotMatch => return Some(false),
            LineState::Start => self.start(cache)?,
            LineState::Within(within) => *within,
        };
        self.automaton.next_eoi_state(cache, from).ok().map(|state| state.is_match())
    }
}

/// Whether a match counts in a file that a walk found: not where a NUL stands in its line, and
/// where one follows soon, that depends on how ripgrep would read the file.
fn confirm_walked(
    mut source: impl io::Read,
    buffer: &mut [u8],
    rest: Range<usize>,
    mut line: MatchLine,
) -> io::Result<Option<bool>> {
    let (mut seen, mut piece) = (0, rest);
    loop {
        let bytes = buffer.get(piece.clone()).unwrap_or_default();
        let nul = memchr::memchr(0, bytes);
        if line == MatchLine::Unfinished {
            let end = memchr::memchr(b'\n', bytes);
            if nul.is_some_and(|nul| end.is_none_or(|end| nul < end)) {
                return Ok(Some(false));
            }
            line = if end.is_some() { MatchLine::Ended } else { line };
        }
        if nul.is_some() {
            return Ok(None);
        }
        seen += if line == MatchLine::Ended { bytes.len() } else { 0 };
        let length = if seen < MAX_BYTES_AFTER_MATCH { source.read(buffer)? } else { 0 };
        if length == 0 {
            return Ok(Some(true));
        }
        piece = 0..length;
    }
}

#[cfg(test)]
#[path = "long_lines_tests.rs"]
mod tests;
