//! The environment variables of sandboxed commands: an allow list, and names that are never passed.

use std::ffi::{OsStr, OsString};

use crate::environment::Environment;

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

/// Variables that sandboxed commands never get, even if requested: they cause code to run.
const NEVER: &[&str] = &["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "TMPDIR"];
const NEVER_PREFIXES: &[&str] = &["LD_", "DYLD_", "BASH_FUNC_", "GIT_CONFIG"];

/// Variables that sandboxed commands always get. The supervisor sets `TMPDIR`.
const ALWAYS: &[(&str, &str)] =
    &[("TERM", "dumb"), ("NO_COLOR", "1"), ("PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")];

/// The environment of a sandboxed command. `requested` names variables beyond the allow list.
pub(crate) fn allowed(turn: &Environment, requested: &[OsString]) -> Vec<(OsString, OsString)> {
    let is_taken = |name: &OsStr| {
        let text = name.to_string_lossy();
        let is_requested = requested.iter().any(|requested| requested == name);
        let is_never = NEVER.contains(&text.as_ref())
            || NEVER_PREFIXES.iter().any(|prefix| text.starts_with(prefix));
        !is_never && (is_requested || text.starts_with("LC_") || ALLOWED.contains(&text.as_ref()))
    };
    let own = |(name, _): &(&OsStr, &OsStr)| !ALWAYS.iter().any(|(always, _)| name == always);
    let taken = turn.iter().filter(|(name, _)| is_taken(name)).filter(own);
    let always = ALWAYS.iter().map(|(name, value)| (name.into(), value.into()));
    taken.map(|(name, value)| (name.to_owned(), value.to_owned())).chain(always).collect()
}
