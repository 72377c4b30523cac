//! Package managers with network access, against a local server.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use testkit::registry::Registry;
use testkit::workspace::{TIERS, Workspace};

/// The home directory of the commands' user.
fn home(workspace: &Workspace) -> PathBuf {
    workspace.tree.beside()
}

fn with_network(tier: &[&'static str]) -> Vec<&'static str> {
    [tier, &["--network"]].concat()
}

/// The names in a directory, which need not exist.
fn names(folder: PathBuf) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn npm_installs_from_the_registry_of_the_users_settings() {
    if testkit::lacks("npm") {
        return;
    }
    let registry = Registry::start();
    registry.add_npm();
    for tier in TIERS {
        let workspace = Workspace::new("package.json = {\"name\":\"n\",\"version\":\"1.0.0\"}");
        let settings = format!(
            "@own:registry={}\n//{}:_authToken=top-secret\n",
            registry.url("npm/"),
            registry.host("npm/"),
        );
        fs::write(home(&workspace).join(".npmrc"), settings).unwrap();
        let install = "npm install --no-audit --no-fund --no-update-notifier @own/tiny >&2 && \
                       node -p 'require(\"@own/tiny\")' && cat \"$NPM_CONFIG_USERCONFIG\"";
        let said = workspace.stdout(&with_network(tier), install);
        assert_eq!(said, format!("tiny\n@own:registry={}\n", registry.url("npm/")), "{tier:?}");
        assert!(!home(&workspace).join(".npm").exists(), "{tier:?}");
    }
    assert!(registry.requests().contains("/npm/@own"), "{}", registry.requests());
    assert!(!registry.requests().contains("top-secret"));
}

#[test]
fn pip_installs_in_a_virtual_environment() {
    if testkit::lacks("python3") || testkit::lacks("pip3") {
        return;
    }
    let registry = Registry::start();
    registry.add_wheel();
    for tier in TIERS {
        let mut workspace = Workspace::new("");
        workspace.set("PIP_INDEX_URL", registry.url("simple/"));
        let install = "python3 -m venv v && \
                       v/bin/pip install -q --disable-pip-version-check tiny-wheel >&2 && \
                       v/bin/python -c 'import tiny_wheel; print(tiny_wheel.NAME)'; \
                       [ \"$(v/bin/pip cache dir)\" = \"$PIP_CACHE_DIR\" ]";
        // The environment has more than a thousand files.
        let arguments = serde_json::json!({ "command": install, "timeout_secs": 300 });
        let answer = workspace.answer_of(&with_network(tier), &arguments);
        assert_eq!(answer["data"]["stdout"], "tiny\n", "{tier:?} {answer}");
        assert_eq!(answer["data"]["exit_code"], 0, "{tier:?} {answer}");
        assert_eq!(names(home(&workspace).join(".cache")), ["eyelet"], "{tier:?}");
    }
}

/// A workspace in which cargo uses the registry `local` of the user's settings.
fn cargo_project(registry: &Registry) -> Workspace {
    let mut workspace = Workspace::new(
        "Cargo.toml = [package]\\nname = \"n\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n\
             [dependencies]\\ntinycrate = { version = \"1\", registry = \"local\" }\\n
         src/lib.rs = pub use tinycrate::name;\\n",
    );
    let toolchains = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let default = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".rustup"));
    if let Some(toolchains) = toolchains.or_else(default) {
        workspace.set("RUSTUP_HOME", toolchains);
    }
    let index = registry.url("crates/");
    let settings = format!("[registries.local]\nindex = \"sparse+{index}\"\n");
    fs::create_dir(home(&workspace).join(".cargo")).unwrap();
    fs::write(home(&workspace).join(".cargo/config.toml"), settings).unwrap();
    workspace
}

#[test]
fn cargo_builds_with_dependencies_and_the_users_settings() {
    if testkit::lacks("cargo") {
        return;
    }
    let registry = Registry::start();
    registry.add_crate();
    for tier in TIERS {
        let workspace = cargo_project(&registry);
        let build = "cargo build -q >&2 && ls target/debug/deps | grep -c '^libtinycrate.*rlib'";
        assert_eq!(workspace.stdout(&with_network(tier), build), "1\n", "{tier:?}");
        // The user's own directory is as it was.
        assert_eq!(names(home(&workspace).join(".cargo")), ["config.toml"], "{tier:?}");
        // Without network access, cargo reads the packages that the user has.
        let offline = workspace.stdout(tier, "echo ${CARGO_HOME-unset}; echo ${GOMODCACHE-unset}");
        assert_eq!(offline, "unset\nunset\n", "{tier:?}");
    }
}

#[test]
fn go_builds_with_dependencies() {
    let version = Command::new("go").arg("version").stdout(Stdio::null()).status();
    if !version.is_ok_and(|status| status.success()) {
        return testkit::skip("go does not run");
    }
    if testkit::lacks("python3") {
        return;
    }
    let registry = Registry::start();
    registry.add_module();
    for tier in TIERS {
        let mut workspace = Workspace::new(
            "go.mod = module n.example/n\\n\\ngo 1.18\\n\\nrequire own.example/tiny v1.0.0\\n
             main.go = package main\\n\\nimport \"own.example/tiny\"\\n\\nfunc main() { print(tiny.Name) }\\n",
        );
        workspace.set("GOPROXY", registry.url("go"));
        workspace.set("GONOSUMDB", "own.example");
        let build = "go build -mod=mod -o n . >&2 && ./n 2>&1";
        assert_eq!(workspace.stdout(&with_network(tier), build), "tiny", "{tier:?}");
        assert!(!home(&workspace).join("go").exists(), "{tier:?}");
        assert_eq!(names(home(&workspace).join(".cache")), ["eyelet"], "{tier:?}");
    }
}

#[test]
fn git_clones_over_http() {
    let registry = Registry::start();
    registry.add_repository();
    for tier in TIERS {
        let workspace = Workspace::new("");
        let clone = format!("git clone -q {} c && cat c/file", registry.url("repository.git"));
        assert_eq!(workspace.stdout(&with_network(tier), &clone), "tiny\n", "{tier:?}");
    }
}

#[test]
fn registry_and_proxy_variables_reach_commands_with_network() {
    let plain = [
        ("PIP_INDEX_URL", "https://pypi.example/simple"),
        ("NPM_CONFIG_REGISTRY", "https://npm.example/"),
        ("GOPROXY", "https://go.example,direct"),
        ("HTTPS_PROXY", "http://proxy.example:3128"),
        ("no_proxy", "localhost,.example"),
        ("REQUESTS_CA_BUNDLE", "/etc/ssl/own.pem"),
        ("CARGO_REGISTRIES_OWN_INDEX", "sparse+https://crates.example/"),
    ];
    let secret = [
        ("PIP_EXTRA_INDEX_URL", "https://me:secret@pypi.example/simple"),
        ("HTTP_PROXY", "http://me:secret@proxy.example:3128"),
        ("CARGO_REGISTRIES_OWN_TOKEN", "secret"),
        ("NPM_TOKEN", "secret"),
    ];
    let mut workspace = Workspace::new("");
    for (name, value) in plain.into_iter().chain(secret) {
        workspace.set(name, value);
    }
    for tier in TIERS {
        let said = workspace.stdout(&with_network(tier), "env");
        for (name, value) in plain {
            assert!(said.lines().any(|line| line == format!("{name}={value}")), "{tier:?} {said}");
        }
        assert!(!said.contains("secret"), "{tier:?} {said}");
        let said = workspace.stdout(tier, "env");
        assert!(!said.contains("example"), "{tier:?} {said}");
        // A user who means it can pass anything.
        let flags = [&with_network(tier)[..], &["--env", "NPM_TOKEN"]].concat();
        assert_eq!(workspace.stdout(&flags, "echo $NPM_TOKEN"), "secret\n", "{tier:?}");
    }
}

#[test]
fn a_refused_request_names_the_hidden_credentials() {
    let registry = Registry::start();
    for tier in TIERS {
        let workspace = Workspace::new("package.json = {\"name\":\"n\",\"version\":\"1.0.0\"}");
        let clone = format!("git clone -q {} c", registry.url("private/repository.git"));
        let mut commands = vec![(clone, "git")];
        if !testkit::lacks("npm") {
            let url = registry.url("private/npm/");
            commands.push((format!("npm view --registry {url} tiny"), "npm"));
        }
        for (command, program) in commands {
            let data = workspace.data(&with_network(tier), &command);
            let blocked = "sandbox probably blocked: credentials (HTTP 401)";
            assert_eq!(data["sandbox_blocked"][0], blocked, "{tier:?} {program} {data}");
            assert_eq!(data["sandbox_hint"], "allow with --env NAME", "{tier:?} {program} {data}");
        }
        // A command that succeeds has no hint.
        let data = workspace.data(&with_network(tier), "echo HTTP 401 Unauthorized >&2");
        assert_eq!(data.get("sandbox_blocked"), None, "{tier:?} {data}");
    }
}

#[test]
#[ignore = "extended: needs npm, PyPI or crates.io"]
fn real_registries_work_with_network() {
    // With the settings of the machine, which may name mirrors.
    let mut workspace = Workspace::new(
        "package.json = {\"name\":\"n\",\"version\":\"1.0.0\"}
         Cargo.toml = [package]\\nname = \"n\"\\nversion = \"1.0.0\"\\nedition = \"2021\"\\n\
             [dependencies]\\nitoa = \"1\"\\n
         src/lib.rs = pub use itoa::Buffer;\\n",
    );
    for (name, value) in std::env::vars_os() {
        if let Some(name) = name.to_str().filter(|name| !["TMPDIR", "PWD"].contains(name)) {
            workspace.set(name, value);
        }
    }
    let commands = [
        (
            "npm",
            "npm view is-odd",
            "npm install --no-audit --no-fund is-odd && ls node_modules/is-odd",
        ),
        (
            "pip3",
            "pip3 download -q --no-deps -d $OUT/wheels iniconfig",
            "rm -rf v && python3 -m venv v && v/bin/pip install -q iniconfig && v/bin/python -c 'import iniconfig'",
        ),
        ("cargo", "cargo info -q itoa", "rm -rf target && cargo build -q"),
    ];
    for (program, outside, inside) in commands {
        if testkit::lacks(program) {
            continue;
        }
        // What the user cannot reach outside of the sandbox says nothing about the sandbox.
        let mut direct = Command::new("bash");
        direct.args(["-c", outside]).env("OUT", workspace.outside()).current_dir("/");
        let output = direct.stdin(Stdio::null()).output().unwrap();
        if !output.status.success() {
            testkit::skip(&format!("{program} does not reach its registry"));
            continue;
        }
        for tier in TIERS {
            workspace.stdout(&with_network(tier), &format!("({inside}) >&2"));
        }
    }
}
