//! Names, rules, lines and patterns for random repositories.

/// Names of files and directories, the common ones first.
#[rustfmt::skip]
pub(crate) const NAMES: &[&str] = &[
    "a", "b", "ab", "abc", "foo", "bar", "src", "lib", "build", "target", "docs", "a.txt", "b.txt",
    "main.rs", "lib.rs", "x.c", "foo.rs", "foo.md", "Foo", "FOO.TXT", "x y", " lead", "trail ",
    "-dash", "--glob", "ünï", "日本", "né.txt", "end.", "end..", "a.b.c", "[ab]", "[x", "a*b", "a?b",
    "{x}", "{a,b}", "!bang", "#hash", "back\\slash", "~tilde", "w", "wx", "repo", ".hidden",
    ".hid.rs", ".dot.", "..two", "...", ".config", "node_modules",
];

/// Pieces of rules.
#[rustfmt::skip]
pub(crate) const GLOBS: &[&str] = &[
    "*", "**", "*.rs", "*.txt", "*.md", "a*", "*b", "?", "??", "a?b", "[ab]", "[!a]*", "[^b]*",
    "[a-c]", "[a", "a]", "[]a]", "[z-a]", "[[:alpha:]]", "{a,b}", "{a,b", "a}", "{a,{b,c}}", "{}",
    "{,a}", "**/foo", "foo/**", "a/**/b", "**/*.rs", "**/src/**", "src/*.rs", "a**b", "***", "a/**",
    "\\*", "\\[ab\\]", "\\a", "a\\", "\\#hash", "\\!bang", "foo\\ ", ".*", ".hidden", "*.", ".?*",
    "\u{e9}*", "日*", "ün?", "-*", "x y", "src/lib", "/", "//", "./a", "../a", "a//b", "w", "/w",
    "w/a", "repo/*", "~*", "*\\ ", "\u{feff}a",
];

/// Lines of files.
#[rustfmt::skip]
pub(crate) const LINES: &[&str] = &[
    "needle", "Needle", "a needle here", "needle\r", "nee", "dle", "", "   ", "foo", "bar=1",
    "fn main() {}", "näh", "Straße", "ΣΑΣ", "日本語", "x\ty", "end of needle", "123", "\u{feff}needle",
    "--pre=touch x",
];

/// Patterns to search for, some of them invalid.
#[rustfmt::skip]
pub const PATTERNS: &[&str] = &[
    "needle", "needle", "needle", "(?i)needle", "^needle$", "needle$", "^$", "^", "x*", "foo|bar",
    r"\bfoo\b", r"n.{2,4}e", "näh", "(?i)STRASSE", "(?i)σας", r"\p{Han}", r"\d+", r"[^a-z]", r"\s",
    r"a\nb", r"\n", r"needle\s", r"\Aneedle", r"needle\z", r"(?s).", r"(?-u)\xff", r"\x00",
    r"[\x00]", "(", "[a", "a{2", "a{2,1}", "*", r"\", r"\q", r"(?P<n>a)\1", "(?=a)",
    "--pre=touch x", "-f", "-", "a needle here", r"(?m)^a", r"\r", r"needle\r?$", "\u{feff}",
    "(?x) n e e", "[[:digit:]]", ".",
];

/// Globs to search with, some of them invalid.
#[rustfmt::skip]
pub const INCLUDES: &[&str] = &[
    "*.rs", "*.txt", "!*.rs", "!*.txt", "*", "**", "src/**", "/src", "a/*", "!a", "!src/",
    "**/*.rs", "*.{rs,md}", "{a,b}*", "[ab]*", "[", "{a", "a{", "\\", "#comment", "!", ".hidden",
    ".*", "foo", "foo/", "/w/**", "w", "*.zzz", "é*", "-x", " *.rs ", "!.*", "src", "a\\", "[!a]*",
];
