//! Working directories and roots that are removed while the server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{ErrorCode, Root, SandboxPolicy, SandboxSettings, Tool as _, TurnContext};
use eyelet_sandbox::{Supervisor, Tier, TierChoice};
use serde_json::json;
use testkit::cli::command;
use testkit::eyelet_bin;
use testkit::mcp_client::Server;
use testkit::workspace::{SUPERVISED, Workspace};

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
