//! Protected paths that a command changes through symlinks and mounts, or that cannot be restored.

use std::fs;
use std::process::Command;

use expect_test::expect;
use serde_json::{Value, json};
use testkit::eyelet_bin;
use testkit::mcp_client::Server;
use testkit::workspace::{SECOND, TIERS, Workspace, envelope};

/// Runs the script in its own mount namespace, in which it can mount onto the workspace's folder `w`.
/// In the script, `call` runs the command in the sandbox, confined to `w`.
pub(crate) fn among_mounts(
    workspace: &Workspace,
    tier: &[&str],
    script: &str,
    command: &str,
) -> Value {
    let call =
        "call() { \"$EYELET\" --root \"$PWD/w\" --cwd \"$PWD/w\" $TIER call bash \"$COMMAND\"; }";
    let mut unshare = Command::new("unshare");
    unshare.args(["-Urm", "sh", "-c", &format!("set -e; {call}; {script}")]);
    let like = testkit::cli::command(&workspace.tree);
    unshare.env_clear().envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
    unshare.env("EYELET", eyelet_bin()).env("TIER", tier.join(" "));
    unshare.env("COMMAND", json!({ "command": command, "timeout_secs": 60 }).to_string());
    let mut answer = envelope(&unshare.current_dir(workspace.tree.path()).output().unwrap());
    assert_eq!(answer["ok"], true, "{tier:?} {command}: {answer}");
    answer["data"].take()
}

/// The report about a protected path.
pub(crate) fn reported(data: &Value, path: &str) -> String {
    let all = data["sandbox_reverted"].as_array().unwrap_or_else(|| panic!("{data}"));
    let mut all = all.iter().map(|reported| reported.as_str().unwrap());
    all.find(|reported| reported.contains(&format!("/{path}: "))).unwrap_or("nothing").to_owned()
}

#[test]
fn a_symlink_in_a_protected_path_is_reverted() {
    let attack = "mv .cargo away; mkdir evil; echo evil > evil/config.toml; ln -s evil .cargo";
    for tier in TIERS {
        let workspace = Workspace::new("");
        let data = workspace.data(tier, attack);
        assert!(!workspace.at(".cargo").is_symlink(), "{tier:?} {data}");
        assert!(reported(&data, ".cargo").ends_with("/.cargo.eyelet-conflict"), "{tier:?} {data}");

        let workspace = Workspace::new(".cargo/config.toml = kept");
        for attack in [attack, "rm -rf .cargo", "mv .cargo gone", "rm -rf .cargo; echo > .cargo"] {
            let data = workspace.data(tier, attack);
            let now = fs::read_to_string(workspace.at(".cargo/config.toml")).unwrap();
            assert_eq!(now, "kept", "{tier:?} {attack} {data}");
        }
    }
}

#[test]
fn targets_of_protected_symlinks_are_protected() {
    for tier in TIERS {
        let workspace = Workspace::new(
            "
            .claude -> conf/claude
            conf/claude/settings.json = kept
            .cargo -> conf/cargo
            conf/cargo/
            conf/mcp = kept
            .mcp.json -> conf/mcp
        ",
        );
        let attack = "echo evil > .claude/settings.json; echo evil > conf/claude/settings.json; \
                      echo evil > .cargo/config.toml; echo evil > .mcp.json; echo evil > conf/mcp; \
                      mv conf old; cp -r old conf; echo evil > conf/claude/settings.json; \
                      echo evil > conf/mcp; true";
        let data = workspace.data(tier, attack);
        for path in [".claude/settings.json", ".mcp.json"] {
            let now = fs::read_to_string(workspace.at(path)).unwrap();
            assert_eq!(now, "kept", "{tier:?} {path} {data}");
        }
        assert!(!workspace.at(".cargo/config.toml").exists(), "{tier:?} {data}");
        for link in [".claude", ".cargo", ".mcp.json"] {
            assert!(workspace.at(link).is_symlink(), "{tier:?} {link} {data}");
        }
    }
}

#[test]
fn a_failed_restore_is_reported() {
    // The file system becomes read-only before the supervisor, which is stopped, can restore anything.
    let script = "child() { cut -d' ' -f1 /proc/$1/task/$1/children; }; \
                  mount -t tmpfs -o mode=755 none w; mkdir w/.vscode; echo kept > w/.vscode/tasks.json; \
                  call & until [ -e w/up ]; do sleep 0.01; kill -0 $!; done; \
                  eyelet=$!; [ $(cat /proc/$eyelet/comm) = eyelet ] || eyelet=$(child $eyelet); \
                  monitor=$(child $eyelet); kill -STOP $monitor; : > w/go; \
                  until [ -e w/ready ]; do sleep 0.01; kill -0 $!; done; \
                  until mount -o remount,ro none w 2>/dev/null; do sleep 0.01; kill -0 $!; done; \
                  kill -CONT $monitor; wait $!";
    let command = "(: > up); until [ -e go ]; do sleep 0.01; done; \
                   echo evil > .mcp.json; echo evil > .vscode/tasks.json; (: > ready); \
                   while (: > probe) 2>/dev/null; do sleep 0.01; done";
    for tier in TIERS {
        let workspace = Workspace::new("w/");
        let data = among_mounts(&workspace, tier, script, command);
        let expected = "/w/.mcp.json: may have changed and could not be restored; check it";
        assert!(reported(&data, ".mcp.json").ends_with(expected), "{tier:?} {data}");
        // In the first tier, existing files cannot be written at all.
        let expected = match tier == SECOND {
            true => "/w/.vscode: may have changed and could not be restored; check it",
            false => "nothing",
        };
        assert!(reported(&data, ".vscode").ends_with(expected), "{tier:?} {data}");
    }
}

#[test]
fn the_header_names_one_protected_path_within_the_budget() {
    let workspace = Workspace::new(&format!("{}/", "long/".repeat(60)));
    let root = workspace.at(&"long/".repeat(60));
    let command = "echo evil > .mcp.json; mkdir .claude; yes \"$(seq 9)\" | head -c 300000; \
                   yes | head -c 300000 >&2";
    for (tier, budget) in TIERS.into_iter().zip(["4096", "20000"]) {
        let mut eyelet = testkit::cli::command(&workspace.tree);
        eyelet.current_dir(&root).args(tier).args(["mcp", "--reply-bytes", budget]);
        let mut server = Server::run(&mut eyelet);
        server.initialize("test", &json!({}));
        let text = server.text("bash", json!({ "command": command }));
        let header = text.lines().next().unwrap();
        let note = header.split("; ").last().unwrap();
        let path = note.strip_prefix("restored protected path: ").unwrap_or(header);
        let path = path.strip_suffix(" and 1 more]").unwrap_or(header);
        assert!(path.len() == 200 && root.to_str().unwrap().starts_with(path), "{header}");
        assert!(text.len() <= budget.parse().unwrap(), "{} bytes: {header}", text.len());
    }
}

#[test]
fn the_command_line_prints_reverted_paths() {
    let workspace = Workspace::new(".vscode/tasks.json = kept");
    let command = "echo evil > x; mv x .mcp.json; rm .vscode/tasks.json";
    let output = workspace.eyelet(SECOND).args(["bash", command]).output().unwrap();
    let reported = workspace.tree.redact(&String::from_utf8_lossy(&output.stderr));
    expect![[r#"
        protected path /repo/.mcp.json: restored; the changed version was moved to /repo/.mcp.json.eyelet-conflict
        protected path /repo/.vscode/tasks.json: restored
    "#]]
    .assert_eq(&reported);
    assert!(output.status.success() && output.stdout.is_empty());
}

#[test]
fn a_full_disk_leaves_no_partial_protected_file() {
    let script = "mount -t tmpfs -o size=1m,mode=755 none w; head -c 300000 /dev/zero > w/.mcp.json; \
                  call; cp w/.mcp.json left 2>/dev/null || true";
    let command = "head -c 2000000 /dev/zero > full; mv .mcp.json moved";
    let workspace = Workspace::new("w/");
    let data = among_mounts(&workspace, SECOND, script, command);
    let expected = "/w/.mcp.json: may have changed and could not be restored; check it";
    assert!(reported(&data, ".mcp.json").ends_with(expected), "{data}");
    assert!(!workspace.at("left").exists(), "a part of it was left");
}

#[test]
fn symlinks_on_the_way_to_a_protected_path_cannot_lead_elsewhere() {
    let evil = "mkdir -p evil/claude; echo evil > evil/claude/settings.json; cp -r conf/git evil/git; \
                echo evil >> evil/git/config;";
    for tier in TIERS {
        for attack in [
            "ln -sfn ../evil/claude links/claude",
            "rm link; ln -s evil link",
            "rm links/git; ln -s ../evil/git links/git",
            "ln -s evil new; mv -T new link",
            "rm -r links; mkdir links; ln -s ../evil/git links/git; ln -s ../evil/claude links/claude",
        ] {
            let workspace = Workspace::new(
                "
                .claude -> links/claude
                links/claude -> ../link/claude
                link -> conf
                conf/claude/settings.json = kept
                .git -> links/git
                links/git -> ../link/git
                conf/git/HEAD = ref: refs/heads/main
                conf/git/objects/
                conf/git/refs/
                conf/git/config = kept
            ",
            );
            let data = workspace.data(tier, &format!("{evil} {attack}"));
            let now = [".claude/settings.json", ".git/config"]
                .map(|path| fs::read_to_string(workspace.at(path)).unwrap_or_default());
            assert_eq!(
                now.map(|text| text.trim().to_owned()),
                ["kept"; 2],
                "{tier:?} {attack} {data}"
            );
            assert!(data["sandbox_reverted"].is_array(), "{tier:?} {attack} {data}");
        }
    }
}

#[test]
fn mounted_protected_paths_are_restored_in_place() {
    let script = "mkdir w/.vscode; touch w/.mcp.json; mount --bind folder w/.vscode; \
                  mount --bind file w/.mcp.json; call";
    let command = "echo evil > .vscode/tasks.json; echo evil > .vscode/more; rm -f .vscode/gone; \
                   echo evil >> .mcp.json";
    for tier in TIERS {
        let workspace = Workspace::new(
            "
            w/
            folder/tasks.json = kept
            folder/gone = back
            file = kept
        ",
        );
        let data = among_mounts(&workspace, tier, script, command);
        let now = ["folder/tasks.json", "folder/gone", "file"]
            .map(|path| fs::read_to_string(workspace.at(path)).unwrap());
        assert_eq!(now, ["kept", "back", "kept"], "{tier:?} {data}");
        assert!(!workspace.at("folder/more").exists(), "{tier:?} {data}");
        assert!(!data.to_string().contains("could not"), "{tier:?} {data}");
    }
}

#[test]
fn mounts_in_a_protected_directory_stay() {
    let script = "mkdir -p w/.vscode/m w/.claude/m; mount --bind folder w/.vscode/m; call; \
                  [ -e w/.vscode/m/file ] && touch still-there";
    let command = "echo evil > .vscode/tasks.json; rm -rf .claude; true";
    let workspace = Workspace::new("w/\nfolder/file = kept");
    let data = among_mounts(&workspace, SECOND, script, command);
    assert!(reported(&data, ".vscode/tasks.json").ends_with("/.vscode.eyelet-conflict"), "{data}");
    assert!(!workspace.at("w/.vscode/tasks.json").exists(), "{data}");
    // Both, if it was restored before `rm` was done.
    let is_restored = |path| reported(&data, path).ends_with(": restored");
    assert!(is_restored(".claude") || is_restored(".claude/m"), "{data}");
    assert_eq!(fs::read_to_string(workspace.at("folder/file")).unwrap(), "kept", "{data}");
    assert!(workspace.at("still-there").exists(), "{data}");
}
