//! The flags for the context of a call: its paths and its sandbox.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use eyelet::{MemoryLimit, SandboxPolicy, SearchEngine};

use super::value_parsers::one_of;

/// The heading of these flags in the help.
pub(crate) const CONTEXT_HEADING: &str = "Path and sandbox options";

/// The path and sandbox options.
///
/// Not clap's `global`, with which a `--root` after the command would silently replace one before it.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = CONTEXT_HEADING)]
pub(crate) struct ContextFlags {
    /// Run the tools in this directory [default: the current directory]
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,
    /// Let list_dir, find_files, grep_files and read access only this directory (a root); repeat to
    /// add roots [default: all files; for mcp: the client's roots, or else the working directory]
    #[arg(long = "root", value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) roots: Vec<PathBuf>,
    /// Let list_dir, find_files, grep_files and read access files outside the roots, except secrets
    #[arg(long)]
    pub(crate) read_anywhere: bool,
    /// Deny access to paths that match GLOB; without a slash, GLOB matches at any depth below each root;
    /// repeatable
    #[arg(long = "deny", value_name = "GLOB")]
    pub(crate) denied: Vec<String>,
    /// Search with ripgrep's libraries (embedded) or with the program rg [default: embedded]
    #[arg(long, value_name = "ENGINE", value_parser = one_of::<SearchEngine>(SearchEngine::NAMES))]
    pub(crate) search_engine: Option<SearchEngine>,
    /// Limit each file of saved bash output to N bytes, and all these files together to four times
    /// N [default: see `eyelet limits`]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) spill_bytes: Option<u64>,
    /// Set what commands may do: not run (off), only read (read-only), also write in the roots
    /// (workspace-write), or do anything (full) [default: full; for mcp: workspace-write]
    #[arg(long, value_name = "POLICY", value_parser = one_of::<SandboxPolicy>(SandboxPolicy::NAMES))]
    pub(crate) sandbox: Option<SandboxPolicy>,
    /// Let commands under the policy workspace-write also write to this directory; repeatable
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) writable: Vec<PathBuf>,
    /// Let sandboxed commands use the network
    #[arg(long)]
    pub(crate) network: bool,
    /// Let sandboxed commands connect only to HOST[:PORT], through an HTTP proxy; *.HOST means all
    /// subdomains of HOST, localhost:PORT means a port of this machine, and registries means well-known
    /// package registries and git hosts; repeatable
    #[arg(long = "allow-host", value_name = "HOST")]
    pub(crate) allowed_hosts: Vec<String>,
    /// Kill a command if its processes use more memory than SIZE, such as 4G or 50% [default: half of the
    /// memory of the machine or container]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemoryLimit>,
    /// Pass this environment variable to sandboxed commands; repeatable
    #[arg(long = "env", value_name = "NAME")]
    pub(crate) environment_names: Vec<OsString>,
    /// Let sandboxed commands read only system files and the roots; refuse to run them if the sandbox
    /// has a serious gap (see `eyelet doctor`)
    #[arg(long)]
    pub(crate) strict: bool,
    /// Use the sandbox without namespaces, as on machines that do not allow them
    #[arg(long, hide = true)]
    pub(crate) force_tier2: bool,
}

impl ContextFlags {
    /// Merges the flags before the command with those after it. Lists are joined; otherwise the later
    /// flag wins.
    pub(crate) fn with(&self, after: &ContextFlags) -> ContextFlags {
        ContextFlags {
            cwd: after.cwd.clone().or_else(|| self.cwd.clone()),
            roots: [self.roots.as_slice(), &after.roots].concat(),
            read_anywhere: self.read_anywhere || after.read_anywhere,
            denied: [self.denied.as_slice(), &after.denied].concat(),
            search_engine: after.search_engine.or(self.search_engine),
            spill_bytes: after.spill_bytes.or(self.spill_bytes),
            sandbox: after.sandbox.or(self.sandbox),
            writable: [self.writable.as_slice(), &after.writable].concat(),
            network: self.network || after.network,
            memory: after.memory.or(self.memory),
            allowed_hosts: [self.allowed_hosts.as_slice(), &after.allowed_hosts].concat(),
            environment_names: [self.environment_names.as_slice(), &after.environment_names]
                .concat(),
            strict: self.strict || after.strict,
            force_tier2: self.force_tier2 || after.force_tier2,
        }
    }
}
