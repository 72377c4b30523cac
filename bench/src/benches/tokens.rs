//! The tokens of a reply, compared with the reference server for the same trees and files.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;
use tiktoken_rs::CoreBPE;

use crate::Result;
use crate::benches::calls::Servers;
use crate::benches::{Setup, text};
use crate::contender::{Contender, Side};
use crate::options::io_error;
use crate::runner::{Check, Task, Unit};
use crate::server::{Call, Server};
use crate::target::Target;

const LIST: &str = "eyelet list_dir";
const READ: &str = "eyelet read";

/// The number of listed trees, including the sources of this project.
const TREES: usize = 10;
/// Smaller trees are not worth listing; the peers cannot list larger ones in one reply.
const ENTRIES: std::ops::RangeInclusive<usize> = 50..=10_000;
/// Smaller files are not worth reading.
const LEAST_BYTES: u64 = 2048;

type Counter = Rc<CoreBPE>;

pub(super) fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let counter: Counter = Rc::new(tiktoken_rs::o200k_base().map_err(|e| e.to_string())?);
    let trees = trees(setup)?;
    let sources = setup.project.join("crates");
    Ok(vec![
        list_task("list ten trees, default page size", setup, &counter, &trees, None)?,
        list_task("list ten trees, page size 1000", setup, &counter, &trees, Some(1000))?,
        read_task(setup, &counter, &sources)?,
    ])
}

fn list_task(
    name: &str,
    setup: &Setup,
    counter: &Counter,
    trees: &[String],
    limit: Option<u64>,
) -> Result<Task> {
    let ours = |tree: &String| {
        let mut arguments = json!({ "dir_path": tree });
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        Call { tool: "list_dir", arguments }
    };
    let lister = |name, side, call: &dyn Fn(&String) -> Call, entries: fn(&str) -> usize| {
        let jobs: Vec<_> = trees.iter().map(|tree| (tree.clone(), call(tree))).collect();
        let (counter, setup) = (Rc::clone(counter), setup.clone());
        Contender::samples(name, side, move || {
            let tokens_per_entry = |(tree, call): &(String, Call)| {
                let servers = Servers::new(&setup, tree)?;
                let words = if side == Side::Ours { &servers.ours } else { &servers.peer };
                let (_, text) = Server::start(words)?.call(call)?;
                let entries = entries(&text);
                if entries == 0 {
                    return Err(format!("{tree}: no entries in `{text}`"));
                }
                Ok(tokens(&counter, &text) / entries as f64)
            };
            jobs.iter().map(tokens_per_entry).collect()
        })
    };
    let peer = |tool| move |tree: &String| Call { tool, arguments: json!({ "path": tree }) };
    let names: Vec<_> = trees.iter().filter_map(|tree| tree.rsplit('/').next()).collect();
    let checked = format!("the trees are {}", names.join(", "));
    Ok(Task {
        name: name.into(),
        check: Box::new(move || Ok(checked.clone())),
        unit: Unit::Count("tokens per entry"),
        contenders: vec![
            lister(LIST, Side::Ours, &ours, our_entries),
            lister("list_directory", Side::Peer, &peer("list_directory"), |text| {
                text.lines().filter(|line| line.starts_with('[')).count()
            }),
            lister("directory_tree", Side::Peer, &peer("directory_tree"), |text| {
                text.matches("\"name\": ").count()
            }),
        ],
        targets: vec![Target::Within { who: LIST, most: 6.0 }],
    })
}

/// The reply has a header line, a line per entry, and a last line if there are more entries.
fn our_entries(text: &str) -> usize {
    let has_more = text.lines().last().is_some_and(|line| line.starts_with("More than "));
    text.lines().count() - 1 - usize::from(has_more)
}

fn read_task(setup: &Setup, counter: &Counter, sources: &Path) -> Result<Task> {
    let mut files = Vec::new();
    find_sources(sources, &mut files)?;
    files.sort();
    let servers = Servers::new(setup, &text(sources.to_owned())?)?;
    let reader = |name, side, words: &[String], tool, body: fn(&str) -> &str| -> Result<_> {
        let server = RefCell::new(Server::start(words)?);
        let (files, counter) = (files.clone(), Rc::clone(counter));
        Ok(Contender::samples(name, side, move || {
            let percent_over = |path: &String| {
                let call = Call { tool, arguments: json!({ "path": path }) };
                let (_, text) = server.borrow_mut().call(&call)?;
                let raw = fs::read_to_string(path).map_err(io_error)?;
                let body = body(&text);
                // The reply budget may truncate the page before the end of the file.
                if body.is_empty() || !raw.starts_with(body) {
                    return Err(format!("{tool}: the reply does not match the text of {path}"));
                }
                Ok((tokens(&counter, &text) / tokens(&counter, body) - 1.0) * 100.0)
            };
            files.iter().map(percent_over).collect()
        }))
    };
    let contenders = vec![
        reader(READ, Side::Ours, &servers.ours, "read", below_header)?,
        reader("read_text_file", Side::Peer, &servers.peer, "read_text_file", |text| text)?,
    ];
    let checked = format!("{} source files of eyelet; each reply matches the file", files.len());
    let check: Check = Box::new(move || Ok(checked.clone()));
    Ok(Task {
        name: "read source files larger than 2 KiB".into(),
        check,
        unit: Unit::Count("% more tokens than the raw text"),
        contenders,
        targets: vec![Target::Within { who: READ, most: 1.0 }],
    })
}

fn below_header(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, body)| body)
}

pub(super) fn tokens(counter: &CoreBPE, text: &str) -> f64 {
    counter.encode_ordinary(text).len() as f64
}

/// The sources of this project, and directories evenly spread over the corpus.
fn trees(setup: &Setup) -> Result<Vec<String>> {
    let corpus = setup.corpus.as_ref().ok_or("no corpus; use --corpus DIR")?;
    let corpus = corpus.path.canonicalize().map_err(io_error)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(corpus).map_err(io_error)? {
        let path = entry.map_err(io_error)?.path();
        if path.is_dir() && !is_hidden(&path) && ENTRIES.contains(&count_entries(&path)?) {
            found.push(text(path)?);
        }
    }
    found.sort();
    let mut trees = vec![text(setup.project.join("crates"))?];
    let wanted = TREES - trees.len();
    if found.len() < wanted {
        return Err(format!(
            "the corpus has {} trees of a suitable size, but {wanted} are required; use another --corpus",
            found.len()
        ));
    }
    trees.extend((0..wanted).map(|number| found[number * found.len() / wanted].clone()));
    Ok(trees)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Counts the entries below a directory without following symlinks.
fn count_entries(top: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(top).map_err(io_error)? {
        let entry = entry.map_err(io_error)?;
        count += 1;
        if entry.file_type().map_err(io_error)?.is_dir() {
            count += count_entries(&entry.path())?;
        }
    }
    Ok(count)
}

fn find_sources(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(io_error)? {
        let path: PathBuf = entry.map_err(io_error)?.path();
        if path.is_dir() {
            find_sources(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.metadata().map_err(io_error)?.len() > LEAST_BYTES
        {
            found.push(text(path)?);
        }
    }
    Ok(())
}
