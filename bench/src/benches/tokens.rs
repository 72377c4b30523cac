//! The tokens of tool definitions and replies, compared with other MCP servers for the same trees and files.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use serde_json::json;
use tiktoken_rs::CoreBPE;

use crate::Result;
use crate::benches::mcp_servers::{self, EYELET, McpServer, definitions};
use crate::benches::{Setup, text};
use crate::contender::{Contender, Side};
use crate::options::io_error;
use crate::peers::{DESKTOP_COMMANDER, RUST_MCP_FILESYSTEM, SERVER_FILESYSTEM};
use crate::runner::{Task, Unit};
use crate::server::Call;
use crate::target::Target;

const LIST: &str = "eyelet mcp, list_dir";

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
        definitions_task(setup, &counter, &sources)?,
        list_task("list ten trees, default page size", setup, &counter, &trees, None)?,
        list_task("list ten trees, page size 1000", setup, &counter, &trees, Some(1000))?,
        read_task(setup, &counter, &sources)?,
    ])
}

/// What a server costs before the first call.
fn definitions_task(setup: &Setup, counter: &Counter, folder: &Path) -> Result<Task> {
    let servers = mcp_servers::all(setup, &text(folder.to_owned())?)?;
    let contender = |server: &McpServer| {
        let (server, counter) = (server.clone(), Rc::clone(counter));
        Contender::samples(server.name, server.side(), move || {
            let definitions = definitions(&mut server.start()?)?;
            let text = serde_json::to_string(&definitions).map_err(|error| error.to_string())?;
            Ok(vec![tokens(&counter, &text)])
        })
    };
    Ok(Task {
        name: "tool definitions".into(),
        check: Box::new(|| Ok("each server lists its tools".into())),
        unit: Unit::Count("tokens"),
        contenders: servers.iter().map(contender).collect(),
        targets: vec![],
    })
}

/// A tool that lists a tree.
struct Lister {
    name: &'static str,
    /// As in [`McpServer::name`].
    server: &'static str,
    tool: &'static str,
    entries: fn(&str) -> usize,
}

const LISTERS: [Lister; 6] = [
    Lister { name: LIST, server: EYELET, tool: "list_dir", entries: our_entries },
    Lister {
        name: "server-filesystem, list_directory",
        server: SERVER_FILESYSTEM.name,
        tool: "list_directory",
        entries: marked_lines,
    },
    Lister {
        name: "server-filesystem, directory_tree",
        server: SERVER_FILESYSTEM.name,
        tool: "directory_tree",
        entries: json_names,
    },
    Lister {
        name: "rust-mcp-filesystem, list_directory",
        server: RUST_MCP_FILESYSTEM.name,
        tool: "list_directory",
        entries: marked_lines,
    },
    Lister {
        name: "rust-mcp-filesystem, directory_tree",
        server: RUST_MCP_FILESYSTEM.name,
        tool: "directory_tree",
        entries: json_names,
    },
    Lister {
        name: "desktop-commander, list_directory",
        server: DESKTOP_COMMANDER.name,
        tool: "list_directory",
        entries: marked_lines,
    },
];

/// The reply has a header line, a line per entry, and a last line if there are more entries.
fn our_entries(text: &str) -> usize {
    let has_more = text.lines().last().is_some_and(|line| line.starts_with("More than "));
    text.lines().count() - 1 - usize::from(has_more)
}

fn marked_lines(text: &str) -> usize {
    text.lines().filter(|line| line.starts_with("[FILE]") || line.starts_with("[DIR]")).count()
}

fn json_names(text: &str) -> usize {
    text.matches("\"name\":").count()
}

fn list_task(
    name: &str,
    setup: &Setup,
    counter: &Counter,
    trees: &[String],
    limit: Option<u64>,
) -> Result<Task> {
    let mut contenders = Vec::new();
    let servers =
        trees.iter().map(|tree| mcp_servers::all(setup, tree)).collect::<Result<Vec<_>>>()?;
    for lister in LISTERS {
        let servers: Vec<_> = servers
            .iter()
            .zip(trees)
            .filter_map(|(servers, tree)| {
                let server = servers.iter().find(|server| server.name == lister.server)?;
                Some((server.clone(), tree.clone()))
            })
            .collect();
        let Some((first, _)) = servers.first() else { continue };
        let (counter, side) = (Rc::clone(counter), first.side());
        contenders.push(Contender::samples(lister.name, side, move || {
            let tokens_per_entry = |(server, tree): &(McpServer, String)| {
                let mut arguments = json!({ "path": tree });
                if let (Side::Ours, Some(limit)) = (side, limit) {
                    arguments["limit"] = json!(limit);
                }
                let call = Call { tool: lister.tool, arguments };
                let text = server.start()?.call(&call)?.1;
                let entries = (lister.entries)(&text);
                if entries == 0 {
                    return Err(format!("{tree}: no entries in `{text}`"));
                }
                Ok(tokens(&counter, &text) / entries as f64)
            };
            servers.iter().map(tokens_per_entry).collect()
        }));
    }
    let names: Vec<_> = trees.iter().filter_map(|tree| tree.rsplit('/').next()).collect();
    let checked = format!("each reply lists entries; the trees are {}", names.join(", "));
    Ok(Task {
        name: name.into(),
        check: Box::new(move || Ok(checked.clone())),
        unit: Unit::Count("tokens per entry"),
        contenders,
        targets: vec![Target::Within { who: LIST, most: 6.0 }],
    })
}

fn read_task(setup: &Setup, counter: &Counter, sources: &Path) -> Result<Task> {
    let mut files = Vec::new();
    find_sources(sources, &mut files)?;
    files.sort();
    let mut contenders = Vec::new();
    for server in mcp_servers::all(setup, &text(sources.to_owned())?)? {
        let calls: Vec<_> =
            files.iter().filter_map(|path| Some((path.clone(), server.read(path)?))).collect();
        if calls.is_empty() {
            continue;
        }
        let session = RefCell::new(server.start()?);
        let counter = Rc::clone(counter);
        contenders.push(Contender::samples(server.name, server.side(), move || {
            let overhead = |(path, call): &(String, Call)| {
                let (_, text) = session.borrow_mut().call(call)?;
                let raw = fs::read_to_string(path).map_err(io_error)?;
                let body = server.body(&text);
                // The reply budget may truncate the page before the end of the file.
                if body.is_empty() || !raw.starts_with(body) {
                    return Err(format!("the reply does not match the text of {path}"));
                }
                Ok(tokens(&counter, &text) / tokens(&counter, body))
            };
            calls.iter().map(overhead).collect()
        }));
    }
    let checked = format!("{} source files of eyelet; each reply matches the file", files.len());
    Ok(Task {
        name: "read source files larger than 2 KiB".into(),
        check: Box::new(move || Ok(checked.clone())),
        unit: Unit::Count("tokens in the reply per token in the file"),
        contenders,
        targets: vec![Target::Within { who: EYELET, most: 1.01 }],
    })
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
