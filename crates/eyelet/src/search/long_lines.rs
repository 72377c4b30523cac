//! Matches lines of any length in constant memory.
//!
//! The automaton takes one byte at a time, so only its state is kept. It is slower than searching a
//! buffer and is used only if a line does not fit into one. If every match starts with one of a few
//! literals, it skips to the next of these.

use std::io;
use std::ops::Range;

use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::prefilter::Prefilter;
use regex_automata::util::{start, syntax};
use regex_automata::{MatchKind, Span};

use crate::search::regex_limits::{LARGE_COMPILED_BYTES, MAX_CACHE_BYTES, MAX_NESTING};

/// The search of a file ends at a longer line if the automaton cannot be used.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// How far to look for a NUL after a match. Ripgrep's buffer is at most three times as large as the
/// longest line in it.
const MAX_BYTES_AFTER_MATCH: usize = 3 * MAX_LINE_BYTES;

/// How a file was found. Decides what a NUL in it means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The search path itself: always searched.
    Named,
    /// Found by the walk: a file that contains a NUL is binary and does not match.
    Walked,
}

/// The automaton of a pattern.
pub(crate) struct LongLines {
    automaton: DFA,
    /// Finds the literals that matches start with.
    prefixes: Option<Prefilter>,
}

/// The automaton's position in a line.
enum LineState {
    /// At the start, or in an equivalent state.
    Start,
    Within(LazyStateID),
    /// The rest of this line cannot match.
    CannotMatch,
}

/// The result of one byte.
enum Step {
    Next(LineState),
    Match,
    Ended { matches: bool },
}

/// Whether the line of a match has ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatchLine {
    Unfinished,
    Ended,
}

impl LongLines {
    /// None if the pattern cannot be compiled to an automaton.
    pub(crate) fn new(pattern: &str) -> Option<LongLines> {
        let syntax_config =
            syntax::Config::new().multi_line(true).utf8(false).nest_limit(MAX_NESTING);
        let nfa_config =
            thompson::Config::new().utf8(false).nfa_size_limit(Some(LARGE_COMPILED_BYTES));
        let parsed = syntax::parse_with(pattern, &syntax_config).ok()?;
        // A pattern with look-around depends on the bytes before, so no byte can be skipped.
        let looks_around = !parsed.properties().look_set().is_empty();
        let prefixes = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &parsed)
            .filter(|prefixes| !looks_around && prefixes.is_fast());
        // The automaton supports Unicode word boundaries in ASCII text only and gives up at other
        // bytes.
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

    /// Whether a line matches; none if the automaton gives up.
    ///
    /// Reads as much of `source` at a time as `buffer` holds. A NUL ends a line in a named file; in
    /// a walked file only matches in lines before the first NUL count.
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

    /// Where the next match can start, at or after `at`. The automaton's state does not change
    /// before.
    fn next_start(&self, piece: &[u8], at: usize) -> usize {
        let Some(prefixes) = &self.prefixes else { return at };
        // After this position a literal may continue in the next piece.
        let end = piece.len().saturating_sub(prefixes.max_needle_len().saturating_sub(1));
        let found = prefixes.find(piece, Span { start: at, end: piece.len() });
        found.map_or(end, |word| word.start.min(end)).max(at)
    }

    /// Takes one byte; none if the automaton gives up.
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

    /// Whether the line matches if it ends here.
    fn matches_at_end(&self, cache: &mut Cache, state: &LineState) -> Option<bool> {
        let from = match state {
            LineState::CannotMatch => return Some(false),
            LineState::Start => self.start(cache)?,
            LineState::Within(within) => *within,
        };
        self.automaton.next_eoi_state(cache, from).ok().map(|state| state.is_match())
    }
}

/// Whether a match in a walked file counts. It does not if a NUL is in its line. If one follows
/// soon after, the result depends on how ripgrep reads the file.
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
