//! What a reply says if the sandbox refused something to a command, with the real programs.

use std::fs;

use serde_json::{Value, json};
use testkit::workspace::{FIRST, FULL, SECOND, TIERS, Workspace};

use crate::developer_tools::workshop;

/// What the sandbox blocked, and the hint.
fn blocked(data: &Value) -> (Vec<String>, String) {
    let entries = data["sandbox_blocked"].as_array().cloned().unwrap_or_default();
    let entries = entries.iter().map(|entry| entry.as_str().unwrap().to_owned()).collect();
    (entries, data["sandbox_hint"].as_str().unwrap_or_default().to_owned())
}

/// Checks that the reply blames the network, and nothing else, with the certainty of the tier.
fn assert_network_blamed(tier: &[&str], data: &Value) {
    let (entries, hint) = blocked(data);
    let [entry] = entries.as_slice() else { panic!("{tier:?}: {data}") };
    let (expected, flag) = match tier == FIRST {
        true => ("sandbox blocked: network connect", "allow with --allow-host"),
        false => ("sandbox probably blocked: network connect", "allow with --network"),
    };
    let count = entry.strip_prefix(expected).unwrap_or_else(|| panic!("{tier:?}: {data}"));
    assert!(count.is_empty() || (count.starts_with(" (") && count.ends_with("x)")), "{entry}");
    assert_eq!(hint, flag, "{tier:?}: {data}");
}

#[test]
fn programs_without_network_learn_that_it_was_blocked() {
    for (program, command) in [
        ("curl", "curl -sS http://192.0.2.1/"),
        ("curl", "curl -sS https://name.example/ 2>&1"),
        ("git", "git clone -q https://name.example/x"),
        ("python3", "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80))'"),
        ("python3", "python3 -c 'import urllib.request as u; u.urlopen(\"http://name.example\")'"),
        ("pip", "pip download --no-cache-dir --disable-pip-version-check nothing"),
        ("npm", "npm --cache \"$TMPDIR/npm\" view left-pad"),
        ("cargo", "CARGO_HOME=\"$TMPDIR\" cargo search nothing"),
    ] {
        if testkit::lacks(program) {
            continue;
        }
        for tier in TIERS {
            let data = workshop("").data(tier, command);
            assert_ne!(data["exit_code"], 0, "{tier:?} {command}: {data}");
            assert_network_blamed(tier, &data);
        }
    }
}

#[test]
fn a_look_up_at_a_name_server_on_loopback_counts_as_network() {
    if testkit::lacks("python3") {
        return;
    }
    let look_up = "python3 -c 'import socket\ns = socket.socket(type=socket.SOCK_DGRAM)\n\
                   s.connect((\"127.0.0.53\", 53))\ns.send(b\"query\")\ns.recv(1)'";
    for tier in TIERS {
        assert_network_blamed(tier, &workshop("").data(tier, look_up));
    }
    let version_6 = look_up.replace("127.0.0.53", "::1").replace("(type", "(socket.AF_INET6, type");
    let has_version_6 = std::path::Path::new("/proc/net/if_inet6").exists();
    if has_version_6 {
        assert_network_blamed(FIRST, &workshop("").data(FIRST, &version_6));
    }
}

#[test]
fn npm_that_hangs_until_the_time_limit_says_why() {
    if testkit::lacks("npm") {
        return;
    }
    let install = "npm --cache \"$TMPDIR/npm\" install left-pad";
    let hang = format!(
        "NPM_CONFIG_FETCH_RETRIES=9 {install} --fetch-retry-mintimeout=600000 --fetch-retry-maxtimeout=600000"
    );
    let workspace = workshop("");
    let arguments = json!({ "command": hang, "timeout_secs": 20 });
    let data = workspace.answer_of(FIRST, &arguments)["data"].take();
    assert_eq!(data["timed_out"], true, "{data}");
    assert_network_blamed(FIRST, &data);
    // Without network, variables turn off npm's retries, so it ends and says why.
    for tier in TIERS {
        let data = workspace.data(tier, install);
        assert_eq!(data["timed_out"], false, "{tier:?}: {data}");
        assert_network_blamed(tier, &data);
    }
}

#[test]
fn refused_writes_are_named_and_counted() {
    for (program, command) in [
        ("bash", "echo x > $OUT/file"),
        ("touch", "touch $OUT/file"),
        ("touch", "touch $OUT/file 2>&1"),
        ("cp", "echo x > made; cp made $OUT/file"),
        ("python3", "python3 -c 'import os; open(os.environ[\"OUT\"] + \"/file\", \"w\")'"),
        ("git", "git init -q $OUT/file"),
    ] {
        if testkit::lacks(program) {
            continue;
        }
        for tier in TIERS {
            let workspace = workshop("");
            let path = workspace.outside().join("file");
            let expected = format!("sandbox probably blocked: write {}", path.display());
            let data = workspace.data(tier, command);
            let found = blocked(&data);
            assert_eq!(found, (vec![expected], "allow with --writable".to_owned()), "{data}");
            let twice = blocked(&workspace.data(tier, &format!("{command}; {command}")));
            assert!(twice.0[0].ends_with("/file (2x)"), "{tier:?} {command}: {twice:?}");
        }
    }
}

#[test]
fn the_header_says_what_was_blocked_and_what_allows_it() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let arguments =
            json!({ "command": "for n in 1 2 3 4 5 6 7; do touch $OUT/$n; done; false" });
        let mut eyelet = workspace.eyelet(tier);
        let output =
            eyelet.args(["call", "--text", "bash", &arguments.to_string()]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let out = workspace.outside().display();
        let paths: Vec<_> = (1..=5).map(|number| format!("write {out}/{number}")).collect();
        let expected = format!(
            "[exit 1; stdout empty; stderr 7 lines; sandbox probably blocked: {} and 2 more; \
             allow with --writable]\n",
            paths.join(", ")
        );
        assert!(text.starts_with(&expected), "{tier:?}: {text}\n{expected}");
        // For people, as notes on stderr.
        let output = workspace.eyelet(tier).args(["bash", "touch $OUT/1"]).output().unwrap();
        let notes = String::from_utf8(output.stderr).unwrap();
        let expected = format!("sandbox probably blocked: write {out}/1\n");
        assert!(notes.contains(&expected) && notes.contains("allow with --writable\n"), "{notes}");
    }
}

#[test]
fn a_read_only_command_learns_which_policy_allows_writes() {
    for tier in TIERS {
        let workspace = Workspace::new("");
        let flags = [&["--sandbox", "read-only"], &tier[2..]].concat();
        for command in ["touch ./file", "touch file", "echo x > file"] {
            let (entries, hint) = blocked(&workspace.data(&flags, command));
            let path = entries[0].strip_prefix("sandbox probably blocked: write ");
            assert!(path.is_some_and(|path| path.ends_with("/file")), "{tier:?} {entries:?}");
            assert_eq!(hint, "allow with --sandbox workspace-write", "{tier:?}");
        }
    }
}

#[test]
fn relative_names_start_at_the_directory_that_the_command_enters_first() {
    for tier in TIERS {
        let workspace = Workspace::new("made/");
        let outside = workspace.outside().display();
        let data = workspace.data(tier, &format!("cd {outside} && touch file"));
        let expected = format!("sandbox probably blocked: write {outside}/file");
        let expected = (vec![expected], "allow with --writable".to_owned());
        assert_eq!(blocked(&data), expected, "{tier:?} {data}");
        // The same name in a directory that is writable.
        let data = workspace.data(tier, "cd made && touch file && false");
        assert_eq!(blocked(&data), (vec![], String::new()), "{tier:?} {data}");
    }
}

#[test]
fn what_no_flag_allows_has_no_hint() {
    for tier in TIERS {
        let workspace = workshop("");
        // A repository would be protected in a directory of --writable as well.
        let other = workspace.outside().join("other");
        let mut init = std::process::Command::new("git");
        init.args(["init", "-q"]).arg(&other);
        assert!(init.status().unwrap().success());
        let config = other.join(".git/config");
        let data = workspace.data(tier, &format!("git config --file {} a.b c", config.display()));
        let expected = format!("sandbox probably blocked: change of {}", config.display());
        assert_eq!(blocked(&data), (vec![expected], String::new()), "{tier:?} {data}");
        if testkit::lacks("python3") {
            continue;
        }
        // Sockets are refused with the network too.
        let connect = "python3 -c 'import socket\ntry: socket.socket(socket.AF_UNIX)\n\
                       except OSError as e: exit(f\"dial unix /run/x.sock: {e.strerror}\")'";
        for flags in [tier.to_vec(), [tier, &["--network"]].concat()] {
            let data = workspace.data(&flags, connect);
            let expected = "sandbox probably blocked: connect to a Unix socket".to_owned();
            assert_eq!(blocked(&data), (vec![expected], String::new()), "{flags:?} {data}");
        }
    }
    // In the second tier, the message may be about a file that was read.
    let workspace = workshop("key.pem = secret");
    let flags = [FIRST, &["--deny", "*.pem"]].concat();
    let data = workspace.data(&flags, "rm key.pem");
    let (entries, hint) = blocked(&data);
    let path = entries[0].strip_prefix("sandbox probably blocked: write ");
    assert!(path.is_some_and(|path| path.ends_with("/key.pem")), "{data}");
    assert_eq!(hint, "", "{data}");
}

#[test]
fn each_protected_path_of_git_is_named() {
    let workspace = Workspace::new("");
    let mut init = std::process::Command::new("git");
    init.args(["init", "-q", "."]).current_dir(workspace.tree.path());
    assert!(init.status().unwrap().success());
    let mut module = std::process::Command::new("git");
    module.args(["init", "-q", "--bare", ".git/modules/m"]).current_dir(workspace.tree.path());
    assert!(module.status().unwrap().success());
    for folder in ["branches", "hooks", "remotes", "modules/m/hooks"] {
        fs::create_dir_all(workspace.at(".git").join(folder)).unwrap();
    }
    for path in
        ["branches/x", "config", "hooks/x", "remotes/x", "modules/m/config", "modules/m/hooks/x"]
    {
        let data = workspace.data(FIRST, &format!("echo x >> .git/{path}"));
        let expected = format!("sandbox probably blocked: change of .git/{path}");
        assert_eq!(blocked(&data), (vec![expected], String::new()), "{data}");
    }
}

#[test]
fn git_remote_add_names_the_protected_file() {
    let workspace = Workspace::new("");
    let mut init = std::process::Command::new("git");
    init.args(["init", "-q", "."]).current_dir(workspace.tree.path());
    assert!(init.status().unwrap().success());
    for command in ["git remote add origin https://name.example/x", "echo x >> .git/config"] {
        let data = workspace.data(FIRST, command);
        assert_ne!(data["exit_code"], 0, "{data}");
        let expected = "sandbox probably blocked: change of .git/config".to_owned();
        assert_eq!(blocked(&data), (vec![expected], String::new()), "{data}");
    }
    // In the second tier, git succeeds and eyelet restores the file.
    let data = workspace.data(SECOND, "git remote add origin https://name.example/x");
    assert!(data["sandbox_reverted"][0].as_str().unwrap().contains("/.git/config"), "{data}");
}

#[test]
fn nothing_is_said_if_nothing_was_blocked_or_the_command_succeeds() {
    let workspace = workshop("closed = x");
    let closed = workspace.at("closed");
    std::fs::set_permissions(&closed, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    for tier in TIERS {
        for command in [
            "exit 3",
            "ls /nowhere",
            "cat closed; false",
            "grep x",
            "cat ~/.ssh/id_rsa /proc/1/environ; false",
            "echo 'touch: cannot touch '\\''/usr/x'\\'': No such file or directory' >&2; false",
            // A pipe hides the failure, and the command succeeds.
            "touch $OUT/x | cat",
        ] {
            let data = workspace.data(tier, command);
            assert_eq!(blocked(&data), (vec![], String::new()), "{tier:?} {command}: {data}");
        }
        let with_network = [tier, &["--network"]].concat();
        let failing = "echo 'Could not resolve host: name.example' >&2; false";
        let data = workspace.data(&with_network, failing);
        assert_eq!(blocked(&data), (vec![], String::new()), "{tier:?}: {data}");
    }
    let data = workspace.data(FULL, "echo 'Read-only file system: /usr/x' >&2; false");
    assert_eq!(blocked(&data), (vec![], String::new()), "{data}");
    if testkit::lacks("python3") {
        return;
    }
    // The private loopback interface works.
    let local = "python3 -c 'import socket\nl = socket.create_server((\"127.0.0.1\", 0))\n\
                 c = socket.create_connection(l.getsockname())\nexit(1)'";
    let data = workspace.data(FIRST, local);
    assert_eq!(blocked(&data), (vec![], String::new()), "{data}");
}
