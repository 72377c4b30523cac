//! `read`: a page and the exact number of lines, compared with `wc`.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use eyelet::tools::{Read, ReadArgs, ReadReport};
use eyelet::{SandboxPolicy, Tool as _, TurnContext};
use serde_json::json;

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Setup, equal};
use crate::contender::{Contender, Side, output};
use crate::fixtures::{GIBIBYTE, SPARSE_LINES, TEBIBYTE};
use crate::options::io_error;
use crate::runner::{Task, Unit};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "read",
    programs: &["wc"],
    peers: &[],
    needs_corpus: NeedsCorpus::No,
    notes: &[
        "`wc -l` counts lines, and each reply of `read` contains the number of lines in the file. \
         Therefore, both programs must read every byte once. eyelet does more work than `wc -l`: \
         it also returns a page of the file, up to 2,000 lines, or up to 500 characters if the \
         file is one long line.",
        "Columns count characters, so eyelet must decode the text before the column. The peer for \
         this work is `wc -m` in a UTF-8 locale, which counts characters.",
        "`wc -l` takes minutes on a sparse file of 1 TiB. Therefore, the peer for this file is `wc \
         -c`, which reads only the file size; its time is the cost of starting a process.",
    ],
    tasks,
};

const PROGRAM: &str = "eyelet call read";
const LINES: &str = "wc -l";
const CHARACTERS: &str = "wc -m";
const PAGE: usize = 2000;
const WINDOW: usize = 500;
const FAR_COLUMN: u64 = 900_000_000;
/// The memory limit of a read, whatever the size of the file.
const FLAT: Target = Target::Memory { who: PROGRAM, mebibytes: 16.0 };

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let log = utf8(&setup.fixtures.log()?)?;
    let line = utf8(&setup.fixtures.long_line()?)?;
    let sparse = utf8(&setup.fixtures.sparse("sparse-1t", TEBIBYTE)?)?;
    let small_sparse = utf8(&setup.fixtures.sparse("sparse-1g", GIBIBYTE)?)?;
    let eyelet = &setup.eyelet;
    let total = count(LINES, &log)?;

    let places = [("at the start", 1), ("in the middle", total / 2), ("at the end", total - 1999)];
    let mut tasks: Vec<Task> =
        places.into_iter().map(|(place, offset)| log_page(eyelet, &log, place, offset)).collect();
    tasks.push(Task {
        name: "one line of 1 GiB, column 1".into(),
        check: window_check(&line, 1),
        unit: Unit::Milliseconds,
        contenders: vec![ours(eyelet, &line, 1, 1), peer(LINES, &line)],
        targets: vec![Target::Faster { than: LINES, times: 1.0 }, FLAT],
    });
    tasks.push(Task {
        name: "one line of 1 GiB, column 900,000,000".into(),
        check: window_check(&line, FAR_COLUMN),
        unit: Unit::Milliseconds,
        contenders: vec![
            ours(eyelet, &line, 1, FAR_COLUMN),
            peer(CHARACTERS, &line),
            peer(LINES, &line),
        ],
        targets: vec![Target::Faster { than: CHARACTERS, times: 1.0 }, FLAT],
    });
    tasks.push(Task {
        name: "sparse file of 1 TiB".into(),
        check: sparse_check(&sparse, &small_sparse),
        unit: Unit::Milliseconds,
        contenders: vec![ours(eyelet, &sparse, 1, 1), peer("wc -c", &sparse)],
        targets: vec![Target::Within { who: PROGRAM, most: 10.0 }, FLAT],
    });
    Ok(tasks)
}

fn log_page(eyelet: &str, log: &str, place: &str, offset: u64) -> Task {
    let (path, program) = (log.to_owned(), eyelet.to_owned());
    let check = move || {
        let page = page(&path, offset, 1)?;
        equal("total_lines", &page.total_lines, &count(LINES, &path)?)?;
        equal("the page", &page.content, &lines_of(&path, offset)?)?;
        let arguments = arguments(&path, offset, 1);
        let printed = output(&[&program, "call", "read", &arguments])?;
        let answer: serde_json::Value =
            serde_json::from_slice(&printed).map_err(|error| error.to_string())?;
        equal("the program's page", &answer["data"]["content"], &json!(page.content))?;
        Ok(format!(
            "total_lines is {}, as with `wc -l`; the page equals that of a reference \
             implementation",
            page.total_lines
        ))
    };
    Task {
        name: format!("1 GiB of log lines, page {place}"),
        check: Box::new(check),
        unit: Unit::Milliseconds,
        contenders: vec![ours(eyelet, log, offset, 1), peer(LINES, log)],
        targets: vec![Target::Faster { than: LINES, times: 1.0 }, FLAT],
    }
}

/// Checks the number of lines, and the window against one decoded from the start.
fn window_check(path: &str, column: u64) -> crate::runner::Check {
    let path = path.to_owned();
    Box::new(move || {
        let page = page(&path, 1, column)?;
        equal("total_lines", &page.total_lines, &count(LINES, &path)?)?;
        equal("the window", &page.content, &window_of(&path, column)?)?;
        Ok(format!(
            "total_lines is {}, as with `wc -l`; the text equals that of a reference \
             implementation",
            page.total_lines
        ))
    })
}

/// `wc` takes too long on the large file, so a smaller one with the same layout is compared.
fn sparse_check(large: &str, small: &str) -> crate::runner::Check {
    let (large, small) = (large.to_owned(), small.to_owned());
    Box::new(move || {
        equal("total_lines of 1 GiB", &page(&small, 1, 1)?.total_lines, &count(LINES, &small)?)?;
        let written = 3 * SPARSE_LINES as u64;
        equal("total_lines", &page(&large, 1, 1)?.total_lines, &written)?;
        Ok(format!(
            "total_lines is {written}, the number of lines written; for a file of 1 GiB with the \
             same layout, total_lines is as with `wc -l`"
        ))
    })
}

fn ours(eyelet: &str, path: &str, offset: u64, column: u64) -> Contender {
    let arguments = arguments(path, offset, column);
    Contender::process(PROGRAM, Side::Ours, [eyelet, "call", "read", &arguments])
}

fn peer(command: &'static str, path: &str) -> Contender {
    Contender::process(command, Side::Peer, command.split(' ').chain([path]))
}

fn arguments(path: &str, offset: u64, column: u64) -> String {
    json!({ "path": path, "offset": offset, "column": column }).to_string()
}

fn page(path: &str, offset: u64, column: u64) -> Result<eyelet::tools::TextPage> {
    let turn = TurnContext::new("/", SandboxPolicy::Off).map_err(|error| error.to_string())?;
    let args = ReadArgs { offset: Some(offset), column: Some(column), ..ReadArgs::new(path) };
    match Read.run(args, &turn).map_err(|error| error.to_string())? {
        ReadReport::Text(page) => Ok(page),
        _ => Err("read returned no text for a text file".into()),
    }
}

fn count(command: &str, path: &str) -> Result<u64> {
    let words: Vec<&str> = command.split(' ').chain([path]).collect();
    let printed = String::from_utf8_lossy(&output(&words)?).into_owned();
    let number = printed.split_whitespace().next().and_then(|number| number.parse().ok());
    number.ok_or_else(|| format!("{command}: expected a number, got `{printed}`"))
}

/// The lines of a page, each truncated to the window, read from the start of the file.
fn lines_of(path: &str, offset: u64) -> Result<String> {
    let lines = BufReader::with_capacity(1 << 20, File::open(path).map_err(io_error)?).lines();
    let mut text = String::new();
    let skip = usize::try_from(offset - 1).unwrap_or(usize::MAX);
    for line in lines.skip(skip).take(PAGE) {
        text.extend(line.map_err(io_error)?.chars().take(WINDOW));
        text.push('\n');
    }
    Ok(text)
}

/// The window of the first line at a column, found by counting bytes that start a character.
fn window_of(path: &str, column: u64) -> Result<String> {
    let file = BufReader::with_capacity(1 << 20, File::open(path).map_err(io_error)?);
    let (mut before, mut window) = (0, Vec::new());
    for byte in file.bytes() {
        let byte = byte.map_err(io_error)?;
        before += u64::from(byte & 0xc0 != 0x80);
        if before >= column + WINDOW as u64 {
            break;
        }
        if before >= column {
            window.push(byte);
        }
    }
    // The reply includes the line ending even if the line is truncated.
    String::from_utf8(window).map(|window| window + "\n").map_err(|error| error.to_string())
}

fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).ok_or_else(|| "path is not UTF-8".into())
}
