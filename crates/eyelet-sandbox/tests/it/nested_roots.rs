//! Two eyelet processes, one on a directory and one on a directory in it.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use eyelet::{Environment, PrivateTemp, Root, SandboxPolicy, SandboxSettings, TurnContext};
use eyelet_sandbox::{Supervisor, Tier, TierChoice};
use testkit::eyelet_bin;
use testkit::workspace::{Workspace, within};

use crate::planted_settings::{BOTH, has_plant, repositories, run};

/// A session with one root in the workspace.
fn session(workspace: &Workspace, root: &Path, tier: Tier) -> TurnContext {
    let temp = PrivateTemp::session(workspace.tree.beside());
    let settings = SandboxSettings::new(Supervisor::at(eyelet_bin()))
        .with_tier(TierChoice::Only(tier))
        .with_private_temp(Arc::new(temp));
    let environment: Environment =
        std::env::var_os("PATH").map(|path| ("PATH", path)).into_iter().collect();
    TurnContext::new(root, SandboxPolicy::WorkspaceWrite)
        .unwrap()
        .with_root(Root::open(root).unwrap())
        .with_environment(environment)
        .with_sandbox_settings(Arc::new(settings))
}

#[test]
fn commands_on_nested_roots_run_at_the_same_time() {
    for tier in BOTH {
        for roots in [["", "sub"], ["sub", ""], ["sub/", "sub/deep"]] {
            let workspace = repositories();
            fs::create_dir_all(workspace.at("sub/deep/.git")).unwrap();
            let [first, second] = roots.map(|root| session(&workspace, &workspace.at(root), tier));
            // Each of them knows the repositories.
            run(&first, "true");
            run(&second, "true");
            run(&first, "true");
            let (up, ended) = (workspace.at("sub/deep/up"), workspace.at("sub/deep/ended"));
            let wait = format!(
                ": > '{}'; until [ -e '{}' ]; do sleep 0.01; done",
                up.display(),
                ended.display()
            );
            std::thread::scope(|scope| {
                let call = scope.spawn(|| run(&first, &wait));
                assert!(within(Duration::from_secs(30), || up.exists()), "{tier:?} {roots:?}");
                let git = workspace.at("sub/deep/.git");
                let plant =
                    format!("echo evil > '{0}/commondir'; mv '{0}' '{0}2'; true", git.display());
                run(&second, "true");
                run(&second, &plant);
                run(&second, "true");
                fs::write(&ended, "").unwrap();
                assert_eq!(call.join().unwrap().exit_code, 0, "{tier:?} {roots:?}");
            });
            assert!(git_is_there(&workspace), "{tier:?} {roots:?}");
            assert!(!has_plant(&workspace, "sub/deep/.git"), "{tier:?} {roots:?}");
        }
    }
}

fn git_is_there(workspace: &Workspace) -> bool {
    workspace.at("sub/deep/.git").is_dir() && !workspace.at("sub/deep/.git2").exists()
}
