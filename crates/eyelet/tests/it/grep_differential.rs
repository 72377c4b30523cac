//! Both engines of `grep_files` against the real `rg`, on random repositories.

use std::path::Path;
use std::process::Command;
use std::time::SystemTime;

use eyelet::tools::{GrepFiles, GrepFilesArgs, GrepFilesReport, Show};
use eyelet::{Environment, Report as _, Root, SandboxPolicy, SearchEngine, Tool as _, TurnContext};
use testkit::{RandomQuery, RandomRepo, TempTree};

use crate::searching;

const REPOSITORIES: u64 = 100;
const QUERIES: usize = 4;

#[test]
fn both_engines_return_what_rg_returns() {
    each_query(REPOSITORIES, compare_query);
}

/// Calls `compare` for queries in random repositories, with the seed of each repository.
pub(crate) fn each_query(
    repositories: u64,
    compare: fn(seed: u64, repo: &RandomRepo, query: &RandomQuery),
) {
    let compare_all = |seed| {
        let mut repo = RandomRepo::new(seed);
        for _ in 0..QUERIES {
            let query = repo.query();
            let outcome = std::panic::catch_unwind(|| compare(seed, &repo, &query));
            if let Err(panic) = outcome {
                println!("{}", repo.describe());
                std::panic::resume_unwind(panic);
            }
        }
    };
    if let Ok(seed) = std::env::var("EYELET_TEST_SEED") {
        return compare_all(seed.parse().expect("EYELET_TEST_SEED is a number"));
    }
    let given = std::env::var("EYELET_TEST_ROUNDS").ok();
    let given: Option<u64> =
        given.map(|rounds| rounds.parse().expect("EYELET_TEST_ROUNDS is a number"));
    let first = given.map_or(0, |_| fastrand::u64(..u64::MAX / 2));
    let failed: Vec<u64> = (first..first + given.unwrap_or(repositories))
        .filter(|seed| std::panic::catch_unwind(|| compare_all(*seed)).is_err())
        .collect();
    assert!(failed.is_empty(), "repeat with EYELET_TEST_SEED set to one of {failed:?}");
}

fn compare_query(seed: u64, repo: &RandomRepo, query: &RandomQuery) {
    let context = format!("seed {seed}, {query:?}");
    let turn = turn(repo, query);
    let absolute = query.cwd.join(query.path.as_deref().unwrap_or_default());
    let absolute: std::path::PathBuf = absolute.components().collect();
    if !absolute.exists() {
        let message = answer(query, &turn).expect_err(&context);
        assert!(message.starts_with("unable to access `"), "{context}: {message}");
        return;
    }

    let real = real_rg(repo, query, &absolute, &[]);
    let engine = answer(query, &turn.clone().with_search_engine(SearchEngine::Rg));
    assert_eq!(engine, real.answer(), "rg engine, {context}");

    // rg memory-maps a file given as path, and then detects a NUL at another position.
    let real = real_rg(repo, query, &absolute, &["--no-mmap"]);
    let embedded = answer(query, &turn);
    let expected = if real.is_silent_failure() { Ok(real.files) } else { real.answer() };
    assert_eq!(embedded, expected, "embedded engine, {context}");
    if let Ok(files) = &embedded {
        // Small pages: once they are full, files are deferred.
        for (offset, limit) in [(1, 1), (1, 2), (2, 3), (5, 7)] {
            let Some(rest) = files.get(offset - 1..).filter(|rest| !rest.is_empty()) else { break };
            let page = page(query, &turn, offset, limit).map(|report| report.files);
            let expected = rest.iter().take(limit).cloned().collect();
            assert_eq!(page, Ok(expected), "{limit} from {offset}, {context}");
        }
    }

    if !repo.leaves_root() {
        let root = Root::open(repo.root()).expect("the tree is there");
        let inside = absolute.canonicalize().is_ok_and(|path| path.starts_with(repo.root()));
        if inside && absolute.starts_with(repo.root()) {
            let confined = answer(query, &turn.with_root(root));
            assert_eq!(confined, embedded, "confined, {context}");
        }
    }
}

pub(crate) fn turn(repo: &RandomRepo, query: &RandomQuery) -> TurnContext {
    let environment: Environment = environment(repo).into_iter().collect();
    TurnContext::new(&query.cwd, SandboxPolicy::Full)
        .expect("the path is absolute")
        .with_environment(environment)
}

pub(crate) fn environment(repo: &RandomRepo) -> [(&'static str, std::ffi::OsString); 2] {
    let folder = testkit::rg().parent().expect("it is a file").to_owned();
    let folder = folder.canonicalize().expect("it is there");
    [("HOME", repo.home().into()), ("PATH", folder.into())]
}

fn answer(query: &RandomQuery, turn: &TurnContext) -> Result<Vec<String>, String> {
    let report = page(query, turn, 1, 2000)?;
    assert_eq!(report.success(), !report.files.is_empty());
    Ok(report.files)
}

fn page(
    query: &RandomQuery,
    turn: &TurnContext,
    offset: usize,
    limit: usize,
) -> Result<GrepFilesReport, String> {
    let args = GrepFilesArgs {
        include: query.include.clone(),
        path: query.path.clone(),
        limit: Some(limit as u64),
        offset: Some(offset as u64),
        ..GrepFilesArgs::new(query.pattern.clone())
    };
    GrepFiles.run(args, turn).map_err(|error| error.message)
}

/// The result of the real program.
struct Real {
    code: Option<i32>,
    files: Vec<String>,
    complaint: String,
}

impl Real {
    fn is_silent_failure(&self) -> bool {
        self.code == Some(2) && self.complaint.is_empty()
    }

    fn answer(&self) -> Result<Vec<String>, String> {
        match self.code {
            Some(0 | 1) => Ok(self.files.clone()),
            _ if self.complaint.is_empty() => {
                Err("rg failed: some files could not be read".to_owned())
            }
            _ => Err(format!("rg failed: {}", self.complaint)),
        }
    }
}

fn real_rg(repo: &RandomRepo, query: &RandomQuery, path: &Path, more: &[&str]) -> Real {
    let mut command = Command::new(testkit::rg());
    command.args(["--files-with-matches", "--sortr=modified", "--regexp", &query.pattern]);
    command.arg("--no-messages").args(more);
    if let Some(include) = query.include.as_deref().map(str::trim) {
        command.args(["--glob", include]);
    }
    command.arg("--").arg(path).current_dir(&query.cwd);
    let output = command.env_clear().envs(environment(repo)).output().expect("rg runs");
    let lines = output.stdout.split(|byte| *byte == b'\n');
    let mut files: Vec<_> = lines
        .filter_map(|line| String::from_utf8(line.to_vec()).ok())
        .filter(|line| !line.is_empty())
        .map(|line| (std::cmp::Reverse(modified(&line)), line))
        .collect();
    assert!(files.is_sorted_by_key(|(time, _)| *time), "rg lists the newest first");
    files.sort();
    let complaint = String::from_utf8_lossy(&output.stderr);
    let complaint = complaint.trim().trim_start_matches("rg: ").to_owned();
    let files = files.into_iter().map(|(_, path)| path).collect();
    Real { code: output.status.code(), files, complaint }
}

pub(crate) fn modified(path: &str) -> SystemTime {
    std::fs::metadata(path).and_then(|data| data.modified()).expect("nobody removes it")
}

/// Lines of all lengths with a match and perhaps a NUL, near the positions at which eyelet or `rg`
/// stops reading. A new process searches each file, because the buffer of `rg` grows.
#[test]
fn both_engines_search_large_files_like_rg() {
    const NEEDLE: &[u8] = b" needle ";
    let tree = TempTree::new("");
    let turn = searching::turn(&tree);
    let mut random = fastrand::Rng::with_seed(7);
    let edges = [64, 192, 256, 320, 512, 576, 640, 1728].map(|kilobytes| kilobytes * 1024);
    for number in 0..120 {
        let size = edges[random.usize(..edges.len())] + random.usize(..100_000);
        let longest = [80, 5_000, 300_000, 700_000][random.usize(..4)];
        let mut text = vec![b'x'; size];
        let mut at = 0;
        while at < size {
            text[at] = b'\n';
            at += 1 + random.usize(..longest);
        }
        let near = |random: &mut fastrand::Rng| {
            let edge = edges[random.usize(..edges.len())] + random.usize(..40);
            edge.saturating_sub(20).min(size - NEEDLE.len())
        };
        let at = near(&mut random);
        text[at..at + NEEDLE.len()].copy_from_slice(NEEDLE);
        match random.usize(..4) {
            0 => text[near(&mut random)] = 0,
            1 => text[(at + random.usize(..70_000)).min(size - 1)] = 0,
            _ => {}
        }
        if random.usize(..8) == 0 {
            text[..3].copy_from_slice(b"\xef\xbb\xbf");
        }
        let folder = format!("{number}");
        tree.file(format!("{folder}/file"), &text);
        for pattern in [
            "needle",
            "(?i)NEEDLE|absent",
            r"\bneedle\b",
            "x needle x",
            r"x\z",
            "^(?:x+ needle )?x*$",
        ] {
            for show in Show::ALL {
                let search = |turn: &TurnContext| {
                    let (path, show) = (Some(folder.clone()), Some(*show));
                    let args = GrepFilesArgs { path, show, ..GrepFilesArgs::new(pattern) };
                    let report = GrepFiles.run(args, turn).unwrap();
                    (report.files, report.found)
                };
                let rg = turn.clone().with_search_engine(SearchEngine::Rg);
                assert_eq!(search(&turn), search(&rg), "file {number}, {pattern}, {show}");
            }
        }
        std::fs::remove_dir_all(tree.path().join(folder)).unwrap();
    }
}

/// More files than can be deferred, so eyelet searches them during the walk.
#[test]
fn both_engines_search_large_trees_like_rg() {
    let tree = TempTree::new("");
    let mut random = fastrand::Rng::with_seed(11);
    for number in 0..16_000 {
        let seconds = 1_000_000 + random.u64(..5_000);
        let words = [(2, "half\n"), (10, "tenth\n"), (100, "hundredth\n"), (2_000, "rare\n")];
        let has = |(count, word)| if random.u64(..count) == 0 { word } else { "" };
        let mut text: String = words.map(has).concat();
        text.push_str(if seconds < 1_001_000 { "old\n" } else { "not so\n" });
        text.push_str(if seconds > 1_004_000 { "new\n" } else { "not so\n" });
        let path = format!("{}/{number}", number % 150);
        tree.file(&path, text);
        tree.modified(&path, seconds);
    }
    let turn = searching::turn(&tree);
    let rg = turn.clone().with_search_engine(SearchEngine::Rg);
    for pattern in ["half", "tenth", "hundredth", "rare", "old", "new"] {
        for (offset, limit) in [(1, 1), (1, 100), (1, 2000), (700, 40)] {
            for show in Show::ALL {
                let search = |turn: &TurnContext| {
                    let (offset, limit, show) = (Some(offset), Some(limit), Some(*show));
                    let pattern = format!("{pattern}\\b");
                    let args = GrepFilesArgs { offset, limit, show, ..GrepFilesArgs::new(pattern) };
                    let report = GrepFiles.run(args, turn).map_err(|error| error.message)?;
                    Ok::<_, String>((report.files, report.found, report.next_offset))
                };
                assert_eq!(search(&turn), search(&rg), "{pattern}, {limit} from {offset}, {show}");
            }
        }
    }
}
