//! `eyelet mcp`: runs the MCP server.

use std::env;
use std::fmt::Display;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf, absolute};
use std::process::ExitCode;
use std::sync::Arc;

use eyelet::{DenyList, OutputStore, PathScope, SandboxPolicy, ToolRouter};
use eyelet_mcp::{Options, Record, WorkingDirectory};

use crate::failure::Failure;
use crate::flags::{ContextFlags, McpFlags};
use crate::listen::Listener;
use crate::log::{self, LogForm};
use crate::{clients, config, context, print};

pub(crate) fn run(flags: &McpFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let form = match flags.http.address {
        Some(_) => LogForm::Text,
        None => LogForm::Off,
    };
    log::start(flags.log.unwrap_or(form));
    let mut context_flags = before.with(&flags.context);
    let listener = flags.http.address.map(|address| Listener::open(&flags.http, address));
    let listener = listener.transpose()?;
    let policy = context_flags.sandbox.unwrap_or(config::SERVER_POLICY);
    let router = router(&flags.tools, policy)?;
    let output_store = context::limited(OutputStore::session(context::temp_dir()), &context_flags);
    let turn = context::unconfined(&context_flags, policy)?;
    let roots: Vec<_> = context::roots(&context_flags)?.into_iter().map(Arc::new).collect();
    let default_root = match roots.is_empty() {
        true => context::default_root(turn.cwd()).map(Arc::new),
        false => None,
    };
    let root_paths: Vec<_> =
        roots.iter().chain(&default_root).map(|root| root.path().to_owned()).collect();
    let (absolute, relative): (Vec<_>, Vec<_>) =
        context_flags.denied.into_iter().partition(|glob| Path::new(glob).is_absolute());
    context_flags.denied = absolute;
    let deny_list = context::deny_list(&context_flags, &turn, &[])?;
    // Each session applies the relative globs to its roots. An invalid glob stops the start.
    for glob in &relative {
        let checked = DenyList::empty().with_glob(glob, &[turn.cwd()]);
        checked.map_err(|error| Failure::usage(error.message))?;
    }
    let mut turn = turn.with_deny_list(deny_list);
    // With the token, a command could open a session with other roots.
    let token_file = listener.as_ref().and_then(|listener| listener.token_file.as_deref());
    for file in token_file.into_iter().chain(flags.record.as_deref()) {
        let deny_list = turn.deny_list().clone().with_path(file);
        turn = turn.with_deny_list(deny_list);
    }
    let record = flags.record.as_deref().map(|file| open_record(file, &root_paths)).transpose()?;
    let mut options = Options::new(turn.with_output_store(Arc::new(output_store)));
    options.roots = roots;
    options.default_root = default_root;
    options.reply = flags.reply;
    options.reply_bytes = flags.reply_bytes;
    options.record = record;
    if context_flags.read_anywhere {
        options.path_scope = PathScope::Everything;
    }
    if context_flags.cwd.is_some() {
        options.working_directory = WorkingDirectory::Explicit;
    }
    options.relative_deny_globs = relative;
    let served = match listener {
        Some(listener) => {
            listener.explain();
            eyelet_mcp::serve_http(options, router, listener.http)
        }
        None => {
            if io::stdin().is_terminal() {
                print_hints(&options, &router);
            }
            eyelet_mcp::serve_stdio(options, router)
        }
    };
    served.map_err(|error| Failure::new(format!("the server failed: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the file of `--record`. Commands could change it if it were inside a root.
fn open_record(file: &Path, roots: &[PathBuf]) -> Result<Record, Failure> {
    let failed = |why: &dyn Display| {
        Failure::usage(format!("--record `{}`: cannot write to it: {why}", file.display()))
    };
    let path = absolute(file).map_err(|error| failed(&error))?;
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(failed(&"not a file"));
    };
    let folder = fs::canonicalize(folder).map_err(|error| failed(&error))?;
    let is_inside =
        |root: &&PathBuf| fs::canonicalize(root).is_ok_and(|root| folder.starts_with(root));
    if let Some(root) = roots.iter().find(is_inside) {
        let (file, root) = (file.display(), root.display());
        return Err(Failure::usage(format!(
            "--record `{file}`: commands could change it, because it is in the root `{root}`; use a file \
             outside the roots"
        )));
    }
    Record::open(folder.join(name)).map_err(|error| failed(&error))
}

/// The router with these tools, or all. Without `bash` if commands are disabled.
pub(crate) fn router(names: &[String], policy: SandboxPolicy) -> Result<ToolRouter, Failure> {
    let all: Vec<_> = ToolRouter::new().definitions().iter().map(|tool| tool.name).collect();
    if let Some(unknown) = names.iter().find(|name| !all.contains(&name.as_str())) {
        let known = all.join(", ");
        return Err(Failure::usage(format!(
            "--tools: unknown tool `{unknown}`; known tools: {known}"
        )));
    }
    let wanted =
        |name: &&str| names.is_empty() || names.iter().any(|one| owner(one) == owner(name));
    let allowed = |name: &&str| owner(name) != "bash" || policy != SandboxPolicy::Off;
    let offered: Vec<_> = all.into_iter().filter(wanted).filter(allowed).collect();
    if offered.is_empty() {
        return Err(Failure::usage(
            "no tools to offer: --sandbox off disables bash; add another tool to --tools",
        ));
    }
    Ok(ToolRouter::new().only(&offered))
}

/// `jobs` is offered whenever `bash` is.
fn owner(tool: &str) -> &str {
    if tool == "jobs" { "bash" } else { tool }
}

/// Tells a person at a terminal what the server does and how to connect a client.
fn print_hints(options: &Options, router: &ToolRouter) {
    let tools: Vec<_> = router.definitions().iter().map(|tool| tool.name).collect();
    print::note(&format!("eyelet serves {} over MCP on stdin and stdout.", tools.join(", ")));
    let roots = || options.roots.iter().chain(&options.default_root).map(|root| root.path());
    if options.path_scope == PathScope::Everything {
        print::note("The tools can access all files, except secrets and denied paths.");
    } else if roots().next().is_none() {
        print::note("No files are accessible; restart with --root DIR or in a project directory.");
    } else {
        let roots: Vec<_> = roots().map(|root| root.display().to_string()).collect();
        print::note(&format!("The tools can access files in {}.", roots.join(", ")));
    }
    print::note("Press Ctrl-D to stop the server.");
    // Variables that the client may lack become flags; the user's file applies again.
    let flags = config::variable_flags().map(|more| env::args_os().skip(1).chain(more));
    let entry = match flags.and_then(|flags| clients::generic_entry(flags, roots())) {
        Ok(entry) => entry,
        Err(failure) => return print::note(&failure.message),
    };
    print::note("To connect a client, add this entry to its config file:");
    print::json_note(&entry);
    let program = env::args_os().next().unwrap_or_else(|| "eyelet".into());
    let setup = format!("{} setup", program.to_string_lossy());
    print::note(&format!("Or run `{setup} CLIENT --write`; `{setup} --list` lists the clients."));
}
