//! `grep_files` and `find_files`, newest first, compared with ripgrep and fd.

use std::cmp::Reverse;
use std::path::Path;

use eyelet::tools::{GrepFiles, GrepFilesArgs};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use serde_json::json;

use crate::Result;
use crate::benches::{
    Bench, NeedsCorpus, Setup, cancel, equal, mcp_servers, search_lines, search_servers,
    search_tokens, text,
};
use crate::contender::{Contender, Side, command};
use crate::options::io_error;
use crate::peers::{
    DESKTOP_COMMANDER, FD, MCP_RIPGREP, RIPGREP, RUST_MCP_FILESYSTEM, SERVER_FILESYSTEM, UGREP,
};
use crate::runner::{Check, Task, Unit};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "search",
    programs: &["node"],
    peers: &[
        &RIPGREP,
        &FD,
        &UGREP,
        &SERVER_FILESYSTEM,
        &RUST_MCP_FILESYSTEM,
        &DESKTOP_COMMANDER,
        &MCP_RIPGREP,
    ],
    needs_corpus: NeedsCorpus::Yes,
    notes: &[
        "Tasks whose name begins with `files` list the files that match a pattern: \
         `qqzz_nowhere_in_it` (no match), `include` (common pattern), `[A-Z]+_RESUME` (rare \
         pattern), `[0-9a-f]{40}`, `\\p{Greek}`, `\\w{60,}` (long words), `(?i)torvalds` (word in \
         any case), `ERROR` (project of 50 files) or `acpi`. Tasks whose name begins with `lines` \
         list the lines that match `[A-Z]+_RESUME\\(` (rare pattern) or `include` (common \
         pattern).",
        "`rg` and `fd` are release builds from crates.io, and `ugrep` is from the package of \
         Debian. These programs print all matching files or lines; eyelet returns a page, newest \
         first.",
        "`rg --sortr` uses one thread by design. `rg -l` and `ugrep -l` use all cores and do not \
         sort.",
        "A flag makes `ugrep` skip directories named `tags`: an ignore rule of the corpus excludes \
         these directories, but `--ignore-files` of this `ugrep` version does not apply the rule.",
        "Before timing, the benchmark compares the pages for each test pattern with the output of \
         `rg --sortr`, at limits 1, 100 and 2000, with and without a glob. If files have the same \
         modification time, the benchmark sorts them by path, because rg does not define their \
         order.",
        "In the same way, the benchmark compares pages of lines and of `find_files` with the \
         output of `rg`. eyelet shows at most 20 matching lines of each file.",
        "In the task that counts tokens, each method must find all lines in the directory `kernel` \
         that use one of 20 functions. Each reply of eyelet has at most 20,000 bytes. `eyelet \
         grep_files, lines` requests all pages, and all lines of files with more than 20 matches. \
         `eyelet grep_files, then read` lists the matching files, and reads each file up to the \
         last match. `rg -n` prints all matching lines. Of the other MCP servers, only \
         `server-filesystem` cannot search contents; this server reads the matching files, as if \
         the model already knew their paths.",
        mcp_servers::NOTE,
        "The time of a search over MCP ends when all results have arrived. `desktop-commander` \
         searches in the background, so the client requests the results again and again until they \
         are complete. A model would pause between these requests, but the client does not. The \
         servers find lines that match `FIXME.*locking`, and files that match `**/*thermal*.h`.",
        "The time to stop a cancelled search begins when the benchmark cancels the search, and \
         ends when the library call returns. The benchmark cancels each search after 100 ms. The \
         slow pattern is `(?:\\pL|\\d|-){200}Q`; the other searches use `qqzz_nowhere_in_it`. A \
         deadline stops a search at the same points in the code as a cancel.",
    ],
    tasks,
};

const OURS: &str = "eyelet call grep_files";
const SORTED: &str = "rg -l --sortr=modified";
const UNSORTED: &str = "rg -l";
const BY_UGREP: &str = "ugrep -l";
/// Options for `ugrep` to search what `rg` searches: no symlinks, all text files, no ignored files.
pub(super) const UGREP_LIKE_RG: [&str; 4] =
    ["--no-dereference", "--text", "--ignore-files", "--exclude-dir=tags"];

const NOWHERE: &str = "qqzz_nowhere_in_it";
const COMMON: &str = "include";
/// A slow pattern: its automaton has many states.
const COSTLY: &str = r"(?:\pL|\d|-){200}Q";

const LIMITS: [u64; 3] = [1, 100, 2000];
const GLOBS: [Option<&str>; 2] = [None, Some("*.[ch]")];

/// Patterns whose pages must equal those of rg.
const PATTERNS: &[&str] = &[
    // No match.
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
    // Case-insensitive.
    "(?i)copyright",
    "(?i)torvalds",
    "(?i)straße",
    // Anchored.
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

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let corpus = setup.corpus.as_ref().ok_or("no corpus; use --corpus DIR")?;
    let corpus = text(corpus.path.canonicalize().map_err(|error| error.to_string())?)?;
    let project = text(setup.fixtures.project()?)?;
    let rg = setup.peers.required(&RIPGREP)?;
    let ugrep = setup.peers.words(&UGREP);
    let task = |name: &str, folder: &str, pattern: &str, limit, sorted, unsorted| {
        let (rg, folder) = (rg.clone(), folder.to_owned());
        let check: Check = {
            let (rg, folder, pattern) = (rg.clone(), folder.clone(), pattern.to_owned());
            Box::new(move || {
                Ok(format!(
                    "{} files match, as with rg",
                    same(&rg, &folder, &pattern, None, &[limit])?
                ))
            })
        };
        let arguments = json!({ "pattern": pattern, "path": folder, "limit": limit }).to_string();
        let ours = [&setup.eyelet, "call", "grep_files", &arguments];
        let peer = |name, more: &[&str]| {
            let words = [&[rg.as_str(), "-l"], more, &[pattern, &folder]].concat();
            Contender::process(name, Side::Peer, words).may_find_nothing()
        };
        let mut contenders = vec![
            Contender::process(OURS, Side::Ours, ours),
            peer(SORTED, &["--sortr=modified"]),
            peer(UNSORTED, &[]),
        ];
        contenders.extend(ugrep.map(|ugrep| by_ugrep(ugrep, &rg, pattern, &folder)));
        Task {
            name: name.to_owned(),
            check,
            unit: Unit::Milliseconds,
            contenders,
            targets: vec![
                Target::Faster { than: SORTED, times: sorted },
                Target::Faster { than: UNSORTED, times: unsorted },
                Target::MemoryOfPeer { who: OURS, peer: SORTED },
                Target::MemoryOfPeer { who: OURS, peer: UNSORTED },
            ],
        }
    };
    let mut first = task("files, no match", &corpus, NOWHERE, 100, 2.0, 1.0);
    first.check = {
        let (rg, corpus) = (rg.clone(), corpus.clone());
        Box::new(move || all_the_same(&rg, &corpus))
    };
    let mut tasks = vec![
        first,
        task("files, common pattern, limit 100", &corpus, COMMON, 100, 4.0, 1.7),
        task("files, common pattern, limit 2000", &corpus, COMMON, 2000, 2.4, 1.0),
        task("files, rare pattern", &corpus, "[A-Z]+_RESUME", 100, 1.0, 1.0),
        task("files, 40 hexadecimal digits", &corpus, "[0-9a-f]{40}", 100, 1.0, 1.0),
        task("files, Greek letters", &corpus, r"\p{Greek}", 100, 1.0, 1.0),
        task("files, long words", &corpus, r"\w{60,}", 100, 1.0, 1.0),
        task("files, word in any case", &corpus, "(?i)torvalds", 100, 1.0, 1.0),
        task("files, project of 50 files", &project, "ERROR", 100, 1.0, 1.0),
        task("files, project of 50 files, no match", &project, NOWHERE, 100, 1.0, 1.0),
        cancel::task(
            "time to stop a cancelled search, pattern without matches",
            Path::new(&corpus),
            NOWHERE,
        ),
        cancel::task("time to stop a cancelled search, slow pattern", Path::new(&corpus), COSTLY),
        cancel::task(
            "time to stop a cancelled search, one line of 1 GiB",
            &setup.fixtures.long_line()?,
            NOWHERE,
        ),
        cancel::task(
            "time to stop a cancelled search, slow pattern, one line of 1 GiB",
            &setup.fixtures.long_line()?,
            COSTLY,
        ),
    ];
    // Many files match, but fewer than a page has.
    let drivers = format!("{corpus}/drivers");
    if Path::new(&drivers).is_dir() {
        tasks.push(task("files, acpi in drivers, limit 2000", &drivers, "acpi", 2000, 1.0, 1.0));
    }
    tasks.extend(search_lines::tasks(setup, &corpus)?);
    tasks.extend(search_servers::tasks(setup, &corpus)?);
    tasks.push(search_tokens::task(setup, &corpus)?);
    Ok(tasks)
}

fn by_ugrep(ugrep: &[String], rg: &str, pattern: &str, folder: &str) -> Contender {
    let list = ["--recursive", "--files-with-matches"];
    let words: Vec<String> = ugrep
        .iter()
        .map(String::as_str)
        .chain(list)
        .chain(UGREP_LIKE_RG)
        .chain(["-e", pattern, folder])
        .map(str::to_owned)
        .collect();
    let (rg, asked) = ([rg, "-l", pattern, folder].map(str::to_owned), words.clone());
    let same = move || equal("the list of files", &sorted_lines(&asked)?, &sorted_lines(&rg)?);
    Contender::process(BY_UGREP, Side::Peer, words).may_find_nothing().if_answers(same)
}

/// The lines that a search prints, in an order that does not depend on its threads.
pub(super) fn sorted_lines(words: &[String]) -> Result<Vec<String>> {
    let output = command(words)?.output().map_err(io_error)?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(format!("{}: {}", words[0], output.status));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut lines: Vec<_> = printed.lines().map(str::to_owned).collect();
    lines.sort();
    Ok(lines)
}

/// Compares each pattern with each limit and glob. Returns the number of equal pages.
fn all_the_same(rg: &str, corpus: &str) -> Result<String> {
    for pattern in PATTERNS {
        for glob in GLOBS {
            same(rg, corpus, pattern, glob, &LIMITS)?;
        }
    }
    let pages = PATTERNS.len() * GLOBS.len() * LIMITS.len();
    Ok(format!("{pages} pages of {} patterns equal those of rg", PATTERNS.len()))
}

/// Checks that the pages equal those of `rg`. Returns the total number of matching files.
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
        equal(&format!("the page of `{pattern}`, glob {glob:?}, limit {limit}"), &page, &cut)?;
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
        return Err("rg does not print the newest file first".into());
    }
    files.sort_by_key(|(time, path)| (Reverse(*time), *path));
    Ok(files.into_iter().map(|(_, path)| path.to_owned()).collect())
}

pub(super) fn modified(path: &str) -> Result<std::time::SystemTime> {
    std::fs::metadata(path).and_then(|data| data.modified()).map_err(|error| error.to_string())
}
