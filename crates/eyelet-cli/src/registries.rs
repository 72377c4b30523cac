//! The hosts that `--allow-host registries` stands for: well-known ones, and those that the user's own settings for
//! npm, pip, cargo and git name. Settings of projects do not count: anyone may have written them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use eyelet::REGISTRIES;
use toml_edit::{DocumentMut, Item};

use crate::home::Home;

/// All of them, each with its port.
pub(crate) fn all() -> Vec<String> {
    let mut hosts: Vec<String> = REGISTRIES.iter().map(ToString::to_string).collect();
    for host in of_user() {
        if !hosts.contains(&host) {
            hosts.push(host);
        }
    }
    hosts
}

/// The hosts in the user's variables and files.
pub(crate) fn of_user() -> Vec<String> {
    let mut urls: Vec<String> = env::vars()
        .filter(|(name, _)| is_registry_variable(name))
        .flat_map(|(_, value)| words(&value))
        .collect();
    if let Ok(home) = Home::find() {
        let read = |path: PathBuf| fs::read_to_string(path).unwrap_or_default();
        urls.extend(in_npmrc(&read(home.path.join(".npmrc"))));
        let pip = [home.config().join("pip/pip.conf"), home.path.join(".pip/pip.conf")];
        urls.extend(pip.into_iter().flat_map(|file| in_pip_conf(&read(file))));
        let cargo = home.or_variable("CARGO_HOME", ".cargo");
        let cargo = ["config.toml", "config"].map(|name| cargo.join(Path::new(name)));
        urls.extend(cargo.into_iter().flat_map(|file| in_cargo_config(&read(file))));
        let git = [home.path.join(".gitconfig"), home.config().join("git/config")];
        urls.extend(git.into_iter().flat_map(|file| in_git_config(&read(file))));
    }
    let mut hosts: Vec<String> = urls.iter().filter_map(|url| host(url)).collect();
    hosts.sort();
    hosts.dedup();
    hosts
}

fn is_registry_variable(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_cargo = name.starts_with("CARGO_REGISTRIES_") && name.ends_with("_INDEX");
    is_cargo
        || ["NPM_CONFIG_REGISTRY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "GOPROXY"]
            .contains(&name.as_str())
}

fn words(text: &str) -> Vec<String> {
    text.split([' ', ',', '|', '\n', '\t']).map(str::to_owned).collect()
}

/// `registry = URL`, `@scope:registry = URL`, `//host/path/:key = value`.
fn in_npmrc(text: &str) -> Vec<String> {
    let settings = text.lines().filter_map(|line| line.split_once('='));
    let urls = settings.filter_map(|(key, value)| {
        let (key, value) = (key.trim(), value.trim().trim_matches(['"', '\'']));
        match key.strip_prefix("//") {
            Some(rest) => Some(format!("https://{rest}")),
            None => (key == "registry" || key.ends_with(":registry")).then(|| value.to_owned()),
        }
    });
    urls.collect()
}

/// `index-url = URL`, `extra-index-url = URL URL`, `find-links = URL`, also over several indented lines.
fn in_pip_conf(text: &str) -> Vec<String> {
    let mut urls = Vec::new();
    let mut is_list = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with(['#', ';'])) {
        let value = match line.split_once('=') {
            _ if line.starts_with([' ', '\t']) => line,
            Some((key, value)) => {
                is_list = ["index-url", "extra-index-url", "find-links"].contains(&key.trim());
                value
            }
            None => continue,
        };
        if is_list {
            urls.extend(words(value));
        }
    }
    urls
}

/// `registries.NAME.index`, `source.NAME.registry`, `source.NAME.git`.
fn in_cargo_config(text: &str) -> Vec<String> {
    let Ok(document) = text.parse::<DocumentMut>() else { return Vec::new() };
    let values = |table: &str, key: &'static str| {
        let table = document.get(table).and_then(Item::as_table_like);
        let entries = table.into_iter().flat_map(|table| table.iter());
        let values = entries.filter_map(|(_, entry)| entry.get(key)?.as_str());
        values.map(str::to_owned).collect::<Vec<_>>()
    };
    [values("registries", "index"), values("source", "registry"), values("source", "git")].concat()
}

/// `[url "URL"]`, `[http "URL"]`, `[credential "URL"]`.
fn in_git_config(text: &str) -> Vec<String> {
    let sections = text.lines().filter_map(|line| {
        let (name, rest) = line.trim().strip_prefix('[')?.split_once('"')?;
        let is_meant = ["url", "http", "credential"].contains(&name.trim());
        is_meant.then(|| rest.split('"').next().map(str::to_owned))?
    });
    sections.collect()
}

/// The host and port of an HTTP URL, also one with a prefix such as `sparse+`.
fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.trim().split_once("://")?;
    let port = match scheme.rsplit('+').next()? {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next().filter(|host| !host.is_empty())?;
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| !port.contains(']'));
    let host = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    let host = host.to_ascii_lowercase();
    eyelet::AllowedHosts::new([host.as_str()]).is_ok().then_some(host)
}

#[cfg(test)]
#[path = "registries_tests.rs"]
mod tests;
