//! What an answer costs a model, beside the reference server's for the same trees and files.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;
use tiktoken_rs::CoreBPE;

use crate::Result;
use crate::benches::calls::Servers;
use crate::benches::{Surroundings, text};
use crate::contender::{Contender, Side};
use crate::options::said;
use crate::race::{Check, Unit, Work};
use crate::server::{Call, Server};
use crate::target::Target;

const LIST: &str = "eyelet list_dir";
const READ: &str = "eyelet read";

/// The trees that are listed, the project's own among them.
const TREES: usize = 10;
/// A tree is worth listing from here on, and no peer can answer whole beyond.
const ENTRIES: std::ops::RangeInclusive<usize> = 50..=10_000;
/// Files are worth reading from here on.
const LEAST_BYTES: u64 = 2048;

type Counter = Rc<CoreBPE>;

pub(super) fn works(surroundings: &Surroundings) -> Result<Vec<Work>> {
    let counter: Counter = Rc::new(tiktoken_rs::o200k_base().map_err(|e| e.to_string())?);
    let trees = trees(surroundings)?;
    let sources = surroundings.project.join("crates");
    Ok(vec![
        list_work(
            "listing of ten trees, page of default size",
            surroundings,
            &counter,
            &trees,
            None,
        )?,
        list_work(
            "listing of ten trees, page of 1000",
            surroundings,
            &counter,
            &trees,
            Some(1000),
        )?,
        read_work(surroundings, &counter, &sources)?,
    ])
}

fn list_work(
    name: &str,
    surroundings: &Surroundings,
    counter: &Counter,
    trees: &[String],
    limit: Option<u64>,
) -> Result<Work> {
    let ours = |tree: &String| {
        let mut arguments = json!({ "dir_path": tree });
        if let Some(limit) = limit {
            arguments["limit"] = json!(limit);
        }
        Call { tool: "list_dir", arguments }
    };
    let lister = |name, side, call: &dyn Fn(&String) -> Call, entries: fn(&str) -> usize| {
        let jobs: Vec<_> = trees.iter().map(|tree| (tree.clone(), call(tree))).collect();
        let (counter, surroundings) = (Rc::clone(counter), surroundings.clone());
        Contender::samples(name, side, move || {
            let tokens_an_entry = |(tree, call): &(String, Call)| {
                let servers = Servers::of(&surroundings, tree)?;
                let words = if side == Side::Ours { &servers.ours } else { &servers.peer };
                let (_, text) = Server::start(words)?.call(call)?;
                let entries = entries(&text);
                if entries == 0 {
                    return Err(format!("{tree}: no entries in `{text}`"));
                }
                Ok(tokens(&counter, &text) / entries as f64)
            };
            jobs.iter().map(tokens_an_entry).collect()
        })
    };
    let peer = |tool| move |tree: &String| Call { tool, arguments: json!({ "path": tree }) };
    let names: Vec<_> = trees.iter().filter_map(|tree| tree.rsplit('/').next()).collect();
    let checked = format!("of {}", names.join(", "));
    Ok(Work {
        name: name.into(),
        check: Box::new(move || Ok(checked.clone())),
        unit: Unit::Count("tokens an entry"),
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

/// Below the first line stands an entry a line, and a last line where there are more.
fn our_entries(text: &str) -> usize {
    let has_more = text.lines().last().is_some_and(|line| line.starts_with("More than "));
    text.lines().count() - 1 - usize::from(has_more)
}

fn read_work(surroundings: &Surroundings, counter: &Counter, sources: &Path) -> Result<Work> {
    let mut files = Vec::new();
    find_sources(sources, &mut files)?;
    files.sort();
    let servers = Servers::of(surroundings, &text(sources.to_owned())?)?;
    let reader = |name, side, words: &[String], tool, body: fn(&str) -> &str| -> Result<_> {
        let server = RefCell::new(Server::start(words)?);
        let (files, counter) = (files.clone(), Rc::clone(counter));
        Ok(Contender::samples(name, side, move || {
            let percent_over = |path: &String| {
                let call = Call { tool, arguments: json!({ "path": path }) };
                let (_, text) = server.borrow_mut().call(&call)?;
                let raw = fs::read_to_string(path).map_err(said)?;
                let body = body(&text);
                // A client's budget may end a page before the file does.
                if body.is_empty() || !raw.starts_with(body) {
                    return Err(format!("{tool} of {path} does not show its text"));
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
    let checked = format!("{} source files of eyelet, each text as on disk", files.len());
    let check: Check = Box::new(move || Ok(checked.clone()));
    Ok(Work {
        name: "reading source files above 2 KiB".into(),
        check,
        unit: Unit::Count("% over the raw text"),
        contenders,
        targets: vec![Target::Within { who: READ, most: 1.0 }],
    })
}

fn below_header(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, body)| body)
}

fn tokens(counter: &CoreBPE, text: &str) -> f64 {
    counter.encode_ordinary(text).len() as f64
}

/// The project's own, and directories of the corpus, taken evenly from its list.
fn trees(surroundings: &Surroundings) -> Result<Vec<String>> {
    let corpus = surroundings.corpus.as_ref().ok_or("no corpus")?;
    let corpus = corpus.path.canonicalize().map_err(said)?;
    let mut found = Vec::new();
    for entry in fs::read_dir(corpus).map_err(said)? {
        let path = entry.map_err(said)?.path();
        if path.is_dir() && !is_hidden(&path) && ENTRIES.contains(&weigh(&path)?) {
            found.push(text(path)?);
        }
    }
    found.sort();
    let mut trees = vec![text(surroundings.project.join("crates"))?];
    let wanted = TREES - trees.len();
    if found.len() < wanted {
        return Err(format!("the corpus has {} trees of a fit size, not {wanted}", found.len()));
    }
    trees.extend((0..wanted).map(|number| found[number * found.len() / wanted].clone()));
    Ok(trees)
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// The entries below a directory; a link is one.
fn weigh(top: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in fs::read_dir(top).map_err(said)? {
        let entry = entry.map_err(said)?;
        count += 1;
        if entry.file_type().map_err(said)?.is_dir() {
            count += weigh(&entry.path())?;
        }
    }
    Ok(count)
}

fn find_sources(folder: &Path, found: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(said)? {
        let path: PathBuf = entry.map_err(said)?.path();
        if path.is_dir() {
            find_sources(&path, found)?;
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.metadata().map_err(said)?.len() > LEAST_BYTES
        {
            found.push(text(path)?);
        }
    }
    Ok(())
}
