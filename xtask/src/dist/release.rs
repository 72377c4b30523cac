//! The name, address and publisher of a release. Values that `Cargo.toml` contains are read from it.

use std::process::Command;

use super::files::output;
use super::program::is_for_others;
use crate::workspace::Workspace;

/// The version of the workspace.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The public address, a placeholder until the project has one; the addresses of downloads are below it.
pub(super) const REPOSITORY: &str = env!("CARGO_PKG_REPOSITORY");
/// The name and mail address of the publisher, with a placeholder as the domain.
pub(super) const AUTHORS: &str = env!("CARGO_PKG_AUTHORS");
/// At most 100 characters: the limit of the MCP registry.
pub(super) const DESCRIPTION: &str =
    "Bounded tools for AI agents: list, find, search and read files, and run commands in a sandbox";
/// Debian's name for the processor of the targets.
pub(super) const DEB_ARCHITECTURE: &str = "amd64";

/// The version of the `.deb`: that of the program and of the packaging. A package that is not for others has a lower one than
/// that of the release.
pub(super) fn deb_version(target: &str) -> String {
    format!("{VERSION}-1{}", if is_for_others(target) { "" } else { "~trial" })
}

/// The name of the archive without its extension, which is also the directory in the archive.
pub(super) fn stem(target: &str) -> String {
    format!("eyelet-{VERSION}-{target}")
}

/// The address from which a file of the release is downloaded.
pub(super) fn download(file: &str) -> String {
    format!("{REPOSITORY}/releases/download/v{VERSION}/{file}")
}

/// The publisher's name without the mail address.
pub(super) fn author() -> &'static str {
    AUTHORS.split(" <").next().unwrap_or(AUTHORS)
}

/// The name in the MCP registry, which must begin with the reversed domain of the publisher.
pub(super) fn registry_name(repository: &str) -> String {
    let address = repository.trim_start_matches("https://");
    let (host, path) = address.split_once('/').unwrap_or((address, ""));
    let owner = path.split('/').next().unwrap_or_default();
    match host {
        "github.com" => format!("io.github.{owner}/eyelet"),
        "gitlab.com" => format!("io.gitlab.{owner}/eyelet"),
        _ => {
            let labels: Vec<_> = host.rsplit('.').collect();
            format!("{}/eyelet", labels.join("."))
        }
    }
}

/// The time that all files of the release get, in seconds since 1970: `SOURCE_DATE_EPOCH`, or that of the last commit.
pub(super) fn epoch(workspace: &Workspace) -> Result<String, String> {
    let set = std::env::var("SOURCE_DATE_EPOCH").ok();
    let time = match set {
        Some(time) => time,
        None => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(&workspace.root);
            output(&mut git).map_err(|error| {
                format!("cannot determine the time of the release: {error}; set SOURCE_DATE_EPOCH")
            })?
        }
    };
    let time = time.trim();
    match time.parse::<u64>() {
        Ok(_) => Ok(time.to_owned()),
        Err(error) => {
            Err(format!("SOURCE_DATE_EPOCH={time}: {error}; set it to seconds since 1970"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLI_MANIFEST: &str = include_str!("../../../crates/eyelet-cli/Cargo.toml");
    const CHANGELOG: &str = include_str!("../../../CHANGELOG.md");

    /// The values of `[package.metadata.binstall]`, as `cargo binstall` renders them.
    fn binstall(key: &str) -> String {
        let (_, section) = CLI_MANIFEST.split_once("[package.metadata.binstall]\n").unwrap();
        let section = section.split("\n[").next().unwrap();
        let line = section.lines().find_map(|line| line.strip_prefix(&format!("{key} = \"")));
        let mut value = line.unwrap().strip_suffix('"').unwrap().to_owned();
        for (name, filled) in [
            ("repo", REPOSITORY),
            ("version", VERSION),
            ("target", "TARGET"),
            ("bin", "eyelet"),
            ("binary-ext", ""),
        ] {
            value = value.replace(&format!("{{ {name} }}"), filled);
        }
        value
    }

    #[test]
    fn binstall_finds_the_archive_and_the_program_in_it() {
        assert_eq!(binstall("pkg-url"), download(&format!("{}.tar.gz", stem("TARGET"))));
        assert_eq!(binstall("bin-dir"), format!("{}/eyelet", stem("TARGET")));
        assert_eq!(binstall("pkg-fmt"), "tgz");
    }

    #[test]
    fn the_name_in_the_registry_begins_with_the_reversed_domain() {
        assert_eq!(registry_name("https://eyelet.example/eyelet"), "example.eyelet/eyelet");
        assert_eq!(registry_name("https://github.com/owner/project"), "io.github.owner/eyelet");
    }

    #[test]
    fn the_description_fits_the_registry() {
        assert!(DESCRIPTION.chars().count() <= 100);
    }

    #[test]
    fn the_changelog_has_a_section_for_the_version() {
        let newest = CHANGELOG.lines().find(|line| line.starts_with("## [")).unwrap();
        assert!(newest.starts_with(&format!("## [{VERSION}] - ")), "{newest}");
    }
}
