//! Attacks of sandboxed commands on secrets: in every place, behind symlinks, moved by variables.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use eyelet::{SECRET_VARIABLES, SECRETS};
use eyelet_sandbox::{Place, Policy, Program, Raw, SandboxRequest, Supervisor, Tier, TierChoice};
use testkit::eyelet_bin;
use testkit::workspace::{TIERS, Workspace};

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Runs `command` with the outside directory as the home. Returns its output, which must not have a secret.
fn run(workspace: &Workspace, tier: &[&str], command: &str) -> String {
    let mut eyelet = workspace.eyelet(tier);
    let output = eyelet.env("HOME", workspace.outside()).args(["bash", command]).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!printed.contains("CANARY"), "{tier:?} {command}: {printed}");
    assert!(printed.contains("seen"), "{tier:?} {command}: {output:?}");
    printed
}

#[test]
fn every_secret_of_the_table_is_hidden() {
    let workspace = Workspace::new("");
    let home = workspace.outside();
    // The path below the home, with the defaults of variables.
    fn below_home(path: &str) -> Option<String> {
        if let Some(below) = path.strip_prefix("~/") {
            return Some(below.to_owned());
        }
        let variable = path.strip_prefix('$')?;
        let (variable, rest) = variable.split_once('/').unwrap_or((variable, ""));
        let default = SECRET_VARIABLES.iter().find(|(name, _)| *name == variable)?.1;
        let whole = format!("{default}/{rest}");
        below_home(whole.trim_end_matches('/'))
    }
    let mut count = 0;
    for path in SECRETS.iter().flat_map(|secret| secret.paths()).filter_map(below_home) {
        // A file or a directory: both must be hidden.
        match count % 2 {
            0 => write(&home.join(path), "CANARY"),
            _ => write(&home.join(path).join("id"), "CANARY"),
        }
        count += 1;
    }
    assert!(count > 200, "{count}");
    for open in ["open", ".config/other", ".cargo/config.toml", ".local/share/other/f"] {
        write(&home.join(open), "seen\n");
    }
    for tier in TIERS {
        let command = "grep -rs CANARY ~; cat ~/open ~/.config/other ~/.cargo/config.toml ~/.local/share/other/f";
        let printed = run(&workspace, tier, command);
        assert_eq!(printed, "seen\nseen\nseen\nseen\n", "{tier:?}");
    }
}

#[test]
fn secrets_behind_symlinks_in_the_home_are_hidden() {
    let workspace = Workspace::new("");
    let home = workspace.outside();
    for secret in ["dotfiles/ssh/id", "dotfiles/config/gh/hosts.yml", "dotfiles/aws"] {
        write(&home.join(secret), "CANARY");
    }
    for open in ["dotfiles/open", "dotfiles/config/other"] {
        write(&home.join(open), "seen\n");
    }
    fs::create_dir(home.join(".aws")).unwrap();
    symlink("dotfiles/ssh", home.join(".ssh")).unwrap();
    symlink(home.join("dotfiles/config"), home.join(".config")).unwrap();
    symlink("../dotfiles/aws", home.join(".aws/credentials")).unwrap();
    for tier in TIERS {
        let command = "cat ~/.ssh/id ~/dotfiles/ssh/id ~/.config/gh/* ~/dotfiles/config/gh/* ~/dotfiles/aws \
                       ~/.aws/*; grep -rs CANARY ~; cat ~/dotfiles/open ~/.config/other";
        assert_eq!(run(&workspace, tier, command), "seen\nseen\n", "{tier:?}");
    }
}

#[test]
fn secrets_that_variables_move_are_hidden() {
    let mut workspace = Workspace::new("");
    let home = workspace.outside().to_owned();
    write(&home.join("open"), "seen\n");
    for (variable, value, secret) in [
        ("XDG_CONFIG_HOME", "xdg", "xdg/gh/hosts.yml"),
        ("XDG_DATA_HOME", "data", "data/keyrings/login.keyring"),
        ("GNUPGHOME", "gpg", "gpg/private-keys-v1.d/key"),
        ("KUBECONFIG", "kube/a", "kube/a"),
        ("CLAUDE_CONFIG_DIR", "claude", "claude/.credentials.json"),
        ("CODEX_HOME", "codex", "codex/auth.json"),
        ("CARGO_HOME", "cargo", "cargo/credentials.toml"),
        ("DOCKER_CONFIG", "docker", "docker/config.json"),
        ("AWS_SHARED_CREDENTIALS_FILE", "amazon", "amazon"),
        ("PGPASSFILE", "postgres", "postgres"),
        ("HISTFILE", "history", "history"),
    ] {
        workspace.set(variable, home.join(value));
        write(&home.join(secret), "CANARY");
    }
    for tier in TIERS {
        assert_eq!(run(&workspace, tier, "grep -rs CANARY ~; cat ~/open"), "seen\n", "{tier:?}");
    }
    // A list of files.
    let list = format!("{0}/kube/a:{0}/kube/b", home.display());
    workspace.set("KUBECONFIG", list);
    write(&home.join("kube/b"), "CANARY");
    for tier in TIERS {
        assert_eq!(run(&workspace, tier, "grep -rs CANARY ~; cat ~/open"), "seen\n", "{tier:?}");
    }
}

#[test]
fn without_home_the_secrets_of_the_user_database_are_hidden() {
    let workspace = Workspace::new("");
    let home = workspace.outside();
    write(&home.join(".ssh/id"), "CANARY");
    write(&home.join("open"), "seen\n");
    // Its own user database: this user, with the outside directory as the home.
    let passwd = workspace.at("passwd");
    fs::write(&passwd, format!("root:x:0:0::{}:/bin/sh\n", home.display())).unwrap();
    let shell = "mount --bind passwd /etc/passwd && unset HOME && exec \"$@\"";
    let namespaced = |program: &std::process::Command| {
        let mut unshare = std::process::Command::new("unshare");
        unshare.args(["-rm", "sh", "-c", shell, "sh"]).arg(program.get_program());
        unshare.args(program.get_args()).current_dir(workspace.tree.path()).env("OUT", home);
        unshare
    };
    let works = namespaced(&std::process::Command::new("true")).status();
    if !works.is_ok_and(|status| status.success()) {
        return testkit::skip("namespaces are refused");
    }
    for tier in TIERS {
        let mut eyelet = workspace.eyelet(tier);
        eyelet.args(["bash", "cat $OUT/open; cat $OUT/.ssh/id; grep -rs CANARY $OUT; echo $HOME"]);
        let output = namespaced(&eyelet).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, format!("seen\n{}\n", home.display()), "{tier:?} {output:?}");
    }
}

#[test]
fn a_root_in_a_directory_of_secrets_is_usable() {
    // Agents keep work trees beside their settings.
    let workspace = Workspace::new("");
    let home = workspace.outside();
    let root = home.join(".codex/worktrees/a");
    write(&home.join(".codex/auth.json"), "CANARY");
    write(&home.join(".codex/sessions/s"), "CANARY");
    write(&home.join(".codex/worktrees/b/f"), "CANARY");
    write(&root.join("f"), "seen\n");
    for tier in TIERS {
        let mut eyelet = workspace.eyelet(tier);
        eyelet.env("HOME", home).arg("--root").arg(&root).arg("--cwd").arg(&root);
        let command =
            "cat f; echo new > made && cat made; grep -rs CANARY ~; cat ../b/f ../../auth.json";
        let output = eyelet.args(["bash", command]).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, "seen\nnew\n", "{tier:?} {output:?}");
    }
}

#[test]
fn cargo_git_npm_and_pip_work_beside_hidden_credentials() {
    let mut workspace = Workspace::new(
        "lib/package.json = {\"name\":\"lib\",\"version\":\"1.0.0\"}
         package.json = {\"name\":\"n\",\"version\":\"1.0.0\",\"dependencies\":{\"lib\":\"file:lib\"}}
         Cargo.toml = [package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n
         src/main.rs = fn main() { println!(\"built\"); }",
    );
    let home = workspace.outside().to_owned();
    for secret in [".npmrc", ".git-credentials", ".config/git/credentials", ".pypirc"] {
        write(&home.join(secret), "CANARY");
    }
    for secret in [".cargo/credentials.toml", ".cargo/credentials"] {
        write(&home.join(secret), "[registry]\ntoken = \"CANARY\"\n");
    }
    let config = "[user]\nname = a\nemail = a@b\n[credential]\nhelper = store\n";
    write(&home.join(".gitconfig"), config);
    workspace.set("CARGO_HOME", home.join(".cargo"));
    // The toolchain of the user who runs the tests.
    let own = std::env::var_os("HOME").map(std::path::PathBuf::from).unwrap_or_default();
    let toolchain = std::env::var_os("RUSTUP_HOME").unwrap_or_else(|| own.join(".rustup").into());
    workspace.set("RUSTUP_HOME", toolchain);
    for (number, tier) in TIERS.iter().copied().enumerate() {
        // A new directory: the repository of an earlier session is protected, so commands cannot remove it.
        let git = format!(
            "git init -q g{number} && git -C g{number} commit -q --allow-empty -m x && echo seen"
        );
        run(&workspace, tier, &git);
        if !testkit::lacks("npm") {
            let npm = "export npm_config_cache=$TMPDIR/npm; npm install --offline --no-audit >&2 && npm ci --offline \
                       --no-audit >&2 && test -e node_modules/lib/package.json && echo seen";
            run(&workspace, tier, npm);
        }
        if !testkit::lacks("cargo") && own.join(".rustup").is_dir() {
            run(&workspace, tier, "cargo build -q --offline && target/debug/tiny && echo seen");
        }
        if !testkit::lacks("python3") {
            run(
                &workspace,
                tier,
                "python3 -m pip config list >&2; python3 -m pip --version >&2; echo seen",
            );
        }
    }
}

#[test]
fn a_temp_directory_that_a_symlink_replaced_gives_no_access() {
    let workspace = Workspace::new("replaced/");
    let secret = workspace.outside().join("secret");
    write(&secret, "safe");
    let found = fs::metadata(workspace.at("replaced")).unwrap();
    fs::remove_dir(workspace.at("replaced")).unwrap();
    symlink(workspace.outside(), workspace.at("replaced")).unwrap();
    let place = Place { path: workspace.at("replaced"), identity: (found.dev(), found.ino()) };
    let program = Program {
        file: "/bin/sh".into(),
        arguments: vec![Raw("-c".into()), Raw(format!("echo lost > {}", secret.display()).into())],
        environment: Vec::new(),
    };
    let mut request = SandboxRequest::new(Policy::ReadOnly, Some(program));
    request.tier = TierChoice::Only(Tier::Landlock);
    request.private_temp = Some(place);
    let mut supervised = Supervisor::at(eyelet_bin()).start(&request, workspace.outside()).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    assert!(supervised.wait_for_exit(end).unwrap().success());
    assert_eq!(fs::read_to_string(&secret).unwrap(), "safe");
}
