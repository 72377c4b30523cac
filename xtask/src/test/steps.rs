//! The steps of `cargo xtask test`. A new step is one entry here.

use std::process::Command;

use super::needs::{CHROMIUM, CLIPPY, MUSL, NPM, Need, PYTHON, ROOT, RUSTFMT};
use super::{
    agents, conformance, import_cycles, mcp_clients, pytest, ripgrep, second_user, spec_rules,
};
use super::{built, skipped};
use crate::workspace::{Workspace, run};
use crate::{dist, docs, soak};

/// Which command runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// `cargo xtask test`: no network but for crates.
    Basic,
    /// `cargo xtask test --extended`: registries, long runs, the whole matrix.
    Extended,
}

/// One thing that has to pass. The first that fails ends the run.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) set: Set,
    pub(super) needs: &'static [Need],
    /// Steps that have to run before this one; they are quick when they have run once.
    pub(super) after: &'static [&'static str],
    pub(super) run: fn(&Workspace) -> Result<(), String>,
}

pub(super) const STEPS: &[Step] = &[
    Step {
        name: "format",
        about: "the code is formatted",
        set: Set::Basic,
        needs: &[RUSTFMT],
        after: &[],
        run: format,
    },
    Step {
        name: "spec",
        about: "every rule of SPEC.md and every attack in SECURITY.md names a test that exists",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: spec_rules::check,
    },
    Step {
        name: "imports",
        about: "no modules import each other in a cycle",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: |workspace| import_cycles::check(&workspace.root),
    },
    Step {
        name: "links",
        about: "every link between the pages of the repository leads to an existing file or heading",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: docs::check,
    },
    Step {
        name: "clippy",
        about: "no lint complains",
        set: Set::Basic,
        needs: &[CLIPPY],
        after: &[],
        run: |workspace| {
            clippy(workspace, "Cargo.toml", &["--workspace"])?;
            clippy(workspace, "Cargo.toml", LIBRARY_WITHOUT_SANDBOX)
        },
    },
    Step {
        name: "docs",
        about: "the API documentation builds without warnings",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: rustdoc,
    },
    Step {
        name: "ripgrep",
        about: "builds ripgrep, with which tests compare search results",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: ripgrep::install,
    },
    Step {
        name: "tests",
        about: "unit, integration and documentation tests",
        set: Set::Basic,
        needs: &[],
        after: &["ripgrep"],
        run: tests,
    },
    Step {
        name: "no-sandbox",
        about: "checks the dependencies of the library without its feature `sandbox`, and runs the tests of `bash`",
        set: Set::Basic,
        needs: &[],
        after: &["ripgrep"],
        run: no_sandbox,
    },
    Step {
        name: "examples",
        about: "runs the library's examples",
        set: Set::Basic,
        needs: &[],
        after: &[],
        run: examples,
    },
    Step {
        name: "second-user",
        about: "path, sandbox and file tests as a user who owns no files",
        set: Set::Basic,
        needs: &[ROOT],
        after: &["ripgrep"],
        run: second_user::some,
    },
    Step {
        name: "benches",
        about: "no lint complains about the benchmarks and the fuzz targets, and docs/benchmarks.md is up to date",
        set: Set::Extended,
        needs: &[CLIPPY],
        after: &[],
        run: benches,
    },
    Step {
        name: "site",
        about: "`cargo xtask docs` builds the site, and the site has no broken links",
        set: Set::Extended,
        needs: &[],
        after: &[],
        run: |workspace| docs::build(workspace, &[]),
    },
    Step {
        name: "static",
        about: "the program compiles for the musl target of `cargo xtask dist`",
        set: Set::Extended,
        needs: &[MUSL],
        after: &[],
        run: dist::check,
    },
    Step {
        name: "dist",
        about: "builds the parts of a release with the `eyelet` of the tests, and checks them",
        set: Set::Extended,
        needs: &[],
        after: &[],
        run: |workspace| {
            let skipped = dist::rehearse(workspace, &built::built(workspace)?.eyelet)?;
            skipped::add(workspace, &skipped)
        },
    },
    Step {
        name: "pytest",
        about: "installs pytest and runs it in the sandbox",
        set: Set::Extended,
        needs: &[PYTHON],
        after: &[],
        run: pytest::test,
    },
    Step {
        name: "registries",
        about: "npm, pip and cargo in the sandbox, with those real registries that this machine can reach",
        set: Set::Extended,
        needs: &[],
        after: &[],
        run: registries,
    },
    Step {
        name: "stats-page",
        about: "checks the HTML page of `eyelet stats` in Chromium",
        set: Set::Extended,
        needs: &[CHROMIUM],
        after: &[],
        run: stats_page,
    },
    Step {
        name: "load",
        about: "load tests at full size, and comparisons with `rg` in more random repositories",
        set: Set::Extended,
        needs: &[],
        after: &["ripgrep"],
        run: load,
    },
    Step {
        name: "soak",
        about: "mixed calls of many clients for a few seconds, over stdio and over HTTP",
        set: Set::Extended,
        needs: &[],
        after: &[],
        run: soak::run_briefly,
    },
    Step {
        name: "second-user-all",
        about: "all tests as a user who owns no files",
        set: Set::Extended,
        needs: &[ROOT],
        after: &["ripgrep"],
        run: second_user::all,
    },
    Step {
        name: "python-client",
        about: "tests the server with the Python SDK",
        set: Set::Extended,
        needs: &[PYTHON],
        after: &[],
        run: mcp_clients::python,
    },
    Step {
        name: "node-packages",
        about: "installs the clients that run on Node",
        set: Set::Extended,
        needs: &[NPM],
        after: &[],
        run: mcp_clients::install_node,
    },
    Step {
        name: "typescript-client",
        about: "tests the server with the TypeScript SDKs",
        set: Set::Extended,
        needs: &[NPM],
        after: &["node-packages"],
        run: mcp_clients::typescript,
    },
    Step {
        name: "inspector",
        about: "tests the server with the command line of the MCP Inspector",
        set: Set::Extended,
        needs: &[NPM],
        after: &["node-packages"],
        run: mcp_clients::inspector,
    },
    Step {
        name: "conformance",
        about: "tests the server with the MCP conformance suite, over HTTP",
        set: Set::Extended,
        needs: &[NPM],
        after: &["node-packages"],
        run: conformance::check,
    },
    Step {
        name: "agents",
        about: "sets up real agents with `eyelet setup`, and checks that they find the server",
        set: Set::Extended,
        needs: &[NPM],
        after: &[],
        run: agents::check,
    },
];

/// Selects the library without its default feature.
const LIBRARY_WITHOUT_SANDBOX: &[&str] = &["-p", "eyelet", "--no-default-features"];

/// How many random repositories the extended run searches, beside those of `tests`.
const REPOSITORIES: &str = "400";

fn format(workspace: &Workspace) -> Result<(), String> {
    for manifest in ["Cargo.toml", "bench/Cargo.toml", "fuzz/Cargo.toml"] {
        run(workspace.cargo().args(["fmt", "--all", "--check", "--manifest-path", manifest]))?;
    }
    Ok(())
}

/// Checks a workspace in the one target directory, so that dependencies are compiled once.
fn clippy(workspace: &Workspace, manifest: &str, packages: &[&str]) -> Result<(), String> {
    let mut clippy = workspace.cargo();
    clippy.arg("clippy").args(packages).args(["--all-targets", "--locked"]);
    clippy.arg("--manifest-path").arg(manifest).arg("--target-dir").arg(built::target(workspace));
    run(clippy.args(["--", "-D", "warnings"]))
}

/// The tests of the benchmarks compare docs/benchmarks.md with the reports.
fn benches(workspace: &Workspace) -> Result<(), String> {
    clippy(workspace, "bench/Cargo.toml", &["--workspace"])?;
    clippy(workspace, "fuzz/Cargo.toml", &["--workspace"])?;
    let mut test = workspace.cargo();
    test.args(["test", "--locked", "--manifest-path", "bench/Cargo.toml"]);
    run(test.arg("--target-dir").arg(built::target(workspace)))
}

fn rustdoc(workspace: &Workspace) -> Result<(), String> {
    let arguments = ["doc", "--workspace", "--no-deps", "--locked"];
    run(workspace.cargo().args(arguments).env("RUSTDOCFLAGS", "-D warnings"))
}

fn tests(workspace: &Workspace) -> Result<(), String> {
    run(cargo_test(workspace).arg("--workspace"))
}

/// The other tests of the library do not depend on the feature.
fn no_sandbox(workspace: &Workspace) -> Result<(), String> {
    let mut tree = workspace.cargo();
    tree.arg("tree").args(LIBRARY_WITHOUT_SANDBOX);
    let tree = tree.args(["--locked", "--edges", "normal", "--target", "all"]).output();
    let tree = tree.map_err(|error| format!("cannot start `cargo tree`: {error}"))?;
    if !tree.status.success() {
        return Err(format!("`cargo tree`: {}", String::from_utf8_lossy(&tree.stderr)));
    }
    let dependencies = String::from_utf8_lossy(&tree.stdout);
    for dependency in ["eyelet-sandbox", "landlock", "seccompiler"] {
        if dependencies.contains(dependency) {
            return Err(format!("without its feature `sandbox`, eyelet depends on {dependency}"));
        }
    }
    run(cargo_test(workspace).args(LIBRARY_WITHOUT_SANDBOX).arg("bash"))
}

/// `cargo test` that finds ripgrep and reports skipped tests.
pub(super) fn cargo_test(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo();
    command
        .args(["test", "--locked"])
        .env("EYELET_TEST_RG", ripgrep::path(workspace))
        .env(skipped::VARIABLE, skipped::file(workspace));
    command
}

/// Runs each example that `cargo test` built; it has to exit 0.
fn examples(workspace: &Workspace) -> Result<(), String> {
    let examples = built::built(workspace)?.examples;
    if examples.is_empty() {
        return Err("cargo built no example".to_owned());
    }
    for example in examples {
        println!("   {}", example.display());
        run(Command::new(example).current_dir(&workspace.root))?;
    }
    Ok(())
}

fn registries(workspace: &Workspace) -> Result<(), String> {
    run(cargo_test(workspace)
        .args(["--package", "eyelet-sandbox", "--test", "it", "--"])
        .args(["--ignored", "package_managers::real_registries"]))
}

fn stats_page(workspace: &Workspace) -> Result<(), String> {
    // The tests run the program of the crate.
    run(workspace.cargo().args(["build", "--locked", "--package", "eyelet-cli"]))?;
    run(cargo_test(workspace).args([
        "--package",
        "eyelet-cli",
        "--test",
        "it",
        "--",
        "--ignored",
        "stats_page::",
    ]))
}

fn load(workspace: &Workspace) -> Result<(), String> {
    run(cargo_test(workspace)
        .args(["--workspace", "--test", "it", "--", "load::", "grep_differential::"])
        .env("EYELET_TEST_WHOLE", "1")
        .env("EYELET_TEST_ROUNDS", REPOSITORIES))
}
