//! Attacks with `chmod` on the record of protected paths and on the way to the roots: in the second tier, commands can change
//! the modes of the user's directories everywhere.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;
use testkit::workspace::{SECOND, Workspace, envelope};

use crate::planted_settings::user_git;

/// The command `program` with a user database in which the home of this user is that of the workspace: the record is
/// there. None if the system refuses namespaces.
fn at_home(workspace: &Workspace, program: &Command) -> Option<Command> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let home = workspace.tree.beside();
    let line = format!("me:x:{}:{}::{}:/bin/sh\n", user.as_raw(), group.as_raw(), home.display());
    fs::write(workspace.outside().join("passwd"), line).unwrap();
    // An ordinary user must have no capabilities: they would open closed directories.
    let shell = "mount --bind \"$OUT/passwd\" /etc/passwd && \
                 exec setpriv --ambient-caps=-all --inh-caps=-all \"$@\"";
    let prepared = |program: &Command| {
        let mut unshare = Command::new("unshare");
        unshare.args(["-Um", "--map-current-user", "--keep-caps", "sh", "-c", shell, "sh"]);
        unshare.arg(program.get_program()).args(program.get_args()).env_clear();
        unshare.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        unshare.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        unshare.env("OUT", workspace.outside()).current_dir(workspace.tree.path());
        unshare
    };
    let works = prepared(&Command::new("true")).output().unwrap();
    if !works.status.success() {
        testkit::skip("namespaces are refused");
        return None;
    }
    Some(prepared(program))
}

/// Runs a command in the second tier, in a session of its own. Returns what it printed.
fn run(workspace: &Workspace, command: &str) -> Option<String> {
    let mut eyelet = workspace.eyelet(SECOND);
    let command = format!("S=~/.local/state/eyelet; {command}");
    let arguments = json!({ "command": command, "timeout_secs": 60 }).to_string();
    let output = at_home(workspace, eyelet.args(["call", "bash", &arguments]))?.output().unwrap();
    Some(envelope(&output).to_string())
}

fn has_record(workspace: &Workspace) -> bool {
    workspace.tree.beside().join(".local/state/eyelet").is_dir()
}

fn is_evil(file: &Path) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.contains("evil"))
}

#[test]
fn closing_the_record_or_the_way_to_it_does_not_keep_a_plant() {
    for close in [
        "chmod 000 $S",
        "chmod 755 $S/*",
        "chmod 000 $S/*",
        "chmod 000 $S/*/records",
        "chmod 000 $S/*/marks $S/*/lock",
        "chmod 000 $S/*/records/* $S/*/marks/* $S/*/lock",
        // Also the way to the root.
        "chmod 000 ~",
        "(while :; do chmod 000 $S/*/records $S/*/lock; done) & chmod 000 ~",
    ] {
        let workspace = Workspace::new("");
        user_git(&workspace, &["init", "-q", "."]);
        let Some(first) = run(&workspace, "true") else { return };
        assert!(has_record(&workspace), "{first}");
        let attack = format!(
            "exec 2>/dev/null; cd .git; {close}; printf '[core]\\n\\tfsmonitor = evil\\n' >> config; \
             for i in {{1..1000}}; do grep -q evil config || break; sleep 0.01; done"
        );
        let attacked = run(&workspace, &attack).unwrap();
        let config = workspace.at(".git/config");
        assert!(!is_evil(&config), "{close}: {attacked}");
        // The next session does not take anything for the user's either.
        let next = run(&workspace, "true").unwrap();
        assert!(!is_evil(&config) && next.contains("\"ok\":true"), "{close}: {next}");
    }
}

#[test]
fn opening_the_record_to_others_does_not_replace_it() {
    let workspace = Workspace::new("");
    user_git(&workspace, &["init", "-q", "."]);
    user_git(&workspace, &["init", "-q", "--bare", "mirror.git"]);
    let broken = "mv mirror.git/HEAD mirror.git/H; chmod 755 $S $S/* $S/*/*";
    let Some(first) = run(&workspace, broken) else { return };
    // Only the record knows this repository.
    let plant = "echo evil >> mirror.git/config; mv mirror.git/H mirror.git/HEAD";
    let second = run(&workspace, plant).unwrap();
    assert!(!is_evil(&workspace.at("mirror.git/config")), "{first} {second}");
}
