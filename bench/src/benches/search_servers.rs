//! Searches over MCP: `grep_files` with lines and `find_files`, compared with other MCP servers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

use crate::Result;
use crate::benches::mcp_servers::{self, McpServer};
use crate::benches::{Setup, equal};
use crate::contender::{Contender, output};
use crate::peers::RIPGREP;
use crate::runner::{Task, Unit};
use crate::server::Call;

/// Few lines match, so that each server can return all of them in one reply.
const PATTERN: &str = "FIXME.*locking";
const GLOB: &str = "**/*thermal*.h";

pub(super) fn tasks(setup: &Setup, corpus: &str) -> Result<Vec<Task>> {
    let servers = mcp_servers::all(setup, corpus)?;
    let rg = setup.peers.required(&RIPGREP)?;
    let printed = |words: &[&str]| -> Result<Vec<String>> {
        let printed = output(&[&["env", "-C", corpus, &rg], words].concat())?;
        Ok(String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect())
    };
    let lines: BTreeSet<_> = printed(&["-n", PATTERN])?
        .iter()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            Some((parts.next()?.to_owned(), parts.next()?.parse::<u64>().ok()?))
        })
        .collect();
    let files: BTreeSet<_> = printed(&["--files", "-g", GLOB])?.into_iter().collect();
    let checked = [
        format!("each measured server returns the {} lines that rg prints", lines.len()),
        format!("each measured server returns the {} paths that rg prints", files.len()),
    ];
    let (top, here) = (corpus.to_owned(), corpus.to_owned());
    let [lines_checked, files_checked] = checked;
    Ok(vec![
        task(
            "over MCP: lines, rare pattern",
            lines_checked,
            &servers,
            |server| server.search(PATTERN, corpus),
            move |server, replies| equal("the set of lines", &server.lines(replies, &top), &lines),
        )?,
        task(
            "over MCP: find files by name",
            files_checked,
            &servers,
            |server| Some(server.find(GLOB, corpus)),
            move |server, replies| equal("the set of files", &server.paths(replies, &here), &files),
        )?,
    ])
}

fn task(
    name: &str,
    checked: String,
    servers: &[McpServer],
    call: impl Fn(&McpServer) -> Option<Call>,
    same: impl Fn(&McpServer, &[String]) -> Result<()> + Clone + 'static,
) -> Result<Task> {
    let mut contenders = Vec::new();
    for server in servers {
        let Some(call) = call(server) else { continue };
        let (session, same, asked) =
            (Rc::new(RefCell::new(server.start()?)), same.clone(), call.clone());
        let (checked, server, asker) = (Rc::clone(&session), server.clone(), server.clone());
        let measure = move || {
            let start = Instant::now();
            server.ask(&mut session.borrow_mut(), &call)?;
            Ok(start.elapsed())
        };
        let contender = Contender::timed(asker.name, asker.side(), measure);
        contenders.push(
            contender
                .if_answers(move || same(&asker, &asker.ask(&mut checked.borrow_mut(), &asked)?)),
        );
    }
    Ok(Task {
        name: name.to_owned(),
        check: Box::new(move || Ok(checked.clone())),
        unit: Unit::Milliseconds,
        contenders,
        targets: vec![],
    })
}
