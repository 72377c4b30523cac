//! Finds credentials in the addresses of registries and proxies.

/// Whether one of the addresses in `value` has a user name or a password. A token may be either.
pub(crate) fn has_credentials(value: &str) -> bool {
    value.split([' ', '\t', '\n', ',', '|', '"', '\'']).any(is_with_credentials)
}

fn is_with_credentials(address: &str) -> bool {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let (host, path) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    // A password may contain a slash, and then the host seems to have a strange port.
    let port = host.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.bytes().all(|byte| byte.is_ascii_digit()) || host.ends_with(']');
    host.contains('@') || (!is_port && path.contains('@'))
}

#[cfg(test)]
#[path = "url_credentials_tests.rs"]
mod tests;
