//! Attacks of sandboxed commands on files.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};

use serde_json::{Value, json};
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, SECOND, TIERS, Workspace};

#[test]
fn writes_outside_the_roots_fail() {
    let workspace = Workspace::new("");
    for tier in TIERS {
        for target in ["/etc/eyelet-x", "$HOME/x", "/var/tmp/eyelet-x", "$OUT/x", "/x", "/usr/x"] {
            assert!(workspace.fails(tier, &format!("echo x > \"{target}\"")), "{tier:?} {target}");
            assert!(workspace.fails(tier, &format!("mkdir \"{target}\"")), "{tier:?} {target}");
        }
        // A failed command's result names the sandbox policy, which may be the cause.
        let data = workspace.data(tier, "echo x > /etc/eyelet-x");
        assert_eq!(data["sandbox"], "workspace-write", "{data}");
        assert!(workspace.data(tier, "true").get("sandbox").is_none());
        assert_eq!(fs::read_dir(workspace.outside()).unwrap().count(), 0);
        assert!(!workspace.tree.beside().join("x").exists());
        let written = workspace
            .stdout(tier, "echo in > here; cat here; echo t > \"$TMPDIR/t\"; cat \"$TMPDIR/t\"");
        assert_eq!(written, "in\nt\n");
    }
}

#[test]
fn symlinks_do_not_lead_writes_outside_the_roots() {
    let workspace = Workspace::new("");
    let target = workspace.outside().join("target");
    fs::write(&target, "kept").unwrap();
    symlink(&target, workspace.at("link")).unwrap();
    symlink(workspace.outside(), workspace.at("folder")).unwrap();
    for tier in TIERS {
        for attack in [
            "echo x > link",
            "cp /etc/hostname link",
            "cp /etc/hostname folder/new",
            "mv folder/target .",
            "ln folder/target hard && echo x > hard",
            "ln -s $OUT/target other && echo x > other",
            "rm folder/target",
            "truncate -s 0 link",
            "dd if=/dev/zero of=link conv=notrunc count=1",
        ] {
            assert!(workspace.fails(tier, attack), "{tier:?} {attack}");
            assert_eq!(fs::read_to_string(&target).unwrap(), "kept", "{tier:?} {attack}");
        }
        assert_eq!(fs::read_dir(workspace.outside()).unwrap().count(), 1);
        let _ = fs::remove_file(workspace.at("other"));
    }
}

const REPOSITORY: &str = "
    .git/HEAD = ref: refs/heads/main\\n
    .git/config = [core]\\n
    .git/hooks/pre-commit.sample = #\\n
    .git/objects/
    .git/refs/
";

#[test]
fn config_and_hooks_of_a_repository_stay_unchanged() {
    let attacks = [
        "echo '[core]fsmonitor=evil' >> .git/config",
        "echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        "rm -f .git/config; ln -s /etc/passwd .git/config",
        "mv .git old; mkdir -p .git/hooks; echo evil > .git/config; echo evil > .git/hooks/pre-commit",
        "mv .git/hooks h; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mkdir evil; echo '[core]' > evil/config; echo ../evil > .git/commondir",
        "chmod 777 .git/config",
    ];
    for tier in TIERS {
        for attack in attacks {
            let workspace = Workspace::new(REPOSITORY);
            let before = fs::metadata(workspace.at(".git/config")).unwrap().mode();
            let data = workspace.data(tier, attack);
            let config = fs::read_to_string(workspace.at(".git/config")).unwrap();
            assert_eq!(config, "[core]\n", "{tier:?} {attack}: {data}");
            assert_eq!(fs::metadata(workspace.at(".git/config")).unwrap().mode(), before);
            assert!(!workspace.at(".git/config").is_symlink());
            assert!(!workspace.at(".git/hooks/pre-commit").exists(), "{tier:?} {attack}: {data}");
            assert!(!workspace.at(".git/commondir").exists(), "{tier:?} {attack}: {data}");
            if tier == SECOND {
                // The change is reported, because it existed for a moment.
                assert!(data["sandbox_reverted"].is_array(), "{attack}: {data}");
            }
        }
        if tier == FIRST {
            let workspace = Workspace::new(REPOSITORY);
            assert!(workspace.fails(tier, "mv .git away"));
            assert!(workspace.fails(tier, "echo evil >> .git/config"));
            assert!(workspace.fails(tier, "echo evil > .git/hooks/pre-commit"));
        }
    }
}

#[test]
fn agent_settings_cannot_be_created_or_changed() {
    let paths = [
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".vscode/tasks.json",
        ".cargo/config.toml",
    ];
    for tier in TIERS {
        for path in paths {
            let workspace = Workspace::new("");
            let attack = format!("mkdir -p $(dirname {path}); echo evil > {path}");
            let data = workspace.data(tier, &attack);
            assert!(!workspace.at(path).exists(), "{tier:?} {path}: {data}");
            let reported = data["sandbox_reverted"][0].as_str().unwrap().to_owned();
            let protected = path.strip_suffix("/settings.json").unwrap_or(path);
            let protected = protected.strip_suffix("/tasks.json").unwrap_or(protected);
            let protected = protected.replace(".codex/config.toml", ".codex");
            assert!(reported.starts_with(workspace.at(&protected).to_str().unwrap()), "{reported}");

            let workspace = Workspace::new(&format!("{path} = kept"));
            let data = workspace.data(tier, &format!("echo evil > {path}; rm -f {path}"));
            let now = fs::read_to_string(workspace.at(path)).unwrap();
            assert_eq!(now, "kept", "{tier:?} {path}: {data}");
            // Moving its parent does not help either.
            let folder = path.split('/').next().unwrap();
            let attack = format!("mv {folder} away; cp -r away {folder}; echo evil > {path}");
            let data = workspace.data(tier, &attack);
            let now = fs::read_to_string(workspace.at(path)).unwrap();
            assert_eq!(now, "kept", "{tier:?} {path}: {data}");
        }
    }
}

#[test]
fn other_versions_of_protected_paths_are_kept_beside_them() {
    let workspace = Workspace::new(".vscode/tasks.json = kept");
    // A rename, so that no unfinished file appears there.
    let command = "echo evil > new; mv new .mcp.json; ln -s /etc .claude; echo evil > .vscode/new";
    for tier in TIERS {
        let mut eyelet = workspace.eyelet(tier);
        let mut server = Server::run(eyelet.args(["mcp", "--reply", "envelope"]));
        server.initialize("test", &json!({}));
        let answer = server.text("bash", json!({ "command": command }));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let reported = answer["data"]["sandbox_reverted"].as_array().unwrap();
        let mut reported = reported.iter().filter_map(Value::as_str);
        let reported = reported.find(|text| text.contains("/.mcp.json: ")).unwrap();
        let (path, copy) =
            reported.split_once(": restored; the changed version was moved to ").unwrap();
        assert!(path.ends_with("/.mcp.json"), "{answer}");
        assert_eq!(copy, format!("{path}.eyelet-conflict"), "{answer}");
        let read = server.text("read", json!({ "path": copy }));
        let read: Value = serde_json::from_str(&read).unwrap();
        assert!(read["data"]["content"].as_str().unwrap_or_default().contains("evil"), "{read}");

        assert!(!workspace.at(".claude").is_symlink() && !workspace.at(".mcp.json").exists());
        assert!(workspace.at(".claude.eyelet-conflict").is_symlink(), "{answer}");
        assert!(!workspace.at(".vscode/new").exists(), "{answer}");
        assert!(fs::metadata("/etc/passwd").is_ok());
    }
    // Only the second tier let the command create a file there.
    assert!(workspace.at(".vscode.eyelet-conflict/new").exists());
    // The same content is kept once.
    assert!(!workspace.at(".mcp.json.eyelet-conflict.2").exists());
}

#[test]
fn at_most_eight_other_versions_of_a_path_are_kept() {
    let workspace = Workspace::new("");
    let mut last = Value::Null;
    for number in 0..10 {
        last = workspace.data(SECOND, &format!("echo {number} > new; mv new .mcp.json"));
    }
    let copies = fs::read_dir(workspace.tree.path()).unwrap().map(|entry| entry.unwrap().path());
    let mut copies: Vec<_> = copies.map(|copy| fs::read_to_string(copy).unwrap()).collect();
    copies.sort();
    assert_eq!(copies, ["2\n", "3\n", "4\n", "5\n", "6\n", "7\n", "8\n", "9\n"]);
    let reported = last["sandbox_reverted"][0].as_str().unwrap();
    assert!(reported.ends_with("; older copies removed: 1"), "{reported}");
}

#[cfg(target_os = "linux")]
#[test]
fn leftovers_in_tmp_do_not_block_the_next_command() {
    // Both are below the real `/tmp` and are mounted into the private one.
    let workspace = Workspace::new("");
    let folder = workspace.tree.path().parent().unwrap().to_str().unwrap().to_owned();
    if !folder.starts_with("/tmp/") {
        return testkit::skip("TMPDIR is not below /tmp");
    }
    let session = crate::supervision::session(&workspace, eyelet_sandbox::Tier::Namespaces);
    let run = |command: &str| {
        use eyelet::Tool as _;
        eyelet::tools::Bash.run(eyelet::tools::BashArgs::new(command), &session).unwrap()
    };
    let report =
        run(&format!("cd /; mv '{folder}' /tmp/away; ln -s /etc '{folder}'; ls -d '{folder}'"));
    assert_eq!(report.exit_code, 0, "{report:?}");
    assert_eq!(run("echo works > file; cat file").stdout.text(), "works\n");
    assert_eq!(fs::read_to_string(workspace.at("file")).unwrap(), "works\n");
}

#[test]
fn a_command_can_create_a_repository_unless_strict() {
    let workspace = Workspace::new("");
    for tier in TIERS {
        let made = workspace.stdout(tier, "mkdir n && cd n && git init -q . && git config user.name a && cat .git/config | grep -c name; cd ..; rm -rf n");
        assert_eq!(made, "1\n");
    }
    let strict = [FIRST, &["--strict"]].concat();
    let data = workspace.data(&strict, "mkdir .git; echo evil > .git/config");
    assert!(!workspace.at(".git").exists(), "{data}");
}

#[test]
fn mounts_protect_modes_owners_and_times_outside_the_roots() {
    let workspace = Workspace::new("");
    let file = workspace.outside().join("file");
    fs::write(&file, "x").unwrap();
    let seen = || {
        let found = fs::metadata(&file).unwrap();
        (found.mode(), found.uid(), found.mtime(), found.ctime(), found.ctime_nsec())
    };
    let before = seen();
    for attack in ["chmod 777 $OUT/file", "chown 1:1 $OUT/file", "touch -d 2001-01-01 $OUT/file"] {
        assert!(workspace.fails(FIRST, attack), "{attack}");
        assert_eq!(seen(), before, "{attack}");
    }
}

#[test]
fn mounts_protect_extended_attributes_outside_the_roots() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    fs::write(workspace.outside().join("file"), "x").unwrap();
    let attack =
        "python3 -c 'import os; os.setxattr(os.environ[\"OUT\"]+\"/file\", \"user.x\", b\"y\")'";
    let data = workspace.data(FIRST, attack);
    let said = data["stderr"].as_str().unwrap();
    assert!(said.contains("Read-only file system"), "{data}");
}

#[test]
fn a_home_below_tmp_is_readable_without_its_secrets() {
    let home = tempfile::Builder::new().prefix("eyelet-home-").tempdir_in("/tmp").unwrap();
    fs::create_dir(home.path().join(".ssh")).unwrap();
    fs::write(home.path().join(".ssh/id_rsa"), "CANARY").unwrap();
    fs::write(home.path().join("open"), "seen\n").unwrap();
    let mut workspace = Workspace::new("");
    workspace.set("HOME", home.path());
    let command =
        "cat ~/open; cat ~/.ssh/id_rsa 2>/dev/null; echo x > ~/made; echo t > /tmp/t; cat /tmp/t";
    let data = workspace.data(FIRST, command);
    assert_eq!(data["stdout"], "seen\nt\n", "{data}");
    assert!(!home.path().join("made").exists(), "{data}");
    // Not under --strict: the home is neither a root nor the system's.
    let strict = workspace.answer(&[FIRST, &["--strict"]].concat(), "cat ~/open");
    assert!(!strict.to_string().contains("seen"), "{strict}");
}

#[test]
fn a_home_in_a_root_cannot_be_replaced_to_reveal_tmp() {
    let victim = tempfile::Builder::new().prefix("eyelet-victim-").tempdir_in("/tmp").unwrap();
    fs::write(victim.path().join("open"), "seen").unwrap();
    let mut workspace = Workspace::new("home/");
    workspace.set("HOME", workspace.at("home"));
    let victim = victim.path().display();
    workspace.stdout(FIRST, &format!("mv home away; ln -s '{victim}' home"));
    let data = workspace.data(FIRST, &format!("cat '{victim}/open'"));
    assert_eq!(data["stdout"], "", "{data}");
}

#[test]
fn read_only_commands_write_only_to_their_temp_directory() {
    let workspace = Workspace::new("file = kept");
    for tier in [&["--sandbox", "read-only"][..], &["--sandbox", "read-only", "--force-tier2"]] {
        for attack in
            ["echo x > file", "rm file", "mkdir d", "ln file f", "mv file f", "echo x > $OUT/x"]
        {
            assert!(workspace.fails(tier, attack), "{tier:?} {attack}");
        }
        let printed = workspace.stdout(
            tier,
            "cat file; echo t > \"$TMPDIR/t\"; cat \"$TMPDIR/t\"; mktemp >/dev/null; ls",
        );
        assert_eq!(printed, "keptt\nfile\n");
    }
    let left = fs::read_dir(workspace.tree.beside()).unwrap().filter_map(Result::ok);
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("-tmp-")), "{left:?}");
}

#[test]
fn secrets_in_the_home_directory_are_hidden() {
    let secrets = "
        .ssh/id_rsa = CANARY
        .aws/credentials = CANARY
        .netrc = CANARY
        .config/gh/hosts.yml = CANARY
        .claude/settings.json = CANARY
        open = seen
    ";
    let home = Workspace::new(secrets);
    let command = "cat .ssh/id_rsa .aws/credentials .netrc .config/gh/hosts.yml .claude/* 2>/dev/null; \
                   cp -r .ssh copied 2>/dev/null; cat copied/id_rsa 2>/dev/null; grep -r CANARY . ; cat open";
    // A home inside the workspace: its secrets are hidden too.
    let mut eyelet = home.eyelet(FIRST);
    eyelet.env("HOME", home.tree.path());
    let output = eyelet.args(["bash", command]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("seen") && !printed.contains("CANARY"), "{output:?}");

    // The second tier cannot hide them, so the command is refused.
    let mut eyelet = home.eyelet(SECOND);
    eyelet.env("HOME", home.tree.path());
    let output = eyelet.args(["bash", command]).output().unwrap();
    assert_eq!(output.status.code(), Some(125), "{output:?}");

    // A home outside of the workspace.
    let workspace = Workspace::new("");
    for (path, text) in [(".ssh/id_rsa", "CANARY"), (".npmrc", "CANARY"), ("open", "seen")] {
        let path = workspace.outside().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    for tier in TIERS {
        let mut eyelet = workspace.eyelet(tier);
        eyelet.env("HOME", workspace.outside());
        let output =
            eyelet.args(["bash", "cat ~/.ssh/id_rsa; cat ~/.npmrc; cat ~/open"]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(printed.contains("seen") && !printed.contains("CANARY"), "{tier:?} {output:?}");
    }
}

#[test]
fn strict_commands_read_only_the_system_and_the_roots() {
    let workspace = Workspace::new("file = seen");
    fs::write(workspace.outside().join("file"), "CANARY").unwrap();
    let strict = [FIRST, &["--strict"]].concat();
    let data = workspace.data(&strict, "cat file; cat /etc/passwd | head -c 4; cat $OUT/file");
    assert_eq!(data["stdout"], "seenroot", "{data}");
    let strict = [SECOND, &["--strict"]].concat();
    let refused = workspace.answer(&strict, "touch made").to_string();
    assert!(refused.contains("sandbox_unavailable"), "{refused}");
    assert!(refused.contains("strict mode does not accept this gap"), "{refused}");
    assert!(!workspace.at("made").exists());
}

#[test]
fn disks_and_memory_cannot_be_read() {
    let workspace = Workspace::new("");
    let devices = workspace.stdout(FIRST, "ls -A /dev");
    let devices: Vec<_> = devices.split_whitespace().collect();
    assert_eq!(
        devices,
        [
            "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout",
            "tty", "urandom", "zero"
        ]
    );
    let read_all = "for f in /dev/*; do [ -b $f ] && head -c 1 $f >/dev/null 2>&1 && echo $f; done; \
                    head -c 1 /dev/mem /dev/kmem /proc/kcore 2>/dev/null; true";
    for tier in TIERS {
        assert_eq!(workspace.stdout(tier, read_all), "");
    }
}

#[test]
fn kernel_settings_cannot_be_changed() {
    let workspace = Workspace::new("");
    for tier in TIERS {
        for setting in [
            "/proc/sys/kernel/core_pattern",
            "/proc/sys/kernel/pid_max",
            "/proc/sysrq-trigger",
            "/proc/self/uid_map",
            "/sys/kernel/uevent_helper",
        ] {
            // Writes the current value, to do no harm if it succeeds.
            let attack = format!("v=$(cat {setting} 2>/dev/null); echo \"$v\" > {setting}");
            assert!(workspace.fails(tier, &attack), "{tier:?} {setting}");
        }
    }
}

#[test]
fn root_can_write_to_a_workspace_of_another_user() {
    if testkit::lacks_root() {
        return;
    }
    let workspace = Workspace::new("file = theirs");
    std::os::unix::fs::chown(workspace.tree.path(), Some(65534), Some(65534)).unwrap();
    fs::set_permissions(workspace.tree.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    for tier in TIERS {
        assert_eq!(workspace.stdout(tier, "echo mine > new; cat file new; rm new"), "theirsmine\n");
        assert!(workspace.fails(tier, "echo x > /etc/eyelet-x"));
    }
}
