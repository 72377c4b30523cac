//! The hosts that commands may connect to.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::sync::Arc;

use crate::error::ToolError;
use crate::exec::sandboxed::proxy::addresses::{AddressKind, Literal, kind, literal};
use crate::exec::sandboxed::proxy::registries::REGISTRIES;

/// The port of the proxy on the session's loopback. The system never gives it to a program that wants any port.
const PROXY_PORT: u16 = 61080;
/// How many ports of this machine can be forwarded: each has up to two sockets.
const MAX_FORWARDED: usize = 20;
/// How many hosts a description names.
const MAX_DESCRIBED: usize = 3;
/// The maximum length of a name in DNS.
const MAX_NAME_BYTES: usize = 253;

/// The word for [`REGISTRIES`].
const REGISTRIES_WORD: &str = "registries";

type Resolve = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The hosts that sandboxed commands may connect to, through a proxy in this process.
///
/// Each host is a name, a name with the prefix `*.` for all names below it, or an address, with an
/// optional port; without a port, every port is allowed. `registries` stands for [`REGISTRIES`].
/// `localhost:PORT`, or a loopback address with a port, lets commands connect to that port of this
/// machine: eyelet forwards connections from the session's own loopback interface.
///
/// eyelet refuses a name that resolves to a loopback, link-local or multicast address, unless that
/// address is listed, too. If only an entry with `*.` matches a name, eyelet also refuses private
/// addresses.
#[derive(Clone)]
pub struct AllowedHosts {
    rules: Vec<Rule>,
    /// The hosts as they were given.
    given: Vec<String>,
    resolve: Arc<Resolve>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    host: RuleHost,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum RuleHost {
    Name(String),
    /// All names that end with this suffix, which begins with a dot.
    Below(String),
    Address(IpAddr),
}

/// Why a connection was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Denial {
    /// No rule names the host and port.
    NotAllowed,
    /// The host is no valid name or address.
    Invalid,
    /// All its addresses are refused; this is one of them.
    Resolved(IpAddr),
    /// The look-up of the name failed.
    Unresolved(String),
}

impl AllowedHosts {
    /// Creates a list that allows only these hosts.
    ///
    /// # Errors
    /// Fails with `invalid_input` if one of the hosts is not valid.
    pub fn new<H: Into<String>>(hosts: impl IntoIterator<Item = H>) -> Result<Self, ToolError> {
        let given: Vec<String> = hosts.into_iter().map(Into::into).collect();
        let mut rules = Vec::new();
        for host in &given {
            match host.as_str() {
                REGISTRIES_WORD => rules.extend(parse_all(REGISTRIES.iter().copied())?),
                host => rules.extend(parse_all([host])?),
            }
        }
        AllowedHosts { rules, given, resolve: Arc::new(resolve) }.checked()
    }

    /// Adds hosts to those that the entry `registries` stands for. If the list has no entry
    /// `registries`, the added hosts are not allowed.
    ///
    /// # Errors
    /// Fails with `invalid_input` if one of the hosts is not valid.
    pub fn with_registries<H: AsRef<str>>(
        mut self,
        hosts: impl IntoIterator<Item = H>,
    ) -> Result<Self, ToolError> {
        if self.given.iter().any(|host| host == REGISTRIES_WORD) {
            let hosts: Vec<H> = hosts.into_iter().collect();
            self.rules.extend(parse_all(hosts.iter().map(AsRef::as_ref))?);
        }
        self.checked()
    }

    fn checked(self) -> Result<Self, ToolError> {
        if self.forwarded().len() > 2 * MAX_FORWARDED {
            let reason = format!("at most {MAX_FORWARDED} ports of this machine can be allowed");
            return Err(ToolError::invalid_input(reason));
        }
        Ok(self)
    }

    /// Looks up host names with `resolve` instead of the resolver of the system.
    #[must_use]
    pub fn with_resolver(
        mut self,
        resolve: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        self.resolve = Arc::new(resolve);
        self
    }

    /// The hosts as they were given, and how commands reach them: ports of this machine without the proxy.
    pub(crate) fn in_words(&self) -> String {
        let is_forwarded = |host: &&String| {
            Rule::parse(host).is_ok_and(|rules| rules.iter().all(Rule::is_this_machine))
        };
        let (ports, hosts): (Vec<_>, Vec<_>) = self.given.iter().partition(is_forwarded);
        match (first_few(&ports), first_few(&hosts)) {
            (None, None) => "no host".to_owned(),
            (Some(ports), None) => ports,
            (None, Some(hosts)) => format!("{hosts}, by HTTP proxy,"),
            (Some(ports), Some(hosts)) => format!("{ports} and, by HTTP proxy, to {hosts}"),
        }
    }

    /// The address of the proxy in the session's network.
    pub(crate) fn proxy_address(&self) -> SocketAddr {
        let forwarded = self.forwarded();
        let is_free = |port: &u16| forwarded.iter().all(|address| address.port() != *port);
        let port = (PROXY_PORT..=u16::MAX).find(is_free).unwrap_or(PROXY_PORT);
        (Ipv4Addr::LOCALHOST, port).into()
    }

    /// The addresses that are forwarded to the same address of this machine.
    pub(crate) fn forwarded(&self) -> Vec<SocketAddr> {
        let mut found = Vec::new();
        for rule in &self.rules {
            if let (RuleHost::Address(address), Some(port)) = (&rule.host, rule.port) {
                let address = SocketAddr::from((*address, port));
                if address.ip().is_loopback() && !found.contains(&address) {
                    found.push(address);
                }
            }
        }
        found
    }

    /// The addresses to connect to for a host that a command names. Names are looked up once, here.
    pub(super) fn addresses(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, Denial> {
        let named = match literal(host) {
            Some(Literal::Invalid) => return Err(Denial::Invalid),
            Some(Literal::Address(address)) => {
                return match self.allows_address(address, port) {
                    true => Ok(vec![(address, port).into()]),
                    false => Err(Denial::NotAllowed),
                };
            }
            None => name(host).ok_or(Denial::Invalid)?,
        };
        if is_localhost(&named) {
            let both = [IpAddr::from(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()];
            let named = both.into_iter().filter(|address| self.allows_address(*address, port));
            let named: Vec<_> = named.map(|address| (address, port).into()).collect();
            return if named.is_empty() { Err(Denial::NotAllowed) } else { Ok(named) };
        }
        let matching: Vec<_> = self.rules.iter().filter(|rule| rule.allows(&named, port)).collect();
        if matching.is_empty() {
            return Err(Denial::NotAllowed);
        }
        let is_exact = matching.iter().any(|rule| matches!(rule.host, RuleHost::Name(_)));
        let found = (self.resolve)(&named, port);
        let found = found.map_err(|error| Denial::Unresolved(error.to_string()))?;
        let first = found.first().map(SocketAddr::ip);
        let is_allowed = |address: &SocketAddr| match kind(address.ip()) {
            AddressKind::Public => true,
            AddressKind::Private if is_exact => true,
            AddressKind::Private | AddressKind::Special => {
                self.allows_address(address.ip().to_canonical(), port)
            }
        };
        // The port is the one that was checked, whatever the resolver says.
        let found = found.into_iter().map(|address| SocketAddr::new(address.ip(), port));
        let allowed: Vec<_> = found.filter(is_allowed).collect();
        match (allowed.is_empty(), first) {
            (false, _) => Ok(allowed),
            (true, Some(address)) => Err(Denial::Resolved(address)),
            (true, None) => Err(Denial::Unresolved("the name has no address".to_owned())),
        }
    }

    fn allows_address(&self, address: IpAddr, port: u16) -> bool {
        self.rules.iter().any(|rule| {
            rule.host == RuleHost::Address(address) && rule.port.is_none_or(|one| one == port)
        })
    }
}

/// The first few hosts, and how many more there are. None without hosts.
fn first_few(hosts: &[&String]) -> Option<String> {
    let shown: Vec<_> = hosts.iter().take(MAX_DESCRIBED).map(|host| host.as_str()).collect();
    let (last, others) = shown.split_last()?;
    Some(match (hosts.len() - shown.len(), others) {
        (0, []) => (*last).to_owned(),
        (0, others) => format!("{} and {last}", others.join(", ")),
        (more, _) => format!("{} and {more} more", shown.join(", ")),
    })
}

fn parse_all<'h>(hosts: impl IntoIterator<Item = &'h str>) -> Result<Vec<Rule>, ToolError> {
    let mut rules = Vec::new();
    for host in hosts {
        let invalid = |reason| ToolError::invalid_input(format!("invalid host `{host}`: {reason}"));
        rules.extend(Rule::parse(host).map_err(invalid)?);
    }
    Ok(rules)
}

impl fmt::Debug for AllowedHosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AllowedHosts").field(&self.given).finish()
    }
}

impl Rule {
    /// The rules for one host: two for `localhost`, which has two addresses.
    fn parse(text: &str) -> Result<Vec<Rule>, String> {
        let (host, port) = split_port(text)?;
        if host.eq_ignore_ascii_case(REGISTRIES_WORD) {
            return Err(format!("write `{REGISTRIES_WORD}` without a port"));
        }
        if let Some(suffix) = host.strip_prefix("*.") {
            let is_name = literal(suffix).is_none();
            let suffix = name(suffix).filter(|suffix| is_name && !is_localhost(suffix));
            let suffix = suffix.ok_or("expected a name after `*.`, such as *.example.com")?;
            return Ok(vec![Rule { host: RuleHost::Below(format!(".{suffix}")), port }]);
        }
        let addresses = match literal(host) {
            Some(Literal::Invalid) => return Err("expected a name or an IP address".to_owned()),
            Some(Literal::Address(address)) => vec![address],
            None => {
                let named = name(host).ok_or(
                    "expected HOST or HOST:PORT; HOST is a name such as example.com or *.example.com, or an IP \
                     address, not a URL",
                )?;
                if !is_localhost(&named) {
                    return Ok(vec![Rule { host: RuleHost::Name(named), port }]);
                }
                vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
            }
        };
        for address in &addresses {
            if address.is_unspecified() || address.is_multicast() {
                return Err("commands cannot connect to this address".to_owned());
            }
            if address.is_loopback() && port.is_none() {
                return Err(format!("an address of this machine requires a port: {text}:PORT"));
            }
        }
        let rule = |address| Rule { host: RuleHost::Address(address), port };
        Ok(addresses.into_iter().map(rule).collect())
    }

    fn is_this_machine(&self) -> bool {
        matches!(self.host, RuleHost::Address(address) if address.is_loopback())
    }

    fn allows(&self, named: &str, port: u16) -> bool {
        let is_host = match &self.host {
            RuleHost::Name(name) => name == named,
            RuleHost::Below(suffix) => named.len() > suffix.len() && named.ends_with(suffix),
            RuleHost::Address(_) => false,
        };
        is_host && self.port.is_none_or(|one| one == port)
    }
}

/// Splits `HOST:PORT`. IPv6 addresses with a port need brackets.
fn split_port(text: &str) -> Result<(&str, Option<u16>), String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port))
            if !port.contains('/') && (host.ends_with(']') || !host.contains(':')) =>
        {
            (host, port)
        }
        Some(_) | None => return Ok((text, None)),
    };
    let port = port.parse().ok().filter(|port| *port > 0);
    port.map(|port| (host, Some(port))).ok_or_else(|| "the port must be 1 to 65535".to_owned())
}

/// A name in lower case and without the final dot. None if it has characters that names do not have.
fn name(host: &str) -> Option<String> {
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_label =
        |label: &str| !label.is_empty() && label.len() <= 63 && label.bytes().all(is_letter);
    (host.len() <= MAX_NAME_BYTES && host.split('.').all(is_label)).then_some(host)
}

/// Whether the name stands for the machine itself, whatever a resolver says.
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

fn resolve(name: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    (name, port).to_socket_addrs().map(Iterator::collect)
}

#[cfg(test)]
#[path = "allowed_hosts_tests.rs"]
mod tests;
