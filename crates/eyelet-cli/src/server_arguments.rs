//! Merges the arguments of an existing entry with new ones.

use clap::{Arg, ArgAction, Args as _, Command, Parser as _};

use crate::clients::Scope;
use crate::flags::{self, Cli, McpFlags};
use crate::lazy_args::LazyArgs;

/// The arguments with which a client starts the server.
#[derive(Debug)]
pub(crate) struct ServerArguments {
    pub(crate) words: Vec<String>,
    /// The old flags that were not kept.
    pub(crate) dropped: Vec<String>,
}

/// Whether `eyelet` starts its server on stdin and stdout with these arguments.
pub(crate) fn starts_server(arguments: &[String]) -> bool {
    let words = ["eyelet"].into_iter().chain(arguments.iter().map(String::as_str));
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(flags::Command::Mcp(LazyArgs(flags))) => flags.http.address.is_none(),
        Ok(_) | Err(_) => false,
    }
}

/// Keeps the old arguments, adds `--root` if it is missing, and then the new arguments. Anyone may have
/// written a project's file: of its flags, only those that narrow what the server may do are kept.
pub(crate) fn merge(
    old: &[String],
    scope: Scope,
    root: Option<&str>,
    new: &[String],
) -> ServerArguments {
    let mcp = McpFlags::augment_args(Command::new("mcp"));
    let start = Flag { name: "mcp".to_owned(), words: vec!["mcp".to_owned()] };
    let root = root.map(Flag::root);
    let new = parse(&mcp, new);
    let (mut kept, dropped) = if starts_server(old) {
        parse(&mcp, old).into_iter().partition(|flag| {
            let is_needed = *flag == start || Some(flag) == root.as_ref();
            scope == Scope::User || is_needed || flag.narrows() || new.contains(flag)
        })
    } else {
        let dropped = parse(&mcp, old).into_iter().filter(|flag| *flag != start);
        (vec![start.clone()], dropped.collect::<Vec<_>>())
    };
    // A new value replaces the old one, unless the flag is a list.
    kept.retain(|flag| {
        let is_given = new.iter().any(|new| new.name == flag.name);
        flag.is_list(&mcp) || !is_given || new.contains(flag)
    });
    if let Some(root) = root.filter(|root| !kept.contains(root)) {
        let after = kept.iter().position(|flag| *flag == start).map_or(0, |start| start + 1);
        kept.insert(after, root);
    }
    for flag in new {
        if !flag.is_known(&mcp) || !kept.contains(&flag) {
            kept.push(flag);
        }
    }
    ServerArguments {
        words: kept.into_iter().flat_map(|flag| flag.words).collect(),
        dropped: dropped.into_iter().map(|flag| flag.words.join(" ")).collect(),
    }
}

/// The arguments without one root.
pub(crate) fn without_root(words: &[String], root: &str) -> Vec<String> {
    let mcp = McpFlags::augment_args(Command::new("mcp"));
    let rest = parse(&mcp, words).into_iter().filter(|flag| *flag != Flag::root(root));
    rest.flat_map(|flag| flag.words).collect()
}

/// A flag with its value.
#[derive(Clone, Debug)]
struct Flag {
    /// With the dashes.
    name: String,
    words: Vec<String>,
}

/// `--flag value` and `--flag=value` are the same.
impl PartialEq for Flag {
    fn eq(&self, other: &Flag) -> bool {
        self.name == other.name && self.value() == other.value()
    }
}

fn parse(mcp: &Command, words: &[String]) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (name, value) = match word.split_once('=') {
            Some((name, _)) if name.starts_with("--") => (name, None),
            _ if known(mcp, word).is_some_and(|arg| arg.get_action().takes_values()) => {
                (word.as_str(), words.next())
            }
            _ => (word.as_str(), None),
        };
        let words = [word].into_iter().chain(value).cloned().collect();
        flags.push(Flag { name: name.to_owned(), words });
    }
    flags
}

fn known<'c>(mcp: &'c Command, name: &str) -> Option<&'c Arg> {
    mcp.get_arguments().find(|arg| arg.get_long() == name.strip_prefix("--"))
}

impl Flag {
    fn root(root: &str) -> Flag {
        Flag { name: "--root".to_owned(), words: vec!["--root".to_owned(), root.to_owned()] }
    }

    fn value(&self) -> Option<&str> {
        let after_equals = || self.words.first()?.split_once('=').map(|(_, value)| value);
        self.words.get(1).map(String::as_str).or_else(after_equals)
    }

    fn narrows(&self) -> bool {
        match self.name.as_str() {
            "--deny" | "--strict" | "--tools" | "--reply-bytes" | "--memory" => true,
            "--sandbox" => matches!(self.value(), Some("off" | "read-only")),
            _ => false,
        }
    }

    fn is_known(&self, mcp: &Command) -> bool {
        known(mcp, &self.name).is_some()
    }

    /// Whether the flag can be repeated to add values. A new list of tools replaces the old one.
    fn is_list(&self, mcp: &Command) -> bool {
        let is_list = |arg: &Arg| matches!(arg.get_action(), ArgAction::Append);
        self.name != "--tools" && known(mcp, &self.name).is_some_and(is_list)
    }
}

#[cfg(test)]
#[path = "server_arguments_tests.rs"]
mod tests;
