//! `grep_files`: which files hold a pattern, newest first, beside ripgrep.

use std::cmp::Reverse;
use std::path::Path;

use eyelet::tools::{GrepFiles, GrepFilesArgs};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use serde_json::json;

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Surroundings, equal, stop, text};
use crate::contender::{Contender, Side, command};
use crate::race::{Check, Unit, Work};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "search",
    peers: &[],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "the peers are the `rg` 15.2.0 that `cargo xtask test` installs; they print every file that \
         matches, ours a page",
        "`rg --sortr` is single-threaded by design; `rg -l` has all cores and no order",
        "before anything is timed, the pages of every pattern of the list, at limits 1, 100 and 2000, \
         with and without a glob, are equal to what `rg --sortr` prints, cut; files of equal time in \
         order of their path, which rg leaves open",
        "`from cancel to answer` is how long a call through the library goes on that was cancelled after \
         100 ms; a deadline stops it in the same places",
    ],
    works,
};

const OURS: &str = "eyelet call grep_files";
const SORTED: &str = "rg -l --sortr=modified";
const UNSORTED: &str = "rg -l";

const NOWHERE: &str = "qqzz_nowhere_in_it";
const COMMON: &str = "include";
/// Slow to search for: an automaton of many states.
const COSTLY: &str = r"(?:\pL|\d|-){200}Q";

const LIMITS: [u64; 3] = [1, 100, 2000];
const GLOBS: [Option<&str>; 2] = [None, Some("*.[ch]")];

/// Patterns whose answers have to be equal.
const PATTERNS: &[&str] = &[
    // Nowhere.
    NOWHERE,
    "[0-9]{40}zz",
    "^\\s*qqzz",
    // Rare.
    "[A-Z]+_RESUME",
    "Torvalds <",
    "FIXME.*locking",
    "spinlock_init",
    "TODO\\(",
    // Common.
    COMMON,
    "mutex_lock",
    "return",
    "the",
    "struct [a-z_]+ \\{",
    "SPDX-License-Identifier",
    // Unicode.
    "ü",
    "[äöüß]",
    "\\p{Greek}",
    "µs",
    "\\bé\\w+",
    // Whatever the case.
    "(?i)copyright",
    "(?i)torvalds",
    "(?i)straße",
    // At an edge.
    "^#include <linux/module.h>$",
    "^$",
    "\\}$",
    "^static inline",
    "\\Aobj-",
    "endif\\z",
    // Alternations and classes.
    "kmalloc|kzalloc|vmalloc",
    "foo|bar|baz",
    "[[:xdigit:]]{16}",
    "\\d+\\.\\d+\\.\\d+",
    "\\w+_\\w+_\\w+_\\w+_lock",
    "[^\\x00-\\x7F]",
    // Short and long.
    "x",
    "Qz",
    ".",
    "\\s",
    "This program is free software; you can redistribute it and/or modify",
    "(foo|bar).*(baz|quux).*(one|two|three)",
];

fn works(surroundings: &Surroundings) -> Result<Vec<Work>> {
    let corpus = surroundings.corpus.as_ref().ok_or("no corpus")?;
    let corpus = text(corpus.path.canonicalize().map_err(|error| error.to_string())?)?;
    let project = text(surroundings.fixtures.project()?)?;
    let work = |name: &str, folder: &str, pattern: &str, limit, sorted, unsorted| {
        let (rg, folder) = (surroundings.rg.clone(), folder.to_owned());
        let check: Check = {
            let (rg, folder, pattern) = (rg.clone(), folder.clone(), pattern.to_owned());
            Box::new(move || Ok(format!("{} files", same(&rg, &folder, &pattern, None, &[limit])?)))
        };
        let arguments = json!({ "pattern": pattern, "path": folder, "limit": limit }).to_string();
        let ours = [&surroundings.eyelet, "call", "grep_files", &arguments];
        let peer = |name, more: &[&str]| {
            let words = [&[rg.as_str(), "-l"], more, &[pattern, &folder]].concat();
            Contender::process(name, Side::Peer, words).may_find_nothing()
        };
        Work {
            name: name.to_owned(),
            check,
            unit: Unit::Milliseconds,
            contenders: vec![
                Contender::process(OURS, Side::Ours, ours),
                peer(SORTED, &["--sortr=modified"]),
                peer(UNSORTED, &[]),
            ],
            targets: vec![
                Target::Faster { than: SORTED, times: sorted },
                Target::Faster { than: UNSORTED, times: unsorted },
                Target::MemoryOf { who: OURS, peer: SORTED },
                Target::MemoryOf { who: OURS, peer: UNSORTED },
            ],
        }
    };
    let mut first = work("full scan, no match", &corpus, NOWHERE, 100, 2.0, 1.0);
    first.check = {
        let (rg, corpus) = (surroundings.rg.clone(), corpus.clone());
        Box::new(move || all_the_same(&rg, &corpus))
    };
    Ok(vec![
        first,
        work("common pattern, limit 100", &corpus, COMMON, 100, 4.0, 1.7),
        work("common pattern, limit 2000", &corpus, COMMON, 2000, 2.4, 1.0),
        work("50 files, start included", &project, "ERROR", 100, 1.0, 1.0),
        work("50 files, no match, start included", &project, NOWHERE, 100, 1.0, 1.0),
        stop::work("stop, no match", Path::new(&corpus), NOWHERE),
        stop::work("stop, many automaton states", Path::new(&corpus), COSTLY),
        stop::work("stop, in one line of 1 GiB", &surroundings.fixtures.long_line()?, NOWHERE),
        stop::work("stop, both", &surroundings.fixtures.long_line()?, COSTLY),
    ])
}

/// Compares every pattern with every limit and glob. Says how many pages were equal.
fn all_the_same(rg: &str, corpus: &str) -> Result<String> {
    for pattern in PATTERNS {
        for glob in GLOBS {
            same(rg, corpus, pattern, glob, &LIMITS)?;
        }
    }
    let pages = PATTERNS.len() * GLOBS.len() * LIMITS.len();
    Ok(format!("{pages} pages of {} patterns as by rg", PATTERNS.len()))
}

/// That the pages are those that `rg` gives. Returns how many files match in all.
fn same(
    rg: &str,
    folder: &str,
    pattern: &str,
    glob: Option<&str>,
    limits: &[u64],
) -> Result<usize> {
    let expected = by_rg(rg, folder, pattern, glob)?;
    let turn = TurnContext::new(folder, SandboxPolicy::Off)
        .map_err(|error| error.to_string())?
        .with_environment(std::env::vars_os().collect());
    for limit in limits {
        let args = GrepFilesArgs {
            limit: Some(*limit),
            include: glob.map(str::to_owned),
            ..GrepFilesArgs::new(pattern)
        };
        let page = GrepFiles.run(args, &turn).map_err(|error| error.to_string())?.files;
        let cut = expected.iter().take(*limit as usize).cloned().collect();
        equal(&format!("the page of `{pattern}` with {glob:?}, limit {limit},"), &page, &cut)?;
    }
    Ok(expected.len())
}

fn by_rg(rg: &str, folder: &str, pattern: &str, glob: Option<&str>) -> Result<Vec<String>> {
    let mut words = vec![rg, "--files-with-matches", "--sortr=modified", "--no-messages"];
    words.extend(glob.iter().flat_map(|glob| ["--glob", glob]));
    words.extend(["--regexp", pattern, "--", folder]);
    let mut command = command(&words)?;
    let output = command.current_dir(folder).output().map_err(|error| error.to_string())?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("rg: {}", output.status));
    }
    let printed = String::from_utf8(output.stdout).map_err(|error| error.to_string())?;
    let mut files =
        printed.lines().map(|path| Ok((modified(path)?, path))).collect::<Result<Vec<_>>>()?;
    if !files.is_sorted_by_key(|(time, _)| Reverse(*time)) {
        return Err("rg does not list the newest first".into());
    }
    files.sort_by_key(|(time, path)| (Reverse(*time), *path));
    Ok(files.into_iter().map(|(_, path)| path.to_owned()).collect())
}

fn modified(path: &str) -> Result<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).map_err(|error| error.to_string())
}
