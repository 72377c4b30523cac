//! `eyelet config`: the layers of the configuration, and the values in force.

use std::fs;

use expect_test::expect;
use testkit::TempTree;
use testkit::cli::{command, eyelet};

/// Runs `eyelet` with variables and a config file of the user.
fn run(variables: &[(&str, &str)], file: &str, arguments: &[&str]) -> String {
    let tree = TempTree::new("");
    if !file.is_empty() {
        fs::create_dir_all(tree.beside().join(".config/eyelet")).unwrap();
        fs::write(tree.beside().join(".config/eyelet/config.toml"), file).unwrap();
    }
    let output = command(&tree).envs(variables.iter().copied()).args(arguments).output().unwrap();
    let mut result = format!("exit {}\n", output.status.code().unwrap());
    result.push_str(&String::from_utf8(output.stdout).unwrap());
    result.push_str(&String::from_utf8(output.stderr).unwrap());
    tree.redact(&result).replace(tree.beside().to_str().unwrap(), "/home")
}

const FILE: &str = "root = [\"/file\"]\nread_anywhere = true\ndeny = \"*.file\"\nsearch_engine = \"rg\"\nspill_bytes = 4096\nmemory = \"25%\"\n";

#[test]
fn values_without_settings_are_defaults() {
    expect![[r#"
        exit 0
        root           the client's roots, or else the working directory  default
        read_anywhere  false                                              default
        deny           none                                               default
        search_engine  embedded                                           default
        spill_bytes    see `eyelet limits`                                default
        sandbox        workspace-write                                    default
        writable       none                                               default
        network        false                                              default
        allow_host     none                                               default
        memory         half of the memory of the machine or container     default
        env            none                                               default
        strict         false                                              default
        tools          all                                                default
        reply          text                                               default
        reply_bytes    the client's limit                                 default
        config file not found: /home/.config/eyelet/config.toml
    "#]]
    .assert_eq(&run(&[], "", &["config"]));
}

#[test]
fn file_overrides_the_defaults() {
    expect![[r#"
        exit 0
        root           /file               /home/.config/eyelet/config.toml
        read_anywhere  true                /home/.config/eyelet/config.toml
        deny           *.file              /home/.config/eyelet/config.toml
        search_engine  rg                  /home/.config/eyelet/config.toml
        spill_bytes    4096                /home/.config/eyelet/config.toml
        sandbox        workspace-write     default
        writable       none                default
        network        false               default
        allow_host     none                default
        memory         25%                 /home/.config/eyelet/config.toml
        env            none                default
        strict         false               default
        tools          all                 default
        reply          text                default
        reply_bytes    the client's limit  default
    "#]]
    .assert_eq(&run(&[], FILE, &["config"]));
}

#[test]
fn flags_override_variables_and_variables_the_file() {
    let variables = [
        ("EYELET_ROOT", "/variable:/two"),
        ("EYELET_READ_ANYWHERE", "false"),
        ("EYELET_SPILL_BYTES", "7"),
        ("EYELET_MEMORY", "512M"),
    ];
    expect![[r#"
        exit 0
        root           /variable /two      EYELET_ROOT
        read_anywhere  false               EYELET_READ_ANYWHERE
        deny           *.file              /home/.config/eyelet/config.toml
        search_engine  rg                  /home/.config/eyelet/config.toml
        spill_bytes    7                   EYELET_SPILL_BYTES
        sandbox        workspace-write     default
        writable       none                default
        network        false               default
        allow_host     none                default
        memory         512M                EYELET_MEMORY
        env            none                default
        strict         false               default
        tools          all                 default
        reply          text                default
        reply_bytes    the client's limit  default
    "#]]
    .assert_eq(&run(&variables, FILE, &["config"]));
    let flags = ["--root", "/flag", "config", "--root", "/after", "--memory", "4G"];
    expect![[r#"
        exit 0
        root           /flag /after        --root
        read_anywhere  false               EYELET_READ_ANYWHERE
        deny           *.file              /home/.config/eyelet/config.toml
        search_engine  rg                  /home/.config/eyelet/config.toml
        spill_bytes    7                   EYELET_SPILL_BYTES
        sandbox        workspace-write     default
        writable       none                default
        network        false               default
        allow_host     none                default
        memory         4G                  --memory
        env            none                default
        strict         false               default
        tools          all                 default
        reply          text                default
        reply_bytes    the client's limit  default
    "#]]
    .assert_eq(&run(&variables, FILE, &flags));
}

#[test]
fn deny_lists_are_merged() {
    let variables = [("EYELET_DENY", "*.one:*.two")];
    let result = run(&variables, FILE, &["config", "--deny", "*.flag"]);
    let row = result.lines().find(|line| line.starts_with("deny ")).unwrap();
    expect!["deny           *.flag *.one *.two *.file  --deny, EYELET_DENY, /home/.config/eyelet/config.toml"].assert_eq(row);
}

#[test]
fn json_has_the_same_values() {
    let variables = [("EYELET_DENY", "*.one")];
    expect![[r#"
        exit 0
        {
          "file": {
            "path": "/home/.config/eyelet/config.toml",
            "found": true
          },
          "values": [
            {
              "key": "root",
              "flag": "--root",
              "variable": "EYELET_ROOT",
              "value": [
                "/file"
              ],
              "default": "the client's roots, or else the working directory",
              "from": [
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "read_anywhere",
              "flag": "--read-anywhere",
              "variable": "EYELET_READ_ANYWHERE",
              "value": true,
              "default": "false",
              "from": [
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "deny",
              "flag": "--deny",
              "variable": "EYELET_DENY",
              "value": [
                "*.one",
                "*.file"
              ],
              "default": "none",
              "from": [
                "EYELET_DENY",
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "search_engine",
              "flag": "--search-engine",
              "variable": "EYELET_SEARCH_ENGINE",
              "value": "rg",
              "default": "embedded",
              "from": [
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "spill_bytes",
              "flag": "--spill-bytes",
              "variable": "EYELET_SPILL_BYTES",
              "value": 4096,
              "default": "see `eyelet limits`",
              "from": [
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "sandbox",
              "flag": "--sandbox",
              "variable": "EYELET_SANDBOX",
              "value": null,
              "default": "workspace-write",
              "from": [
                "default"
              ]
            },
            {
              "key": "writable",
              "flag": "--writable",
              "variable": "EYELET_WRITABLE",
              "value": null,
              "default": "none",
              "from": [
                "default"
              ]
            },
            {
              "key": "network",
              "flag": "--network",
              "variable": "EYELET_NETWORK",
              "value": null,
              "default": "false",
              "from": [
                "default"
              ]
            },
            {
              "key": "allow_host",
              "flag": "--allow-host",
              "variable": "EYELET_ALLOW_HOST",
              "value": null,
              "default": "none",
              "from": [
                "default"
              ]
            },
            {
              "key": "memory",
              "flag": "--memory",
              "variable": "EYELET_MEMORY",
              "value": "25%",
              "default": "half of the memory of the machine or container",
              "from": [
                "/home/.config/eyelet/config.toml"
              ]
            },
            {
              "key": "env",
              "flag": "--env",
              "variable": "EYELET_ENV",
              "value": null,
              "default": "none",
              "from": [
                "default"
              ]
            },
            {
              "key": "strict",
              "flag": "--strict",
              "variable": "EYELET_STRICT",
              "value": null,
              "default": "false",
              "from": [
                "default"
              ]
            },
            {
              "key": "tools",
              "flag": "--tools",
              "variable": "EYELET_TOOLS",
              "value": null,
              "default": "all",
              "from": [
                "default"
              ]
            },
            {
              "key": "reply",
              "flag": "--reply",
              "variable": "EYELET_REPLY",
              "value": null,
              "default": "text",
              "from": [
                "default"
              ]
            },
            {
              "key": "reply_bytes",
              "flag": "--reply-bytes",
              "variable": "EYELET_REPLY_BYTES",
              "value": null,
              "default": "the client's limit",
              "from": [
                "default"
              ]
            }
          ],
          "registries": [
            "registry.npmjs.org:443",
            "registry.yarnpkg.com:443",
            "nodejs.org:443",
            "jsr.io:443",
            "npm.jsr.io:443",
            "deno.land:443",
            "pypi.org:443",
            "files.pythonhosted.org:443",
            "conda.anaconda.org:443",
            "repo.anaconda.com:443",
            "crates.io:443",
            "index.crates.io:443",
            "static.crates.io:443",
            "static.rust-lang.org:443",
            "proxy.golang.org:443",
            "sum.golang.org:443",
            "go.dev:443",
            "golang.org:443",
            "repo.maven.apache.org:443",
            "repo1.maven.org:443",
            "plugins.gradle.org:443",
            "services.gradle.org:443",
            "rubygems.org:443",
            "index.rubygems.org:443",
            "packagist.org:443",
            "repo.packagist.org:443",
            "api.nuget.org:443",
            "pub.dev:443",
            "hex.pm:443",
            "repo.hex.pm:443",
            "github.com:443",
            "codeload.github.com:443",
            "raw.githubusercontent.com:443",
            "objects.githubusercontent.com:443",
            "release-assets.githubusercontent.com:443",
            "gitlab.com:443",
            "bitbucket.org:443",
            "codeberg.org:443",
            "git.sr.ht:443"
          ]
        }
    "#]]
    .assert_eq(&run(&variables, FILE, &["config", "--json"]));
}

#[test]
fn unknown_keys_and_wrong_values_are_errors() {
    let mut all = String::new();
    for file in [
        "rot = 1\n",
        "spill_bytes = 0\n",
        "spill_bytes = \"many\"\n",
        "memory = \"200%\"\n",
        "\nroot = [1]\n",
        "read_anywhere = \"yes\"\n",
        "search_engine = \"grep\"\n",
        "cwd = \"/\"\n",
        "\nroot = \n",
    ] {
        all.push_str(&run(&[], file, &["config"]));
    }
    for (name, value) in [
        ("EYELET_ROT", "1"),
        ("EYELET_SPILL_BYTES", "many"),
        ("EYELET_MEMORY", "half"),
        ("EYELET_READ_ANYWHERE", "yes"),
        ("EYELET_SEARCH_ENGINE", "grep"),
    ] {
        all.push_str(&run(&[(name, value)], "", &["config"]));
    }
    expect![[r#"
        exit 2
        eyelet: /home/.config/eyelet/config.toml: unknown key `rot`; known keys: root, read_anywhere, deny, search_engine, spill_bytes, sandbox, writable, network, allow_host, memory, env, strict, tools, reply, reply_bytes
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `spill_bytes`: invalid value '0' for '--spill-bytes <N>': 0 is not in 1..18446744073709551615
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `spill_bytes`: expected a whole number, got "many"
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `memory`: invalid value '200%' for '--memory <SIZE>': expected a size such as 4G or 512M, or a percentage from 1% to 100%
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `root`: expected a list of strings, got [1]
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `read_anywhere`: expected true or false, got "yes"
        exit 2
        eyelet: /home/.config/eyelet/config.toml: `search_engine`: invalid value 'grep' for '--search-engine <ENGINE>' [possible values: embedded, rg]
        exit 2
        eyelet: /home/.config/eyelet/config.toml: unknown key `cwd`; known keys: root, read_anywhere, deny, search_engine, spill_bytes, sandbox, writable, network, allow_host, memory, env, strict, tools, reply, reply_bytes
        exit 2
        eyelet: /home/.config/eyelet/config.toml: line 2: string values must be quoted, expected literal string
        exit 2
        eyelet: unknown variable EYELET_ROT; known variables: EYELET_ROOT, EYELET_READ_ANYWHERE, EYELET_DENY, EYELET_SEARCH_ENGINE, EYELET_SPILL_BYTES, EYELET_SANDBOX, EYELET_WRITABLE, EYELET_NETWORK, EYELET_ALLOW_HOST, EYELET_MEMORY, EYELET_ENV, EYELET_STRICT, EYELET_TOOLS, EYELET_REPLY, EYELET_REPLY_BYTES
        exit 2
        eyelet: EYELET_SPILL_BYTES: invalid value 'many' for '--spill-bytes <N>': invalid digit found in string
        exit 2
        eyelet: EYELET_MEMORY: invalid value 'half' for '--memory <SIZE>': expected a size such as 4G or 512M, or a percentage from 1% to 100%
        exit 2
        eyelet: EYELET_READ_ANYWHERE: expected true or false, got `yes`
        exit 2
        eyelet: EYELET_SEARCH_ENGINE: invalid value 'grep' for '--search-engine <ENGINE>' [possible values: embedded, rg]
    "#]].assert_eq(&all);
}

#[test]
fn files_of_the_project_are_ignored() {
    let tree = TempTree::new("");
    for name in ["config.toml", "eyelet.toml", ".eyelet.toml", ".eyelet/config.toml"] {
        tree.file(name, FILE);
    }
    tree.file(".config/eyelet/config.toml", FILE);
    assert!(!eyelet(&tree, ["config"]).contains("4096"));
    let output = command(&tree).env("XDG_CONFIG_HOME", ".config").arg("config").output().unwrap();
    assert!(!String::from_utf8(output.stdout).unwrap().contains("4096"));
}

#[test]
fn other_commands_use_flags_only() {
    let variables = [("EYELET_ROOT", "/nowhere"), ("EYELET_ROT", "1")];
    expect![[r#"
        exit 1
        {"ok":false,"error":{"code":"invalid_input","message":"offset exceeds directory entry count"}}
    "#]].assert_eq(&run(
        &variables,
        "rot = 1",
        &["call", "list_dir", "{\"dir_path\":\"/proc/self/fdinfo\",\"offset\":999}"],
    ));
}

#[test]
fn registries_are_printed_with_those_of_the_user() {
    let text = run(
        &[("NPM_CONFIG_REGISTRY", "https://npm.example.com/x")],
        "",
        &["config", "--allow-host", "registries"],
    );
    let (_, hosts) = text.split_once("allow_host: `registries` stands for these hosts:\n").unwrap();
    let hosts: Vec<_> = hosts.lines().map(str::trim).collect();
    assert!(hosts.contains(&"pypi.org:443") && hosts.contains(&"npm.example.com:443"), "{text}");
    assert!(!run(&[], "", &["config"]).contains("pypi.org"));
}

#[test]
fn hosts_in_the_variable_are_separated_by_commas() {
    let text = run(&[("EYELET_ALLOW_HOST", "a.com:443,localhost:80")], "", &["config"]);
    let line = text.lines().find(|line| line.starts_with("allow_host")).unwrap();
    assert!(
        line.contains("a.com:443 localhost:80 ") && line.ends_with("EYELET_ALLOW_HOST"),
        "{line}"
    );
}
