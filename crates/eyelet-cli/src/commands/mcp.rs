//! `eyelet mcp`: runs the MCP server.

use std::env;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use eyelet::{OutputStore, PathScope, PrivateTemp, SandboxPolicy, ToolRouter};
use eyelet_mcp::{Options, Token, WorkingDirectory};

use crate::failure::Failure;
use crate::flags::{ContextFlags, HttpFlags, McpFlags};
use crate::{clients, config, context, print};

pub(crate) fn run(flags: &McpFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let context_flags = before.with(&flags.context);
    let policy = context_flags.sandbox.unwrap_or(SandboxPolicy::WorkspaceWrite);
    let router = router(flags, policy)?;
    let output_store =
        Arc::new(context::limited(OutputStore::session(context::temp_dir()), &context_flags));
    let turn = context::unconfined(&context_flags, policy, PrivateTemp::session)?;
    let mut roots: Vec<_> = context::roots(&context_flags)?.into_iter().map(Arc::new).collect();
    if roots.is_empty() {
        roots.extend(context::default_root(turn.cwd()).map(Arc::new));
    }
    let root_paths: Vec<_> = roots.iter().map(|root| root.path().to_owned()).collect();
    let turn = context::with_deny_list(&context_flags, turn, &root_paths)?;
    let options = Options {
        path_scope: if context_flags.read_anywhere {
            PathScope::Everything
        } else {
            PathScope::Roots
        },
        turn: turn.with_output_store(Arc::clone(&output_store)),
        output_store,
        roots,
        working_directory: match context_flags.cwd {
            Some(_) => WorkingDirectory::Explicit,
            None => WorkingDirectory::Inherited,
        },
        reply: flags.reply,
        reply_bytes: flags.reply_bytes,
    };
    let served = match flags.http.address {
        Some(address) => {
            let http = listen(&flags.http, address)?;
            eyelet_mcp::serve_http(options, router, http)
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

/// Opens the socket, and prints its address, the token and an entry for clients.
fn listen(flags: &HttpFlags, address: SocketAddr) -> Result<eyelet_mcp::Http, Failure> {
    if !address.ip().is_loopback() && !flags.allow_remote {
        return Err(Failure::usage(format!(
            "--http {address}: other machines can reach this address; use 127.0.0.1 or add --allow-remote"
        )));
    }
    let token = match &flags.token_file {
        Some(file) => Token::from_file(file).map_err(|error| {
            Failure::usage(format!("--http-token-file `{}`: {error}", file.display()))
        })?,
        None => Token::random()
            .map_err(|error| Failure::usage(format!("cannot generate a token: {error}")))?,
    };
    let listener = TcpListener::bind(address)
        .map_err(|error| Failure::usage(format!("--http {address}: {error}")))?;
    let http = eyelet_mcp::Http { listener, token, origins: flags.origins.clone() };
    let url = http.url().map_err(|error| Failure::usage(format!("--http: {error}")))?;
    print::note(&format!("eyelet serves MCP at {url}"));
    let entry = "Add this entry to the config file of a client that connects over HTTP";
    match &flags.token_file {
        None => {
            let token = http.token.reveal();
            print::note(&format!("Authorization: Bearer {token}"));
            print::note(&format!("{entry}:"));
            print::json_note(&clients::http_entry(&url, token));
        }
        Some(file) => {
            let file = file.display();
            print::note(&format!("{entry}, and replace TOKEN with the token in `{file}`:"));
            print::json_note(&clients::http_entry(&url, "TOKEN"));
        }
    }
    let origin = url.trim_end_matches("/mcp");
    print::note(&format!("Health check, without the token: {origin}/healthz"));
    print::note(&format!("Metrics, with the token: {origin}/metrics"));
    Ok(http)
}

/// The router with the tools that the flags select.
fn router(flags: &McpFlags, policy: SandboxPolicy) -> Result<ToolRouter, Failure> {
    let all: Vec<_> = ToolRouter::new().definitions().iter().map(|tool| tool.name).collect();
    if let Some(unknown) = flags.tools.iter().find(|name| !all.contains(&name.as_str())) {
        let known = all.join(", ");
        return Err(Failure::usage(format!(
            "--tools: unknown tool `{unknown}`; known tools: {known}"
        )));
    }
    let wanted = |name: &&str| flags.tools.is_empty() || flags.tools.iter().any(|one| one == name);
    let allowed = |name: &&str| *name != "bash" || policy != SandboxPolicy::Off;
    let offered: Vec<_> = all.into_iter().filter(wanted).filter(allowed).collect();
    if offered.is_empty() {
        return Err(Failure::usage(
            "no tools to offer: --sandbox off disables bash; add another tool to --tools",
        ));
    }
    Ok(ToolRouter::new().only(&offered))
}

/// Tells a person at a terminal what the server does and how to connect a client.
fn print_hints(options: &Options, router: &ToolRouter) {
    let tools: Vec<_> = router.definitions().iter().map(|tool| tool.name).collect();
    print::note(&format!("eyelet serves {} over MCP on stdin and stdout.", tools.join(", ")));
    let roots = || options.roots.iter().map(|root| root.path());
    if options.roots.is_empty() {
        print::note("No files are accessible; restart with --root DIR, or in a project.");
    } else {
        let roots: Vec<_> = roots().map(|root| root.display().to_string()).collect();
        print::note(&format!("It is confined to {}.", roots.join(", ")));
    }
    print::note("Press Ctrl-D to stop it.");
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
