//! `eyelet mcp`: runs the MCP server.

use std::env;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;

use eyelet::{OutputStore, PathScope, SandboxPolicy, ToolRouter};
use eyelet_mcp::{Options, Token, WorkingDirectory};

use crate::failure::Failure;
use crate::flags::{ContextFlags, HttpFlags, McpFlags};
use crate::{clients, config, context, print};

pub(crate) fn run(flags: &McpFlags, before: &ContextFlags) -> Result<ExitCode, Failure> {
    let context_flags = before.with(&flags.context);
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
    let mut turn = context::with_deny_list(&context_flags, turn, &root_paths)?;
    if let Some(token_file) = &flags.http.token_file {
        // With the token, a command could open a session with other roots.
        let deny_list = turn.deny_list().clone().with_path(token_file);
        turn = turn.with_deny_list(deny_list);
    }
    let mut options = Options::new(turn.with_output_store(Arc::new(output_store)));
    options.roots = roots;
    options.default_root = default_root;
    options.reply = flags.reply;
    options.reply_bytes = flags.reply_bytes;
    if context_flags.read_anywhere {
        options.path_scope = PathScope::Everything;
    }
    if context_flags.cwd.is_some() {
        options.working_directory = WorkingDirectory::Explicit;
    }
    options.denied_globs = context_flags.denied;
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
    if let Some(host) = flags.hosts.iter().find(|host| !is_host_name(host)) {
        return Err(Failure::usage(format!("--http-host `{host}`: not a host name")));
    }
    let (origins, hosts) = (flags.origins.clone(), flags.hosts.clone());
    let http = eyelet_mcp::Http { listener, token, origins, hosts };
    let url = http.url().map_err(|error| Failure::usage(format!("--http: {error}")))?;
    print::note(&format!("eyelet serves MCP at {url}"));
    if !address.ip().is_loopback() {
        print::note(
            "Warning: the bearer token is sent without encryption; use a reverse proxy with TLS (docs/http.md).",
        );
    }
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

/// Whether this can be the name in a `Host` header. A port is ignored.
fn is_host_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
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
    if roots().next().is_none() {
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
