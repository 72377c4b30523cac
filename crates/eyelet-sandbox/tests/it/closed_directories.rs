//! Attacks that close a directory with `chmod`, so that eyelet cannot search or watch it, and open it again later.
//!
//! Root can search every directory; for root these tests check that nothing is different.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use eyelet::Tool as _;
use eyelet::tools::{Bash, BashArgs};
use eyelet_sandbox::Tier;
use testkit::workspace::{FIRST, TIERS, Workspace, within};

use crate::planted_settings::{BOTH, has_plant, repositories, run};
use crate::supervision::session;

/// Neither readable nor accessible, only accessible, only readable.
const CLOSED: [u32; 3] = [0o000, 0o300, 0o600];

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn closing_a_directory_does_not_hide_its_repository_from_the_next_session() {
    for tier in BOTH {
        for (closed, mode) in [("sub", 0o000), ("sub", 0o300), ("sub", 0o600), ("sub/.git", 0o300)]
        {
            let workspace = repositories();
            run(&session(&workspace, tier), &format!("chmod {mode:o} {closed}"));
            // In case that the first session has opened it again.
            set_mode(&workspace.at(closed), mode);
            let attack = format!(
                "chmod 700 {closed}; echo evil >> sub/.git/config; echo evil > sub/.git/commondir; echo tried"
            );
            let report = Bash.run(BashArgs::new(&attack), &session(&workspace, tier));
            set_mode(&workspace.at(closed), 0o700);
            assert!(!has_plant(&workspace, "sub/.git"), "{tier:?} {closed} {mode:o}: {report:?}");
            assert!(workspace.at("sub/.git/HEAD").exists(), "{tier:?} {closed} {mode:o}");
            if let Err(error) = report {
                assert!(error.message.contains("; run `chmod u+rwx` on it"), "{error:?}");
                // The advice helps, in the same session too.
                run(&session(&workspace, tier), "true");
            }
        }
    }
}

#[test]
fn a_directory_that_the_user_opens_again_is_searched_again() {
    let workspace = repositories();
    set_mode(&workspace.at("sub"), 0o300);
    let turn = session(&workspace, Tier::Namespaces);
    run(&turn, "true");
    set_mode(&workspace.at("sub"), 0o700);
    let report = run(&turn, "ls sub/.git/HEAD; echo evil >> sub/.git/config");
    assert!(report.stdout.text().contains("sub/.git/HEAD"), "{report:?}");
    assert!(!has_plant(&workspace, "sub/.git"), "{report:?}");
}

#[test]
fn closing_a_directory_does_not_reveal_a_denied_file_to_the_next_session() {
    for mode in CLOSED {
        let workspace = Workspace::new("conf/deep/.env = CANARY");
        let flags = [FIRST, &["--deny", "**/.env"]].concat();
        for closed in ["conf", "conf/deep"] {
            workspace.data(&flags, &format!("chmod {mode:o} {closed}"));
            let attack =
                format!("chmod 700 conf {closed}; cat conf/deep/.env; mv conf c; cat c/deep/.env");
            let data = workspace.data(&flags, &attack);
            assert!(!data.to_string().contains("CANARY"), "{mode:o} {closed}: {data}");
            set_mode(&workspace.at("conf"), 0o700);
            set_mode(&workspace.at("conf/deep"), 0o700);
            assert_eq!(fs::read_to_string(workspace.at("conf/deep/.env")).unwrap(), "CANARY");
        }
    }
}

#[test]
fn closing_the_directory_of_a_secret_does_not_reveal_it() {
    for tier in TIERS {
        for mode in CLOSED {
            let workspace = Workspace::new("");
            let config = workspace.outside().join(".config");
            fs::create_dir_all(config.join("gh")).unwrap();
            fs::write(config.join("gh/hosts.yml"), "CANARY").unwrap();
            // The second tier does not prevent it outside the roots.
            set_mode(&config, mode);
            let mut eyelet = workspace.eyelet(tier);
            let attack = "chmod 700 ~/.config; cat ~/.config/gh/*; echo tried";
            let eyelet = eyelet.env("HOME", workspace.outside()).args(["bash", attack]);
            let output = eyelet.output().unwrap();
            set_mode(&config, 0o700);
            let printed = String::from_utf8_lossy(&output.stdout);
            assert!(
                !printed.contains("CANARY") && printed.contains("tried"),
                "{tier:?}: {output:?}"
            );
        }
    }
}

#[test]
fn a_plant_in_a_closed_directory_is_removed_while_the_command_runs() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = session(&workspace, tier);
        let command = "mkdir -m 300 .cargo; sleep 0.1; echo evil > .cargo/config.toml; : > planted; \
                       until [ -e ended ]; do sleep 0.01; done";
        std::thread::scope(|scope| {
            let call = scope.spawn(|| run(&turn, command));
            assert!(within(Duration::from_secs(30), || workspace.at("planted").exists()));
            let plant = workspace.at(".cargo/config.toml");
            let is_gone = within(Duration::from_secs(30), || !plant.exists());
            fs::write(workspace.at("ended"), "").unwrap();
            let report = call.join().unwrap();
            set_mode(&workspace.at(".cargo"), 0o700);
            assert!(is_gone && report.exit_code == 0, "{tier:?}: {report:?}");
        });
    }
}

#[test]
fn a_repository_moved_into_a_closed_directory_is_moved_back() {
    let workspace = repositories();
    let turn = session(&workspace, Tier::Landlock);
    run(&turn, "true");
    let own = workspace.at("own");
    fs::create_dir(&own).unwrap();
    set_mode(&own, 0o300);
    let report = run(&turn, "mkdir -p c/d; chmod 300 c/d c; mv sub/.git c/d/g");
    assert!(workspace.at("sub/.git/HEAD").exists(), "{report:?}");
    // The search leaves the modes of other directories as they are.
    assert_eq!(mode(&own), 0o300, "{report:?}");
    for path in ["own", "c", "c/d"] {
        set_mode(&workspace.at(path), 0o700);
    }
}
