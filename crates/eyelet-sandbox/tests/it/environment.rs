//! Unusual environments: a working directory that is removed, and restricted containers.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{ErrorCode, Root, SandboxPolicy, SandboxSettings, Tool as _, TurnContext};
use eyelet_sandbox::{Supervisor, Tier, TierChoice};
use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use serde_json::json;
use testkit::cli::command;
use testkit::eyelet_bin;
use testkit::mcp_client::Server;
use testkit::workspace::{FIRST, SUPERVISED, Workspace};

#[test]
fn a_removed_working_directory_is_not_found() {
    for flags in SUPERVISED {
        let workspace = Workspace::new("w/sub/");
        let mut eyelet = command(&workspace.tree);
        eyelet.current_dir(workspace.at("w")).args(["mcp"]).args(flags);
        let mut server = Server::run(&mut eyelet);
        server.initialize("test", &json!({}));
        server.text("bash", json!({ "command": "true", "cwd": "sub" }));
        // The second time, another directory has the same name.
        for is_back in [false, true] {
            fs::remove_dir_all(workspace.at("w")).unwrap();
            if is_back {
                fs::create_dir_all(workspace.at("w/sub")).unwrap();
            }
            for cwd in ["", "sub", "."] {
                let reported =
                    server.error("bash", json!({ "command": "echo x > made", "cwd": cwd }));
                assert!(reported.starts_with("cannot use cwd `"), "{flags:?} {reported}");
                assert!(reported.ends_with("No such file or directory (os error 2)"), "{reported}");
            }
            if !is_back {
                fs::create_dir(workspace.at("w")).unwrap();
            }
        }
        assert_eq!(fs::read_dir(workspace.at("w")).unwrap().count(), 1);
    }
}

/// A turn with this policy, whose supervisor is the workspace's file `supervisor`.
fn supervised_by(workspace: &Workspace, policy: SandboxPolicy, tier: Tier) -> TurnContext {
    let settings = SandboxSettings::new(Supervisor::at(workspace.at("supervisor")))
        .with_tier(TierChoice::Only(tier));
    TurnContext::new(workspace.at("w"), policy)
        .unwrap()
        .with_root(Root::open(workspace.at("w")).unwrap())
        .with_environment(std::env::var_os("PATH").map(|path| ("PATH", path)).into_iter().collect())
        .with_sandbox_settings(Arc::new(settings))
}

#[test]
fn a_directory_removed_before_the_start_is_not_found() {
    let workspace = Workspace::new("w/");
    // Removes the directory after eyelet entered it and before the command starts.
    let script = format!(
        "#!/bin/sh\n/bin/rmdir '{}'\nexec '{}' \"$@\"\n",
        workspace.at("w/sub").display(),
        eyelet_bin().display()
    );
    fs::write(workspace.at("supervisor"), script).unwrap();
    fs::set_permissions(workspace.at("supervisor"), fs::Permissions::from_mode(0o755)).unwrap();
    for (policy, tier) in [
        (SandboxPolicy::WorkspaceWrite, Tier::Namespaces),
        (SandboxPolicy::WorkspaceWrite, Tier::Landlock),
        (SandboxPolicy::Full, Tier::Landlock),
    ] {
        fs::create_dir(workspace.at("w/sub")).unwrap();
        let turn = supervised_by(&workspace, policy, tier);
        let made = workspace.at("w/made");
        let command = format!("echo x > '{}'", made.display());
        let args = BashArgs { cwd: Some("sub".to_owned()), ..BashArgs::new(command) };
        let error = Bash.run(args, &turn).unwrap_err();
        let shown = workspace.at("w/sub");
        let message = format!(
            "cannot use cwd `{}`: {}",
            shown.display(),
            "No such file or directory (os error 2)"
        );
        assert_eq!((error.code, error.message), (ErrorCode::NotFound, message), "{tier:?}");
        assert!(!made.exists(), "{tier:?}");
    }
}

#[test]
fn a_removed_root_is_named_in_the_error() {
    let workspace = Workspace::new("w/\nother/");
    std::os::unix::fs::symlink(eyelet_bin(), workspace.at("supervisor")).unwrap();
    for tier in [Tier::Namespaces, Tier::Landlock] {
        let turn = supervised_by(&workspace, SandboxPolicy::WorkspaceWrite, tier);
        let turn = turn.with_root(Root::open(workspace.at("other")).unwrap());
        fs::remove_dir(workspace.at("other")).unwrap();
        let error = Bash.run(BashArgs::new("true"), &turn).unwrap_err();
        let message = format!(
            "cannot run the command: the root `{}` was removed",
            workspace.at("other").display()
        );
        assert_eq!((error.code, error.message), (ErrorCode::NotFound, message), "{tier:?}");
        fs::create_dir(workspace.at("other")).unwrap();
    }
}

/// Denies system calls to this thread and its children. If a call has a mask, only the calls with one
/// of these flags in the first argument are denied.
fn refuse(calls: &[(i64, Option<u64>)], error: Errno) {
    let rule = |flag: u64| {
        let how = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, how, flag).unwrap();
        SeccompRule::new(vec![condition]).unwrap()
    };
    let rules: BTreeMap<_, _> = calls
        .iter()
        .map(|(call, flags)| {
            let bits = (0..32).map(|bit| 1 << bit);
            let rules = flags.map(|flags| bits.filter(|bit| flags & bit != 0).map(rule).collect());
            (*call, rules.unwrap_or_default())
        })
        .collect();
    let refused = SeccompAction::Errno(error.raw_os_error().unsigned_abs());
    let architecture = TargetArch::try_from(std::env::consts::ARCH).unwrap();
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture).unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).unwrap();
}

/// Denies the system calls that the default seccomp profile of containers denies.
fn refuse_as_containers_do() {
    const NEW_NAMESPACES: u64 = 0x7e02_0000;
    let whole = [
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_mount_setattr,
        libc::SYS_fsopen,
        libc::SYS_fsmount,
        libc::SYS_fsconfig,
        libc::SYS_bpf,
        libc::SYS_perf_event_open,
    ];
    let mut calls: Vec<_> = whole.map(|call| (call, None)).into();
    calls.push((libc::SYS_clone, Some(NEW_NAMESPACES)));
    refuse(&calls, Errno::PERM);
    refuse(&[(libc::SYS_clone3, None)], Errno::NOSYS);
}

/// Enters a container before the test: new namespaces, another root directory, fewer capabilities.
/// Does not require root.
const CONTAINER: &str = r#"
    PATH=$PATH:/usr/sbin:/sbin # chroot
    eyelet=${EYELET_TEST_BIN:-$(dirname "$0")/../eyelet}
    here=$(mktemp -d) || exit 1
    trap 'rmdir "$here"' EXIT
    unshare -Urmpf --kill-child bash -c '
        set -e
        mount -t tmpfs none "$3"; cd "$3"
        for name in usr bin sbin lib lib64 etc; do
            if [ -L /$name ]; then cp -P /$name $name
            elif [ -d /$name ]; then mkdir $name; mount --rbind /$name $name; fi
        done
        mkdir -p proc dev tmp var/tmp; mount -t proc proc proc
        for name in null zero urandom; do : > dev/$name; mount --bind /dev/$name dev/$name; done
        cp "$1" test; cp "$2" eyelet
        export EYELET_TEST_BIN=/eyelet; unset TMPDIR
        exec chroot . setpriv --bounding-set=-sys_admin,-net_admin,-sys_ptrace --inh-caps=-all \
            /test --exact "$0" --nocapture' "$1" "$0" "$eyelet" "$here"
    exit $?
"#;

/// Runs `body` in such a container, in its own process.
fn in_container(test: &str, body: impl FnOnce()) {
    testkit::in_own_process_after(CONTAINER, test, body);
}

#[test]
fn without_namespaces_in_a_container_the_second_tier_works() {
    let name = "environment::without_namespaces_in_a_container_the_second_tier_works";
    in_container(name, || {
        refuse_as_containers_do();
        let workspace = Workspace::new(".mcp.json = kept");
        let command = "echo inside > made; cat made; echo x > $OUT/x; echo x > /etc/eyelet-x; \
                       echo evil > .mcp.json; exit 3";
        let data = workspace.data(FIRST, command);
        assert_eq!(
            (&data["stdout"], &data["exit_code"]),
            (&json!("inside\n"), &json!(3)),
            "{data}"
        );
        assert_eq!(fs::read_dir(workspace.outside()).unwrap().count(), 0, "{data}");
        assert!(!std::path::Path::new("/etc/eyelet-x").exists(), "{data}");
        assert_eq!(fs::read_to_string(workspace.at(".mcp.json")).unwrap(), "kept", "{data}");
        let doctor = command_of(&workspace, &["doctor"]);
        assert!(doctor.contains("allow unprivileged user namespaces"), "{doctor}");
    });
}

#[test]
fn without_landlock_in_a_container_commands_are_refused() {
    let name = "environment::without_landlock_in_a_container_commands_are_refused";
    in_container(name, || {
        refuse_as_containers_do();
        let landlock = [
            libc::SYS_landlock_create_ruleset,
            libc::SYS_landlock_add_rule,
            libc::SYS_landlock_restrict_self,
        ];
        refuse(&landlock.map(|call| (call, None)), Errno::NOSYS);
        let workspace = Workspace::new("");
        let answer = workspace.answer(FIRST, "echo x > made");
        assert_eq!(answer["error"]["code"], "sandbox_unavailable", "{answer}");
        let hint = answer["error"]["hint"].as_str().unwrap_or_default();
        assert!(hint.contains("--sandbox full"), "{answer}");
        assert!(!workspace.at("made").exists());
        // The advice works.
        assert_eq!(workspace.stdout(&["--sandbox", "full"], "echo runs"), "runs\n");
    });
}

fn command_of(workspace: &Workspace, arguments: &[&str]) -> String {
    let output = command(&workspace.tree).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
