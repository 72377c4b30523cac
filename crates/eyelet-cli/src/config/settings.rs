//! The list of settings that variables and the user's file can set.

use std::any::TypeId;

use clap::{Arg, ArgAction};
use eyelet::{SandboxPolicy, SearchEngine};
use eyelet_mcp::ReplyForm;

/// A flag that lower layers can set as well: `spill-bytes`, `EYELET_SPILL_BYTES`, `spill_bytes`.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) flag: &'static str,
    pub(crate) merge: Merge,
    /// The default, in words.
    pub(crate) default: &'static str,
}

/// How the values of several layers combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// The highest layer that sets it wins.
    Highest,
    /// The lists are merged: a layer cannot remove what a lower one denies.
    All,
}

/// The sandbox policy of a server.
pub(crate) const SERVER_POLICY: SandboxPolicy = SandboxPolicy::WorkspaceWrite;

/// Everything that can be configured. Add a line here to make another flag configurable.
pub(crate) const SETTINGS: &[Setting] = &[
    Setting {
        flag: "root",
        merge: Merge::Highest,
        default: "the client's roots, or else the working directory",
    },
    Setting { flag: "read-anywhere", merge: Merge::Highest, default: "false" },
    Setting { flag: "deny", merge: Merge::All, default: "none" },
    Setting {
        flag: "search-engine",
        merge: Merge::Highest,
        default: SearchEngine::Embedded.as_str(),
    },
    Setting { flag: "spill-bytes", merge: Merge::Highest, default: "see `eyelet limits`" },
    Setting { flag: "sandbox", merge: Merge::Highest, default: SERVER_POLICY.as_str() },
    Setting { flag: "writable", merge: Merge::Highest, default: "none" },
    Setting { flag: "network", merge: Merge::Highest, default: "false" },
    Setting { flag: "allow-host", merge: Merge::Highest, default: "none" },
    Setting {
        flag: "memory",
        merge: Merge::Highest,
        default: "half of the memory of the machine or container",
    },
    Setting { flag: "env", merge: Merge::Highest, default: "none" },
    Setting { flag: "strict", merge: Merge::Highest, default: "false" },
    Setting { flag: "tools", merge: Merge::Highest, default: "all" },
    Setting { flag: "reply", merge: Merge::Highest, default: ReplyForm::Text.as_str() },
    Setting { flag: "reply-bytes", merge: Merge::Highest, default: "the client's limit" },
];

/// The commands to which the lower layers apply. For all others only the command line counts.
pub(super) const LAYERED: [&str; 2] = ["mcp", "config"];

impl Setting {
    pub(crate) fn key(&self) -> String {
        self.flag.replace('-', "_")
    }

    pub(crate) fn variable(&self) -> String {
        format!("EYELET_{}", self.key().to_uppercase())
    }

    /// What separates the items of a list in the variable.
    pub(crate) fn separator(&self) -> u8 {
        // A host may have a port.
        if self.flag == "allow-host" { b',' } else { b':' }
    }
}

/// The type of a flag's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Switch,
    Number,
    Text,
}

pub(crate) fn kind(arg: &Arg) -> Kind {
    if matches!(arg.get_action(), ArgAction::SetTrue) {
        return Kind::Switch;
    }
    let id = arg.get_value_parser().type_id();
    if id == TypeId::of::<u64>() || id == TypeId::of::<usize>() { Kind::Number } else { Kind::Text }
}

pub(crate) fn is_list(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append)
}
