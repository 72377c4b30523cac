//! The names of the public enums' values.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use expect_test::expect;
use eyelet::tools::{EntryKind, Ignored, JobStatus, Keep, OnTimeout, Show};
use eyelet::{
    AttachmentMode, DefinitionFormat, ErrorCode, Load, PathScope, SandboxPolicy, SearchEngine,
    UnknownName,
};

/// The names, after a check that each value parses from what it displays, and the error of another
/// name.
fn names<T>(all: &[T], names: &[&str]) -> String
where
    T: FromStr<Err = UnknownName> + Display + Debug + PartialEq,
{
    assert_eq!(all.iter().map(ToString::to_string).collect::<Vec<_>>(), names);
    for (value, name) in all.iter().zip(names) {
        assert_eq!(name.parse::<T>().as_ref(), Ok(value));
    }
    let error = "a\nb".parse::<T>().unwrap_err();
    assert_eq!((error.given(), error.expected()), ("a\nb", names));
    format!("{error}\n")
}

#[test]
fn each_public_enum_parses_from_what_it_displays() {
    let errors = [
        names(SandboxPolicy::ALL, SandboxPolicy::NAMES),
        names(PathScope::ALL, PathScope::NAMES),
        names(SearchEngine::ALL, SearchEngine::NAMES),
        names(Keep::ALL, Keep::NAMES),
        names(Show::ALL, Show::NAMES),
        names(Ignored::ALL, Ignored::NAMES),
        names(EntryKind::ALL, EntryKind::NAMES),
        names(DefinitionFormat::ALL, DefinitionFormat::NAMES),
        names(AttachmentMode::ALL, AttachmentMode::NAMES),
        names(Load::ALL, Load::NAMES),
        names(OnTimeout::ALL, OnTimeout::NAMES),
        names(JobStatus::ALL, JobStatus::NAMES),
        names(ErrorCode::ALL, ErrorCode::NAMES),
    ];
    expect![[r#"
        unknown sandbox policy `a\nb`, expected one of off, read-only, workspace-write, full
        unknown path scope `a\nb`, expected one of everything, roots
        unknown search engine `a\nb`, expected one of embedded, rg
        unknown part of a stream `a\nb`, expected one of head, tail, both
        unknown result of a search `a\nb`, expected one of files, lines, count
        unknown treatment of ignored entries `a\nb`, expected one of show, skip
        unknown kind of entry `a\nb`, expected one of file, directory, symlink, other
        unknown definition format `a\nb`, expected one of mcp, openai, anthropic
        unknown attachment mode `a\nb`, expected one of inline, omit
        unknown kind of load `a\nb`, expected one of read, walk, command, wait
        unknown action at the time limit `a\nb`, expected one of kill, background
        unknown job status `a\nb`, expected one of running, exited, killed, timed out
        unknown error code `a\nb`, expected one of invalid_input, unknown_tool, not_found, permission_denied, outside_root, not_a_directory, not_a_file, too_large, timed_out, cancelled, search_failed, sandbox_unavailable, busy, io_error
    "#]].assert_eq(&errors.concat());
}
