//! The environment variables of sandboxed commands: an allow list, and names that are never passed.

use std::ffi::{OsStr, OsString};

use crate::environment::Environment;
use crate::exec::sandboxed::settings::SandboxSettings;
use crate::text::url_credentials::has_credentials;

/// Variables that sandboxed commands get, in addition to those that start with `LC_`.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    // Locations of toolchains.
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "ASDF_DATA_DIR",
    "ASDF_DIR",
    "BUN_INSTALL",
    "CARGO_HOME",
    "CONDA_PREFIX",
    "DENO_DIR",
    "DOTNET_ROOT",
    "FNM_DIR",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "JAVA_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "MISE_DATA_DIR",
    "NIX_PATH",
    "NIX_PROFILES",
    "NODE_PATH",
    "NVM_BIN",
    "NVM_DIR",
    "OPAMROOT",
    "PNPM_HOME",
    "POETRY_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "RBENV_ROOT",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "SDKMAN_DIR",
    "STACK_ROOT",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    // Certificates; no secrets.
    "NODE_EXTRA_CA_CERTS",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];

/// With network access: where packages come from, and how to check their servers. Not if the value contains
/// credentials.
const PACKAGE_SOURCES: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "CARGO_HTTP_TIMEOUT",
    "CARGO_NET_GIT_FETCH_WITH_CLI",
    "CARGO_NET_RETRY",
    "CARGO_REGISTRIES_CRATES_IO_PROTOCOL",
    "CARGO_REGISTRY_DEFAULT",
    "COREPACK_NPM_REGISTRY",
    "CURL_CA_BUNDLE",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GOINSECURE",
    "GONOPROXY",
    "GONOSUMDB",
    "GOPRIVATE",
    "GOPROXY",
    "GOSUMDB",
    "GOVCS",
    "NIX_SSL_CERT_FILE",
    "NPM_CONFIG_CAFILE",
    "NPM_CONFIG_REGISTRY",
    "NPM_CONFIG_STRICT_SSL",
    "PIP_CERT",
    "PIP_CONFIG_FILE",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_NO_INDEX",
    "PIP_TRUSTED_HOST",
    "REQUESTS_CA_BUNDLE",
    "RUSTUP_DIST_SERVER",
    "RUSTUP_UPDATE_ROOT",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_INDEX_URL",
    "YARN_NPM_REGISTRY_SERVER",
    "YARN_REGISTRY",
    "npm_config_cafile",
    "npm_config_registry",
    "npm_config_strict_ssl",
];

/// With the caller's network: its proxies. Not if the value contains credentials.
const PROXIES: &[&str] = &[
    "ALL_PROXY",
    "CARGO_HTTP_PROXY",
    "FTP_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NO_PROXY",
    "NPM_CONFIG_HTTPS_PROXY",
    "NPM_CONFIG_NOPROXY",
    "NPM_CONFIG_PROXY",
    "PIP_PROXY",
    "all_proxy",
    "ftp_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "npm_config_https_proxy",
    "npm_config_noproxy",
    "npm_config_proxy",
];

/// Variables that sandboxed commands never get, even if requested: with them, bash, the loader or the configuration of git run
/// code. The supervisor sets `TMPDIR`.
const NEVER: &[&str] = &["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "TMPDIR"];
const NEVER_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"];

/// Variables that sandboxed commands always get. The supervisor sets `TMPDIR`.
const ALWAYS: &[(&str, &str)] =
    &[("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The environment of a sandboxed command.
pub(crate) fn allowed(turn: &Environment, settings: &SandboxSettings) -> Vec<(OsString, OsString)> {
    let is_taken = |(name, value): &(&OsStr, &OsStr)| {
        let text = name.to_string_lossy();
        let is_requested = settings.environment_names.iter().any(|requested| requested == *name);
        let is_never = NEVER.contains(&text.as_ref())
            || NEVER_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        let is_allowed = text.starts_with("LC_") || ALLOWED.contains(&text.as_ref());
        let is_for_network =
            || is_for_network(&text, settings) && !has_credentials(&value.to_string_lossy());
        !is_never && (is_requested || is_allowed || is_for_network())
    };
    let own = |(name, _): &(&OsStr, &OsStr)| !ALWAYS.iter().any(|(always, _)| name == always);
    let taken = turn.iter().filter(is_taken).filter(own);
    let always = ALWAYS.iter().map(|(name, value)| (name.into(), value.into()));
    taken.map(|(name, value)| (name.to_owned(), value.to_owned())).chain(always).collect()
}

fn is_for_network(name: &str, settings: &SandboxSettings) -> bool {
    let is_index = name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX");
    let is_source = is_index || PACKAGE_SOURCES.contains(&name);
    (settings.has_network() && is_source)
        || (settings.has_callers_network() && PROXIES.contains(&name))
}
