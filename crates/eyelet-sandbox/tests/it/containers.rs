//! Containers that refuse namespaces or Landlock.

use std::collections::BTreeMap;
use std::fs;

use rustix::io::Errno;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};
use serde_json::json;
use testkit::cli::command;
use testkit::workspace::{FIRST, Workspace};

use crate::denied_files::{hidden, run_during};

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

const LANDLOCK: [i64; 3] = [
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
];

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
    let name = "containers::without_namespaces_in_a_container_the_second_tier_works";
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
    let name = "containers::without_landlock_in_a_container_commands_are_refused";
    in_container(name, || {
        refuse_as_containers_do();
        refuse(&LANDLOCK.map(|call| (call, None)), Errno::NOSYS);
        let workspace = Workspace::new("");
        let answer = workspace.answer(FIRST, "echo x > made");
        assert_eq!(answer["error"]["code"], "sandbox_unavailable", "{answer}");
        assert_eq!(
            answer["error"]["hint"], "restart with --sandbox full to run commands unsandboxed",
            "{answer}"
        );
        assert!(!workspace.at("made").exists());
        // The advice works.
        assert_eq!(workspace.stdout(&["--sandbox", "full"], "echo runs"), "runs\n");
    });
}

#[test]
fn without_landlock_a_replaced_secret_is_covered_again() {
    let name = "containers::without_landlock_a_replaced_secret_is_covered_again";
    testkit::in_own_process(name, || {
        refuse(&LANDLOCK.map(|call| (call, None)), Errno::NOSYS);
        let workspace = Workspace::new("");
        let home = workspace.outside();
        fs::write(home.join("open"), "open").unwrap();
        fs::write(home.join(".claude.json"), "CANARY").unwrap();
        fs::create_dir(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), "CANARY").unwrap();
        let replace = || {
            fs::write(home.join("new"), "CANARY").unwrap();
            fs::rename(home.join("new"), home.join(".claude.json")).unwrap();
            fs::rename(home.join(".ssh"), home.join("old")).unwrap();
            fs::create_dir(home.join(".ssh")).unwrap();
            fs::write(home.join(".ssh/id"), "CANARY").unwrap();
        };
        let files = "~/.claude.json ~/.ssh/id";
        let command = format!("{}; cat {files} ~/old/id ~/open", hidden(files));
        let printed = run_during(&workspace, FIRST, &command, replace);
        assert!(!printed.contains("CANARY") && printed.contains("open"), "{printed}");
    });
}

fn command_of(workspace: &Workspace, arguments: &[&str]) -> String {
    let output = command(&workspace.tree).args(arguments).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
