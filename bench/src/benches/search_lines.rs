//! `grep_files` with lines, and `find_files`, compared with ripgrep, ugrep and fd.

use std::cmp::Reverse;

use eyelet::tools::{FindFiles, FindFilesArgs, Found, GrepFiles, GrepFilesArgs, Show};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use serde_json::json;

use crate::Result;
use crate::benches::search::{UGREP_LIKE_RG, modified, sorted_lines};
use crate::benches::{Setup, equal};
use crate::contender::{Contender, Side, command};
use crate::peers::{FD, RIPGREP, UGREP};
use crate::runner::{Check, Task, Unit};
use crate::target::Target;

const LINES: &str = "eyelet call grep_files, lines";
const SORTED: &str = "rg -n --sortr=modified";
const UNSORTED: &str = "rg -n";
const BY_UGREP: &str = "ugrep -n";
const FIND: &str = "eyelet call find_files";
const FILES: &str = "rg --files --sortr=modified -g";
const BY_FD: &str = "fd -e c";

const LIMIT: usize = 100;
const LINES_PER_FILE: usize = 20;

pub(super) fn tasks(setup: &Setup, corpus: &str) -> Result<Vec<Task>> {
    Ok(vec![
        lines_task("lines, rare pattern", setup, corpus, r"[A-Z]+_RESUME\(", 2.0, 1.0)?,
        lines_task("lines, common pattern, limit 100", setup, corpus, "include", 5.0, 2.0)?,
        find_task(setup, corpus)?,
    ])
}

fn lines_task(
    name: &str,
    setup: &Setup,
    corpus: &str,
    pattern: &'static str,
    sorted: f64,
    unsorted: f64,
) -> Result<Task> {
    let (rg, folder) = (setup.peers.required(&RIPGREP)?, corpus.to_owned());
    let check: Check = {
        let (rg, folder) = (rg.clone(), folder.clone());
        Box::new(move || same_lines(&rg, &folder, pattern))
    };
    let arguments = json!({ "pattern": pattern, "path": folder, "show": "lines" }).to_string();
    let ours = [&setup.eyelet, "call", "grep_files", &arguments];
    let peer = |name, more: &[&str]| {
        let words = [&[rg.as_str(), "-n"], more, &[pattern, &folder]].concat();
        Contender::process(name, Side::Peer, words)
    };
    let mut contenders = vec![
        Contender::process(LINES, Side::Ours, ours),
        peer(SORTED, &["--sortr=modified"]),
        peer(UNSORTED, &[]),
    ];
    contenders
        .extend(setup.peers.words(&UGREP).map(|ugrep| by_ugrep(ugrep, &rg, pattern, &folder)));
    Ok(Task {
        name: name.to_owned(),
        check,
        unit: Unit::Milliseconds,
        contenders,
        targets: vec![
            Target::Faster { than: SORTED, times: sorted },
            Target::Faster { than: UNSORTED, times: unsorted },
        ],
    })
}

fn by_ugrep(ugrep: &[String], rg: &str, pattern: &str, folder: &str) -> Contender {
    let words: Vec<String> = ugrep
        .iter()
        .map(String::as_str)
        .chain(["--recursive", "--line-number"])
        .chain(UGREP_LIKE_RG)
        .chain(["-e", pattern, folder])
        .map(str::to_owned)
        .collect();
    let (rg, asked) = ([rg, "-n", pattern, folder].map(str::to_owned), words.clone());
    let same = move || equal("the list of lines", &sorted_lines(&asked)?, &sorted_lines(&rg)?);
    Contender::process(BY_UGREP, Side::Peer, words).if_answers(same)
}

fn find_task(setup: &Setup, corpus: &str) -> Result<Task> {
    let (rg, folder) = (setup.peers.required(&RIPGREP)?, corpus.to_owned());
    let arguments = json!({ "pattern": "**/*.c", "path": folder }).to_string();
    let sorted = [&rg, "--files", "--sortr=modified", "-g", "**/*.c", &folder];
    let check: Check = {
        let (rg, folder) = (rg.clone(), folder.clone());
        Box::new(move || same_files(&rg, &folder))
    };
    let mut contenders = vec![
        Contender::process(FIND, Side::Ours, [&setup.eyelet, "call", "find_files", &arguments]),
        Contender::process(FILES, Side::Peer, sorted),
    ];
    contenders.extend(setup.peers.words(&FD).map(|fd| by_fd(fd, &rg, &folder)));
    Ok(Task {
        name: "find_files `**/*.c`, limit 100".to_owned(),
        check,
        unit: Unit::Milliseconds,
        contenders,
        targets: vec![
            Target::Faster { than: FILES, times: 2.0 },
            Target::Faster { than: BY_FD, times: 1.0 },
        ],
    })
}

fn by_fd(fd: &[String], rg: &str, folder: &str) -> Contender {
    let words: Vec<String> =
        fd.iter().cloned().chain(["-t", "f", "-e", "c", ".", folder].map(str::to_owned)).collect();
    let rg = [rg, "--files", "-g", "**/*.c", folder].map(str::to_owned);
    let asked = words.clone();
    let same = move || equal("the list of files", &sorted_lines(&asked)?, &sorted_lines(&rg)?);
    Contender::process(BY_FD, Side::Peer, words).if_answers(same)
}

pub(super) fn turn(folder: &str) -> Result<TurnContext> {
    let turn = TurnContext::new(folder, SandboxPolicy::Off).map_err(|error| error.to_string())?;
    Ok(turn.with_environment(std::env::vars_os().collect()))
}

/// What a program prints, as lines.
fn printed(words: &[&str], folder: &str) -> Result<Vec<String>> {
    let output = command(words)?.current_dir(folder).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{}: {}", words[0], output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

/// Compares the first page of lines with the output of `rg`, reduced to the first lines of each file.
fn same_lines(rg: &str, folder: &str, pattern: &str) -> Result<String> {
    let words = [rg, "-n", "--sortr=modified", "--no-heading", "--null", "--", pattern, folder];
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    for line in printed(&words, folder)? {
        let Some((path, rest)) = line.split_once('\0') else { continue };
        let number = rest.split_once(':').map_or("", |(number, _)| number).to_owned();
        match files.last_mut() {
            Some((last, numbers)) if last == path => numbers.push(number),
            _ => files.push((path.to_owned(), vec![number])),
        }
    }
    let total: usize = files.iter().map(|(_, numbers)| numbers.len()).sum();
    let mut dated = files
        .into_iter()
        .map(|(path, numbers)| Ok((Reverse(modified(&path)?), path, numbers)))
        .collect::<Result<Vec<_>>>()?;
    dated.sort();
    let expected: Vec<_> = dated
        .into_iter()
        .flat_map(|(_, path, numbers)| {
            let numbers = numbers.into_iter().take(LINES_PER_FILE);
            numbers.map(move |number| (path.clone(), number)).collect::<Vec<_>>()
        })
        .take(LIMIT)
        .collect();
    let args = GrepFilesArgs { show: Some(Show::Lines), ..GrepFilesArgs::new(pattern) };
    let report = GrepFiles.run(args, &turn(folder)?).map_err(|error| error.to_string())?;
    let Found::Lines(page) = report.found else { return Err("the report has no lines".into()) };
    let ours = page.files.iter().flat_map(|file| {
        file.matches.iter().map(|found| (file.path.clone(), found.line.to_string()))
    });
    equal("the list of lines", &ours.collect(), &expected)?;
    Ok(format!(
        "{total} lines match; the {} lines on the first page are those of rg",
        expected.len()
    ))
}

fn same_files(rg: &str, folder: &str) -> Result<String> {
    let mut dated = printed(&[rg, "--files", "-g", "**/*.c", folder], folder)?
        .into_iter()
        .map(|path| Ok((Reverse(modified(&path)?), path)))
        .collect::<Result<Vec<_>>>()?;
    dated.sort();
    let expected = dated.iter().take(LIMIT).map(|(_, path)| path.clone()).collect();
    let report = FindFiles.run(FindFilesArgs::new("**/*.c"), &turn(folder)?);
    let report = report.map_err(|error| error.to_string())?;
    equal("the list of files", &report.files, &expected)?;
    Ok(format!("{} files match; the first {LIMIT} are those of rg", dated.len()))
}
