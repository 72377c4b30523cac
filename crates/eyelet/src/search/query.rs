//! A compiled query: pattern and glob.

use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::Override;

use crate::cancel::StopCheck;
use crate::context::TurnContext;
use crate::error::ToolError;
use crate::paths::root::real_or_given;

use crate::search::ignore::rules;
use crate::search::long_lines::LongLines;
use crate::search::outcome::SearchFailure;
use crate::search::regex_limits::{
    LARGE_COMPILED_BYTES, MAX_CACHE_BYTES, MAX_COMPILED_BYTES, MAX_NESTING,
};

/// A pattern and a glob that compile.
pub(crate) struct Query {
    pub(crate) pattern: String,
    pub(crate) include: Option<String>,
    pub(crate) matcher: RegexMatcher,
    pub(crate) overrides: Override,
    /// The working directory with symlinks resolved: globs match paths below it.
    pub(crate) cwd: PathBuf,
    /// Compiled for the first line that needs it.
    long_lines: OnceLock<Option<LongLines>>,
}

/// Whether a pattern may match a NUL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NulPattern {
    /// For the lines of a file that is the search path, even if it is binary.
    Allowed,
    /// Binary files have no matches, so such a pattern is a mistake.
    Refused,
}

impl Query {
    /// Compiles the glob, then the pattern. Errors that ripgrep has too start with `rg failed: `.
    pub(crate) fn new(
        pattern: &str,
        include: Option<&str>,
        nul: NulPattern,
        turn: &TurnContext,
        stop_check: &StopCheck,
    ) -> Result<Query, SearchFailure> {
        let cwd = real_or_given(turn.cwd());
        let overrides = match include {
            Some(glob) => rules::compile_glob("include", glob, &cwd)?,
            None => Override::empty(),
        };
        let matcher = compile(pattern, nul, stop_check)?;
        let (pattern, include) = (pattern.to_owned(), include.map(str::to_owned));
        Ok(Query { pattern, include, matcher, overrides, cwd, long_lines: OnceLock::new() })
    }

    /// The pattern for lines that do not fit into memory, if there is one.
    pub(crate) fn long_lines(&self) -> Option<&LongLines> {
        self.long_lines.get_or_init(|| LongLines::new(&self.pattern)).as_ref()
    }
}

/// Compiling a large pattern can take a second and hundreds of megabytes, so one compiles at a time.
static LARGE_PATTERN: Mutex<()> = Mutex::new(());

/// Compiles a pattern as ripgrep does. Errors include ripgrep's own advice.
fn compile(
    pattern: &str,
    nul: NulPattern,
    stop_check: &StopCheck,
) -> Result<RegexMatcher, SearchFailure> {
    match compile_within(pattern, nul, LARGE_COMPILED_BYTES) {
        Ok(matcher) => return Ok(matcher),
        Err(error) if is_too_large(&error) => {}
        Err(error) => return Err(SearchFailure::Failed(describe(&error))),
    }
    let _one_at_a_time = stop_check.lock(&LARGE_PATTERN)?;
    let matcher = compile_within(pattern, nul, MAX_COMPILED_BYTES);
    stop_check.check()?;
    matcher.map_err(|error| SearchFailure::Failed(describe(&error)))
}

fn compile_within(
    pattern: &str,
    nul: NulPattern,
    bytes: usize,
) -> Result<RegexMatcher, grep_regex::Error> {
    RegexMatcherBuilder::new()
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .case_insensitive(false)
        .line_terminator(Some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte((nul == NulPattern::Refused).then_some(b'\0'))
        .size_limit(bytes)
        .dfa_size_limit(MAX_CACHE_BYTES)
        .nest_limit(MAX_NESTING)
        .build_many(&[pattern])
}

fn is_too_large(error: &grep_regex::Error) -> bool {
    error.to_string().contains("exceeds size limit")
}

fn describe(error: &grep_regex::Error) -> ToolError {
    if is_too_large(error) {
        return ToolError::invalid_input(format!(
            "pattern is too large: it exceeds {} MiB when compiled; use a simpler pattern, or \
             (?-u:\\w) instead of \\w if ASCII is enough",
            MAX_COMPILED_BYTES / (1024 * 1024)
        ));
    }
    let mut why = error.to_string();
    if why.contains("the literal") && why.contains("not allowed") {
        why.push_str(
            "\n\nConsider enabling multiline mode with the --multiline flag (or -U for short).\n\
             When multiline mode is enabled, new line characters can be matched.",
        );
    }
    if why.contains("pattern contains \"\\0\"") {
        why.push_str(
            "\n\nConsider enabling text mode with the --text flag (or -a for short). Otherwise,\n\
             binary detection is enabled and matching a NUL byte is impossible.",
        );
    }
    ToolError::invalid_input(format!("rg failed: {why}"))
}
