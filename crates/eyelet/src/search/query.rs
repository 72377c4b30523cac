//! A compiled query: pattern and glob.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use ignore::overrides::Override;

use crate::context::TurnContext;
use crate::error::ToolError;

use crate::search::ignore::rules;
use crate::search::long_lines::LongLines;
use crate::search::regex_limits::{MAX_CACHE_BYTES, MAX_COMPILED_BYTES, MAX_NESTING};

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

impl Query {
    /// Compiles the glob, then the pattern. Errors that ripgrep has too start with `rg failed: `.
    pub(crate) fn new(
        pattern: &str,
        include: Option<&str>,
        turn: &TurnContext,
    ) -> Result<Query, ToolError> {
        let cwd = real(turn.cwd());
        let overrides = rules::include(&cwd, include)?;
        let matcher = compile(pattern)?;
        let (pattern, include) = (pattern.to_owned(), include.map(str::to_owned));
        Ok(Query { pattern, include, matcher, overrides, cwd, long_lines: OnceLock::new() })
    }

    /// The pattern for lines that do not fit into memory, if there is one.
    pub(crate) fn long_lines(&self) -> Option<&LongLines> {
        self.long_lines.get_or_init(|| LongLines::new(&self.pattern)).as_ref()
    }
}

fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Compiles a pattern as ripgrep does. Errors include ripgrep's own advice.
fn compile(pattern: &str) -> Result<RegexMatcher, ToolError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .case_insensitive(false)
        .line_terminator(Some(b'\n'))
        .dot_matches_new_line(false)
        .ban_byte(Some(b'\0'))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_CACHE_BYTES)
        .nest_limit(MAX_NESTING);
    builder.build_many(&[pattern]).map_err(|error| {
        let mut why = error.to_string();
        // The limit is eyelet's, not ripgrep's.
        if why.contains("exceeds size limit") {
            return ToolError::invalid_input(format!(
                "pattern is too large: it exceeds {MAX_COMPILED_BYTES} bytes when compiled; use a \
                 simpler pattern"
            ));
        }
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
    })
}
