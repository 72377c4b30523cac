//! The caches of package managers: one directory per root.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use testkit::TempTree;
use testkit::cli::command;
use testkit::workspace::{TIERS, Workspace, envelope, within};

const VARIABLES: &str = "echo $NPM_CONFIG_CACHE $PIP_CACHE_DIR $GOCACHE $CARGO_HOME $GOMODCACHE";

fn packages(workspace: &Workspace) -> PathBuf {
    workspace.tree.beside().join(".cache/eyelet/packages")
}

/// The cache of npm as a command sees it.
fn npm_cache(workspace: &Workspace) -> PathBuf {
    workspace.stdout(TIERS[0], "echo $NPM_CONFIG_CACHE").trim_end().into()
}

#[test]
fn caches_are_redirected_and_writable() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let network = [tier, &["--network"]].concat();
        for (flags, number) in [(tier, 3), (&network, 5)] {
            let said = workspace.stdout(flags, VARIABLES);
            let folders: Vec<_> = said.split_whitespace().map(PathBuf::from).collect();
            assert_eq!(folders.len(), number, "{flags:?} {said}");
            assert!(
                folders.iter().all(|folder| folder.starts_with(packages(&workspace))),
                "{said}"
            );
            let write = "mkdir -p $NPM_CONFIG_CACHE/a && echo b > $NPM_CONFIG_CACHE/a/b";
            workspace.stdout(flags, write);
            assert_eq!(workspace.stdout(flags, "cat $NPM_CONFIG_CACHE/a/b"), "b\n", "{flags:?}");
        }
        // Only what a command asks for by name stays the user's.
        let flags = [&network[..], &["--env", "CARGO_HOME"]].concat();
        assert_eq!(workspace.stdout(&flags, "echo ${CARGO_HOME-unset}"), "unset\n", "{tier:?}");
        // A command that may write nothing has no cache.
        let read_only = tier.iter().map(|flag| flag.replace("workspace-write", "read-only"));
        let read_only: Vec<_> = read_only.collect();
        let flags: Vec<_> = read_only.iter().map(String::as_str).collect();
        assert_eq!(workspace.stdout(&flags, VARIABLES), "\n", "{tier:?}");
    }
}

#[test]
fn two_roots_share_no_cache() {
    let workspace = Workspace::new("one/\ntwo/");
    let cache_of = |root: &str, tier: &[&str], shell: &str| {
        let mut eyelet = command(&workspace.tree);
        eyelet.current_dir(workspace.at(root)).arg("--root").arg(workspace.at(root)).args(tier);
        let arguments = serde_json::json!({ "command": shell }).to_string();
        envelope(&eyelet.args(["call", "bash", &arguments]).output().unwrap())["data"].take()
    };
    for tier in TIERS {
        let show = "mkdir -p $NPM_CONFIG_CACHE; echo $NPM_CONFIG_CACHE";
        let one = cache_of("one", tier, show)["stdout"].as_str().unwrap().trim_end().to_owned();
        let two = cache_of("two", tier, show)["stdout"].as_str().unwrap().trim_end().to_owned();
        assert_ne!(one, two, "{tier:?}");
        let plant = format!("echo plant > {one}/plant");
        assert_ne!(cache_of("two", tier, &plant)["exit_code"], 0, "{tier:?}");
        assert!(!PathBuf::from(one).join("plant").exists(), "{tier:?}");
    }
}

#[test]
fn caches_that_are_unused_for_30_days_are_removed() {
    let workspace = Workspace::new("");
    let own = npm_cache(&workspace);
    let age = |name: &str, days: u64| {
        let folder = packages(&workspace).join(name);
        fs::create_dir_all(folder.join("caches/npm")).unwrap();
        let time = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        fs::File::open(&folder).unwrap().set_modified(time).unwrap();
        folder
    };
    let (old, recent) = (age("0000000000000000.0", 31), age("1111111111111111.0", 29));
    // A session removes them in the background.
    let is_removed = || {
        workspace.stdout(TIERS[0], "true");
        !old.exists()
    };
    assert!(within(Duration::from_secs(30), is_removed));
    assert!(recent.exists());
    assert_eq!(npm_cache(&workspace), own);
}

#[test]
fn symlinks_that_a_command_leaves_in_its_cache_are_not_followed() {
    for tier in TIERS {
        let flags = [tier, &["--network"]].concat();
        let workspace = Workspace::new("");
        let home = workspace.tree.beside();
        fs::write(home.join(".npmrc"), "fund=false\n").unwrap();
        fs::create_dir(home.join(".cargo")).unwrap();
        fs::write(home.join(".cargo/config.toml"), "").unwrap();
        fs::write(home.join("victim"), "safe").unwrap();
        fs::create_dir(home.join("folder")).unwrap();
        let plant = "rm -rf $CARGO_HOME $NPM_CONFIG_USERCONFIG; ln -s ~/folder $CARGO_HOME; \
                     ln -s ~/victim $NPM_CONFIG_USERCONFIG";
        workspace.stdout(&flags, plant);
        let said = workspace.stdout(&flags, "cat $NPM_CONFIG_USERCONFIG");
        assert_eq!(said, "fund=false\n", "{tier:?}");
        assert_eq!(fs::read_to_string(home.join("victim")).unwrap(), "safe", "{tier:?}");
        assert_eq!(fs::read_dir(home.join("folder")).unwrap().count(), 0, "{tier:?}");
    }
}

#[test]
fn a_cache_folder_that_is_a_symlink_is_not_used() {
    let workspace = Workspace::new("");
    let caches = workspace.tree.beside().join(".cache/eyelet");
    fs::create_dir_all(&caches).unwrap();
    let elsewhere = TempTree::new("");
    symlink(elsewhere.path(), caches.join("packages")).unwrap();
    for tier in TIERS {
        assert_eq!(workspace.stdout(tier, VARIABLES), "\n", "{tier:?}");
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
