//! `grep_files` with `show` against the real `rg`, on random repositories, both engines.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::process::Command;

use eyelet::tools::{Found, GrepFiles, GrepFilesArgs, GrepFilesReport, Show};
use eyelet::{SearchEngine, Tool as _, TurnContext};
use testkit::{RandomQuery, RandomRepo};

use crate::grep_differential::{each_query, environment, modified, turn};

const REPOSITORIES: u64 = 50;
const LINES_PER_FILE: usize = 20;

/// A line that a search shows.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    path: String,
    number: u64,
    /// `:` for a match, `-` for context.
    kind: char,
    text: String,
}

/// The output of the real program: for each file, newest first, its lines without their separators.
struct Real {
    files: Vec<(String, Vec<String>)>,
    failed: bool,
}

fn absolute(query: &RandomQuery) -> PathBuf {
    query.cwd.join(query.path.as_deref().unwrap_or_default()).components().collect()
}

/// Runs `rg`, whose lines are a path, a NUL and something else.
fn real_rg(repo: &RandomRepo, query: &RandomQuery, path: &Path, more: &[&str]) -> Real {
    let mut command = Command::new(testkit::rg());
    command.args([
        "--with-filename",
        "--null",
        "--no-heading",
        "--sortr=modified",
        "--no-messages",
    ]);
    command.args(more).args(["--regexp", &query.pattern]);
    if let Some(include) = query.include.as_deref().map(str::trim) {
        command.args(["--glob", include]);
    }
    command.arg("--").arg(path).current_dir(&query.cwd);
    let output = command.env_clear().envs(environment(repo)).output().expect("rg runs");
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let Some(end) = line.iter().position(|byte| *byte == 0) else { continue };
        let Ok(path) = String::from_utf8(line[..end].to_vec()) else { continue };
        let rest = String::from_utf8_lossy(&line[end + 1..]).into_owned();
        match files.last_mut() {
            Some((last, lines)) if *last == path => lines.push(rest),
            _ => files.push((path, vec![rest])),
        }
    }
    files.sort_by_key(|(path, _)| (Reverse(modified(path)), path.clone()));
    Real { files, failed: output.status.code() == Some(2) }
}

fn parse(path: &str, text: &str) -> Line {
    let end = text.find([':', '-']).expect("a number comes first");
    let (number, text) = text.split_at(end);
    let (kind, text) = text.split_at(1);
    Line {
        path: path.to_owned(),
        number: number.parse().expect("a number comes first"),
        kind: kind.chars().next().unwrap(),
        text: text.to_owned(),
    }
}

fn search(
    query: &RandomQuery,
    turn: &TurnContext,
    show: Show,
    context: u64,
    (offset, limit): (u64, u64),
) -> Result<GrepFilesReport, String> {
    let args = GrepFilesArgs {
        include: query.include.clone(),
        path: query.path.clone(),
        limit: Some(limit),
        offset: Some(offset),
        show: Some(show),
        context: Some(context),
        ..GrepFilesArgs::new(query.pattern.clone())
    };
    GrepFiles.run(args, turn).map_err(|error| error.message)
}

/// The lines of a report, those of all files together.
fn lines(report: &GrepFilesReport) -> Vec<Line> {
    let Found::Lines(page) = &report.found else { panic!("not lines") };
    let mut all = Vec::new();
    for file in &page.files {
        for line in file.lines() {
            all.push(Line {
                path: file.path.clone(),
                number: line.number,
                kind: if line.column.is_some() { ':' } else { '-' },
                text: line.text.text.clone(),
            });
        }
    }
    all
}

/// All pages of `limit` matches.
fn pages(query: &RandomQuery, turn: &TurnContext, limit: u64) -> Result<Vec<Line>, String> {
    let (mut all, mut offset) = (Vec::new(), Some(1));
    while let Some(first) = offset {
        let report = search(query, turn, Show::Lines, 0, (first, limit))?;
        all.extend(lines(&report));
        offset = report.next_offset;
    }
    Ok(all)
}

/// Compares lines; of a long line only a part is shown.
fn assert_same(ours: &[Line], real: &[Line], context: &str) {
    let key = |line: &Line| (line.path.clone(), line.number, line.kind);
    let keys = |lines: &[Line]| lines.iter().map(key).collect::<Vec<_>>();
    assert_eq!(keys(ours), keys(real), "{context}");
    for (ours, real) in ours.iter().zip(real) {
        if real.text.chars().count() <= 200 {
            // rg ends the last line of a file with a line feed, so a `\r` before it looks like its ending.
            let text = |line: &Line| line.text.trim_end_matches('\r').to_owned();
            assert_eq!(text(ours), text(real), "{context}");
        } else {
            assert!(real.text.contains(&ours.text), "{context}");
            assert_eq!(ours.text.chars().count(), 200, "{context}");
        }
    }
}

fn engines(turn: &TurnContext) -> [(SearchEngine, TurnContext); 2] {
    [SearchEngine::Embedded, SearchEngine::Rg]
        .map(|engine| (engine, turn.clone().with_search_engine(engine)))
}

fn compare_lines(seed: u64, repo: &RandomRepo, query: &RandomQuery) {
    let path = absolute(query);
    if !path.exists() {
        return;
    }
    let is_file = path.is_file();
    let most = if is_file { usize::MAX } else { LINES_PER_FILE };
    let more: &[&str] = if is_file { &["--line-number", "--text"] } else { &["--line-number"] };
    let real = real_rg(repo, query, &path, more);
    let mut expected = Vec::new();
    for (path, lines) in &real.files {
        expected.extend(lines.iter().take(most).map(|line| parse(path, line)));
    }
    for (engine, turn) in engines(&turn(repo, query)) {
        let context = format!("seed {seed}, {query:?}, {engine:?}");
        // A named file with thousands of matches takes thousands of pages.
        let limits: &[u64] = if expected.len() > 300 { &[2000] } else { &[1, 7, 2000] };
        for limit in limits {
            match pages(query, &turn, *limit) {
                Ok(ours) => assert_same(&ours, &expected, &format!("{context}, limit {limit}")),
                Err(message) => {
                    assert!(real.failed, "{context}: {message}");
                }
            }
        }
    }
}

#[test]
fn both_engines_show_the_lines_that_rg_shows() {
    each_query(REPOSITORIES, compare_lines);
}

fn compare_context(seed: u64, repo: &RandomRepo, query: &RandomQuery) {
    let path = absolute(query);
    if !path.exists() {
        return;
    }
    let more: &[&str] = if path.is_file() { &["--text"] } else { &[] };
    let more = [more, &["--line-number", "--context=2"]].concat();
    let real = real_rg(repo, query, &path, &more);
    for (engine, turn) in engines(&turn(repo, query)) {
        let context = format!("seed {seed}, {query:?}, {engine:?}");
        let ours = match search(query, &turn, Show::Lines, 2, (1, 2000)) {
            Ok(report) => lines(&report),
            Err(message) => {
                assert!(real.failed, "{context}: {message}");
                continue;
            }
        };
        for (path, lines) in &real.files {
            let real: Vec<_> = lines.iter().map(|line| parse(path, line)).collect();
            // Beyond 20 matches eyelet shows less; how much rg shows before a NUL depends on the context.
            let matches = real.iter().filter(|line| line.kind == ':').count();
            let content = std::fs::read(path).unwrap_or_default();
            let is_utf16 = content.starts_with(b"\xff\xfe") || content.starts_with(b"\xfe\xff");
            if matches > LINES_PER_FILE || (content.contains(&0) && !is_utf16) {
                continue;
            }
            let ours: Vec<_> = ours.iter().filter(|line| line.path == *path).cloned().collect();
            assert_same(&ours, &real, &context);
        }
    }
}

#[test]
fn both_engines_show_the_context_that_rg_shows() {
    each_query(REPOSITORIES, compare_context);
}

fn compare_counts(seed: u64, repo: &RandomRepo, query: &RandomQuery) {
    let path = absolute(query);
    if !path.exists() {
        return;
    }
    for (engine, turn) in engines(&turn(repo, query)) {
        let context = format!("seed {seed}, {query:?}, {engine:?}");
        // rg memory-maps a file given as path, and then splits lines at a NUL in another way.
        let is_embedded = engine == SearchEngine::Embedded;
        let more: &[&str] = if is_embedded { &["--count", "--no-mmap"] } else { &["--count"] };
        let real = real_rg(repo, query, &path, more);
        let expected: Vec<(String, u64)> = real
            .files
            .iter()
            .map(|(path, lines)| (path.clone(), lines[0].parse().unwrap()))
            .collect();
        for limit in [1, 3, 2000] {
            let (mut all, mut offset) = (Vec::new(), Some(1));
            while let Some(first) = offset {
                let report = match search(query, &turn, Show::Count, 0, (first, limit)) {
                    Ok(report) => report,
                    Err(message) => {
                        assert!(real.failed, "{context}: {message}");
                        return;
                    }
                };
                let Found::Count(counts) = &report.found else { panic!("not counts") };
                all.extend(counts.iter().map(|count| (count.path.clone(), count.lines)));
                offset = report.next_offset;
            }
            assert_eq!(all, expected, "{context}, limit {limit}");
        }
    }
}

#[test]
fn both_engines_count_the_lines_that_rg_counts() {
    each_query(REPOSITORIES, compare_counts);
}
