//! The socket and the token of `eyelet mcp --http`, and what it prints about them.

use std::io::{self, IsTerminal as _};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;

use eyelet_mcp::{Http, Token};

use crate::failure::Failure;
use crate::flags::HttpFlags;
use crate::{clients, home, print};

/// An open socket and its token.
pub(crate) struct Listener {
    pub(crate) http: Http,
    url: String,
    /// The file with the token, unless the terminal shows the token.
    pub(crate) token_file: Option<PathBuf>,
}

impl Listener {
    pub(crate) fn open(flags: &HttpFlags, address: SocketAddr) -> Result<Self, Failure> {
        if !address.ip().is_loopback() && !flags.allow_remote {
            return Err(Failure::usage(format!(
                "--http {address}: other machines can reach this address; use 127.0.0.1 or add --allow-remote"
            )));
        }
        if let Some(host) = flags.hosts.iter().find(|host| !is_host_name(host)) {
            return Err(Failure::usage(format!("--http-host `{host}`: not a host name")));
        }
        let failed = |error: io::Error| {
            Failure::usage(format!(
                "--http {address}: cannot listen: {error}; use another address or port"
            ))
        };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let (token, token_file) = token(flags, port)?;
        let (origins, hosts) = (flags.origins.clone(), flags.hosts.clone());
        let http = Http { listener, token, origins, hosts };
        let url = http.url().map_err(failed)?;
        Ok(Listener { http, url, token_file })
    }

    /// Prints the address, where the token is, and an entry for clients.
    pub(crate) fn explain(&self) {
        let url = &self.url;
        print::note(&format!("eyelet serves MCP at {url}"));
        if !self.http.listener.local_addr().is_ok_and(|address| address.ip().is_loopback()) {
            print::warning(
                "the bearer token is sent without encryption; use a reverse proxy with TLS (docs/http.md).",
            );
        }
        let entry = "Add this entry to the config file of a client that connects over HTTP";
        match &self.token_file {
            None => {
                let token = self.http.token.reveal();
                print::note(&format!("Authorization: Bearer {token}"));
                print::note(&format!("{entry}:"));
                print::json_note(&clients::http_entry(url, token));
            }
            Some(file) => {
                let file = file.display();
                print::note(&format!("{entry}, and replace TOKEN with the token in `{file}`:"));
                print::json_note(&clients::http_entry(url, "TOKEN"));
            }
        }
        let origin = url.trim_end_matches("/mcp");
        print::note(&format!("Health check, without the token: {origin}/healthz"));
        print::note(&format!("Metrics, with the token: {origin}/metrics"));
    }
}

/// The token, and the file that contains it. Only a terminal shows a new token: logs are kept and copied.
fn token(flags: &HttpFlags, port: u16) -> Result<(Token, Option<PathBuf>), Failure> {
    if let Some(file) = &flags.token_file {
        let token = Token::from_file(file).map_err(|error| {
            Failure::usage(format!("--http-token-file `{}`: {error}", file.display()))
        })?;
        return Ok((token, Some(file.clone())));
    }
    let token = Token::random()
        .map_err(|error| Failure::usage(format!("cannot generate a token: {error}")))?;
    if io::stderr().is_terminal() {
        return Ok((token, None));
    }
    let failed = |why: String| {
        Failure::usage(format!(
            "cannot write the token to a file: {why}; use --http-token-file FILE"
        ))
    };
    let folder = home::state_folder().ok_or_else(|| failed("no home directory".to_owned()))?;
    let file = folder.join("http-tokens").join(port.to_string());
    token.write_to(&file).map_err(|error| failed(format!("`{}`: {error}", file.display())))?;
    Ok((token, Some(file)))
}

/// Whether this can be the name in a `Host` header. A port is ignored.
fn is_host_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    !text.is_empty() && text.bytes().all(is_allowed)
}
