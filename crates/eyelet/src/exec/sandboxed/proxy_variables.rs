//! The environment variables that make programs use the proxy.

use std::ffi::OsString;
use std::net::SocketAddr;

/// The variables with the address of the proxy. Programs look for either case.
const PROXY: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NPM_CONFIG_PROXY",
    "npm_config_proxy",
    "NPM_CONFIG_HTTPS_PROXY",
    "npm_config_https_proxy",
];
/// The variables with the hosts that programs connect to directly.
const NO_PROXY: &[&str] = &["NO_PROXY", "no_proxy", "NPM_CONFIG_NOPROXY", "npm_config_noproxy"];
/// The session's own loopback.
const DIRECT: &str = "localhost,127.0.0.1,::1";
/// Makes Node.js use the proxy for `fetch`.
const NODE: &str = "NODE_USE_ENV_PROXY";

/// Replaces all proxy variables by those for the proxy of the session.
pub(super) fn set(environment: &mut Vec<(OsString, OsString)>, proxy: SocketAddr) {
    let all = || PROXY.iter().chain(NO_PROXY).chain([&NODE]);
    environment.retain(|(name, _)| !all().any(|one| name == one));
    let url = format!("http://{proxy}");
    let urls = PROXY.iter().map(|name| (*name, url.as_str()));
    let direct = NO_PROXY.iter().map(|name| (*name, DIRECT));
    let variables = urls.chain(direct).chain([(NODE, "1")]);
    environment.extend(variables.map(|(name, value)| (name.into(), value.into())));
}
