//! Compares two versions of a git config: whether they differ only in settings that cannot start programs.
//!
//! Only sections of the kind that git itself writes are understood: `[remote "NAME"]` with `url` and `fetch`,
//! `[branch "NAME"]` with `remote`, `merge` and `rebase`, and `[user]` with `name` and `email`. Everything else has to be
//! the same in both versions.

use std::collections::BTreeSet;

/// Whether the only differences are harmless settings.
pub(super) fn differs_harmlessly(recorded: &[u8], now: &[u8]) -> bool {
    let (Some(recorded), Some(now)) = (Config::parse(recorded), Config::parse(now)) else {
        return false;
    };
    let (before, after) = (recorded.remotes(), now.remotes());
    let either = before.union(&after).copied().collect();
    let rest = now.without_harmless(&after);
    // Git takes the name of a missing remote for the path of a repository, and runs the hooks in it.
    let removed: Vec<_> = before.difference(&after).collect();
    let is_in_use = |line: &&str| {
        let value = line.split_once('=').map_or("", |(_, value)| value);
        removed.iter().any(|name| value.contains(**name))
    };
    rest == recorded.without_harmless(&either) && !rest.iter().any(is_in_use)
}

struct Config<'t> {
    /// The lines before the first section.
    start: Vec<&'t str>,
    sections: Vec<Section<'t>>,
}

struct Section<'t> {
    header: &'t str,
    lines: Vec<&'t str>,
}

impl<'t> Config<'t> {
    /// None if a line is not what it seems.
    fn parse(text: &'t [u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let is_odd = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
        // A line that ends with a backslash continues in the next one.
        if text.contains(is_odd) || text.split('\n').any(|line| line.ends_with('\\')) {
            return None;
        }
        let mut config = Config { start: Vec::new(), sections: Vec::new() };
        for line in text.lines() {
            match config.sections.last_mut() {
                _ if line.trim_start().starts_with('[') => {
                    config.sections.push(Section { header: line, lines: Vec::new() });
                }
                Some(section) => section.lines.push(line),
                None => config.start.push(line),
            }
        }
        Some(config)
    }

    /// The names of the remotes that have an address.
    fn remotes(&self) -> BTreeSet<&'t str> {
        let has_url = |section: &&Section<'t>| {
            section.settings().any(|(key, value)| key == "url" && !value.is_empty())
        };
        let with_url = self.sections.iter().filter(has_url);
        with_url.filter_map(|section| section.name("remote")).collect()
    }

    /// The lines of all sections that may start programs.
    fn without_harmless(&self, remotes: &BTreeSet<&str>) -> Vec<&'t str> {
        let mut rest = self.start.clone();
        for section in self.sections.iter().filter(|section| !section.is_harmless(remotes)) {
            rest.push(section.header);
            rest.extend(&section.lines);
        }
        rest
    }
}

impl<'t> Section<'t> {
    /// `NAME` of `[kind "NAME"]`.
    fn name(&self, kind: &str) -> Option<&'t str> {
        let name = self.header.strip_prefix('[')?.strip_prefix(kind)?.strip_prefix(" \"")?;
        let name = name.strip_suffix("\"]")?;
        let is_plain = !name.is_empty() && !name.starts_with('-') && !name.contains(['"', '\\']);
        is_plain.then_some(name)
    }

    /// The lines of the section as keys and values. Lines of another form have an empty key.
    fn settings(&self) -> impl Iterator<Item = (&'t str, &'t str)> {
        let lines = self.lines.iter().filter(|line| !line.trim().is_empty());
        lines.map(|line| line.trim().split_once(" = ").unwrap_or_default())
    }

    fn is_harmless(&self, remotes: &BTreeSet<&str>) -> bool {
        if self.header == "[user]" {
            let mut settings = self.settings();
            return settings.all(|(key, value)| matches!(key, "name" | "email") && is_plain(value));
        }
        if let Some(name) = self.name("remote") {
            let mut settings = self.settings();
            let is_harmless = settings.all(|(key, value)| match key {
                "url" => is_address(value),
                "fetch" => is_refspec(value),
                _ => false,
            });
            return is_harmless && remotes.contains(name);
        }
        self.name("branch").is_some()
            && self.settings().all(|(key, value)| match key {
                "remote" => value == "." || remotes.contains(value),
                "merge" => value.strip_prefix("refs/").is_some_and(is_ref),
                "rebase" => matches!(value, "true" | "false" | "merges" | "interactive"),
                _ => false,
            })
    }
}

/// Whether git takes the value as it stands.
fn is_plain(value: &str) -> bool {
    !value.is_empty() && value.trim() == value && !value.contains(['"', '\\', '#', ';'])
}

/// Whether it is the address of a repository on another machine, which git reaches without a helper program.
fn is_address(value: &str) -> bool {
    let is_usual = |char: char| char.is_ascii_alphanumeric() || "-._~:/@%+=,&?".contains(char);
    if !value.chars().all(is_usual) || value.contains("::") {
        return false;
    }
    let schemes = ["https://", "http://", "ssh://", "git://"];
    let (host, path) = match schemes.iter().find_map(|scheme| value.strip_prefix(scheme)) {
        Some(rest) => rest.split_once('/').unwrap_or((rest, "/")),
        // USER@HOST:PATH
        None => match value.split_once(':') {
            Some((host, path)) if !host.contains('/') && !path.starts_with("//") => (host, path),
            Some(_) | None => return false,
        },
    };
    // Programs would take it for an option.
    let is_name = |part: &str| !part.is_empty() && !part.starts_with('-');
    host.split('@').all(is_name) && is_name(path)
}

/// `+refs/heads/…:refs/remotes/…`
fn is_refspec(value: &str) -> bool {
    let value = value.strip_prefix("+refs/heads/");
    let parts = value.and_then(|value| value.split_once(":refs/remotes/"));
    parts.is_some_and(|(from, to)| is_ref(from) && is_ref(to))
}

fn is_ref(value: &str) -> bool {
    is_plain(value) && !value.contains([':', ' ', '\t'])
}

#[cfg(test)]
#[path = "git_config_tests.rs"]
mod tests;
