//! `eyelet mcp`: the server for an agent.

use std::env;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use eyelet::{OutputStore, PathScope, PrivateTemp, Root, SandboxPolicy, ToolRouter};
use eyelet_mcp::{Options, Token, WorkingDirectory};

use crate::args::{Http, Mcp, Surroundings};
use crate::failure::{FAILED, Failure};
use crate::{show, turn};

pub(crate) fn run(command: &Mcp, before: &Surroundings) -> Result<ExitCode, Failure> {
    let surroundings = before.with(&command.surroundings);
    let policy = surroundings.sandbox.map_or(SandboxPolicy::WorkspaceWrite, Into::into);
    let router = router(command, policy)?;
    let spill = Arc::new(turn::limited(OutputStore::session(turn::temp_dir()), &surroundings));
    let turn = turn::unconfined(&surroundings, policy, PrivateTemp::session)?;
    let mut ceiling: Vec<_> = turn::roots(&surroundings)?.into_iter().map(Arc::new).collect();
    if ceiling.is_empty() {
        ceiling.extend(default_root(turn.cwd()).map(Arc::new));
    }
    let roots: Vec<_> = ceiling.iter().map(|root| root.path().to_owned()).collect();
    let turn = turn::with_hidden(&surroundings, turn, &roots)?;
    let options = Options {
        reach: if surroundings.read_anywhere { PathScope::Everything } else { PathScope::Roots },
        turn: turn.with_output_store(Arc::clone(&spill)),
        spill,
        ceiling,
        working_directory: match surroundings.cwd {
            Some(_) => WorkingDirectory::Asked,
            None => WorkingDirectory::Inherited,
        },
        reply: command.reply.into(),
        reply_bytes: command.reply_bytes,
    };
    let served = match command.http.address {
        Some(address) => {
            let http = listen(&command.http, address)?;
            eyelet_mcp::serve_http(options, router, http)
        }
        None => {
            if io::stdin().is_terminal() {
                tell_person(&options, &router);
            }
            eyelet_mcp::serve_stdio(options, router)
        }
    };
    served.map_err(|error| Failure {
        message: format!("the server cannot run: {error}"),
        exit: FAILED,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens the socket, and tells where it is and what a request has to bear.
fn listen(flags: &Http, address: SocketAddr) -> Result<eyelet_mcp::Http, Failure> {
    if !address.ip().is_loopback() && !flags.allow_remote {
        return Err(Failure::usage(format!(
            "--http {address} can be reached from other machines; use 127.0.0.1, or add --allow-remote"
        )));
    }
    let token = match &flags.token_file {
        Some(file) => Token::from_file(file).map_err(|error| {
            Failure::usage(format!("--http-token-file `{}`: {error}", file.display()))
        })?,
        None => Token::random()
            .map_err(|error| Failure::usage(format!("no token can be made: {error}")))?,
    };
    let listener = TcpListener::bind(address)
        .map_err(|error| Failure::usage(format!("--http {address}: {error}")))?;
    let http = eyelet_mcp::Http { listener, token, origins: flags.origins.clone() };
    let url = http.url().map_err(|error| Failure::usage(format!("--http: {error}")))?;
    show::note(&format!("eyelet serves MCP at {url}"));
    if flags.token_file.is_none() {
        show::note(&format!("Authorization: Bearer {}", http.token.reveal()));
    }
    Ok(http)
}

/// The tools that are offered.
fn router(command: &Mcp, policy: SandboxPolicy) -> Result<ToolRouter, Failure> {
    let all: Vec<_> = ToolRouter::new().definitions().iter().map(|tool| tool.name).collect();
    if let Some(unknown) = command.tools.iter().find(|name| !all.contains(&name.as_str())) {
        let known = all.join(", ");
        return Err(Failure::usage(format!("--tools names `{unknown}`; there are {known}")));
    }
    let wanted =
        |name: &&str| command.tools.is_empty() || command.tools.iter().any(|one| one == name);
    let allowed = |name: &&str| *name != "bash" || policy != SandboxPolicy::Off;
    let offered: Vec<_> = all.into_iter().filter(wanted).filter(allowed).collect();
    if offered.is_empty() {
        return Err(Failure::usage("no tool is left to offer; name another with --tools"));
    }
    Ok(ToolRouter::new().only(&offered))
}

/// The working directory, unless it says nothing about a project: desktop clients start servers in
/// `/` or at home.
fn default_root(cwd: &Path) -> Option<Root> {
    let real = fs::canonicalize(cwd).ok()?;
    let home = env::var_os("HOME").and_then(|home| fs::canonicalize(home).ok());
    if real == Path::new("/") || Some(&real) == home.as_ref() {
        return None;
    }
    Root::open(cwd).ok()
}

/// Someone who starts it by hand is told what it waits for.
fn tell_person(options: &Options, router: &ToolRouter) {
    let tools: Vec<_> = router.definitions().iter().map(|tool| tool.name).collect();
    show::note(&format!("eyelet serves {} over MCP on stdin and stdout", tools.join(", ")));
    let roots: Vec<_> =
        options.ceiling.iter().map(|root| root.path().display().to_string()).collect();
    if roots.is_empty() {
        show::note("no directory is reached: start it in a project, or with --root DIR");
    } else {
        show::note(&format!("confined to {}", roots.join(", ")));
    }
    let program = env::args_os().next().unwrap_or_else(|| "eyelet".into());
    let program = program.to_string_lossy();
    show::note(&format!(
        "connect a client: {program} setup CLIENT --write, one of {program} setup --list"
    ));
    show::note(
        "or in its config: {\"mcpServers\":{\"eyelet\":{\"command\":\"eyelet\",\"args\":[\"mcp\"]}}}",
    );
    show::note("it ends with the input: Ctrl-D");
}
