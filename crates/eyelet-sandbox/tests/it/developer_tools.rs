//! Ordinary development work in the sandbox, with the real programs.

use std::path::PathBuf;
use testkit::workspace::{TIERS, Workspace};

/// A workspace whose commands find the toolchains of the user who runs the tests.
pub(crate) fn workshop(description: &str) -> Workspace {
    let mut workspace = Workspace::new(description);
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for (name, folder) in
        [("RUSTUP_HOME", ".rustup"), ("CARGO_HOME", ".cargo"), ("PYENV_ROOT", ".pyenv")]
    {
        if let Some(value) = std::env::var_os(name) {
            workspace.set(name, value);
        } else if home.join(folder).is_dir() {
            workspace.set(name, home.join(folder));
        }
    }
    workspace
}

#[test]
fn git_add_commit_and_diff_work() {
    for tier in TIERS {
        let workspace = workshop("file = one\\n");
        let git = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b; ";
        workspace
            .stdout(tier, &format!("{git} git init -q . && git add . && git commit -qm first"));
        // Now the repository exists, and its config is protected.
        let said = workspace.stdout(
            tier,
            &format!(
                "{git} set -e; echo two >> file; git status --short; git diff --stat | tail -n 1; git add file; \
                 git commit -qm second; git checkout -q -b side; git stash list; git log --oneline | wc -l; git gc -q; git status --short"
            ),
        );
        assert_eq!(said, " M file\n 1 file changed, 1 insertion(+)\n2\n", "{tier:?}");
    }
}

#[test]
fn cargo_builds_offline() {
    if testkit::lacks("cargo") {
        return;
    }
    for tier in TIERS {
        let mut workspace = workshop(
            "Cargo.toml = [package]\\nname = \"tiny\"\\nversion = \"0.1.0\"\\nedition = \"2021\"\\n
             src/main.rs = fn main() { println!(\"built\"); }",
        );
        // Below `/tmp`, only the home stays visible in the sandbox.
        workspace.set("HOME", std::env::var_os("HOME").unwrap_or_default());
        workspace.set("XDG_CACHE_HOME", workspace.tree.beside());
        assert_eq!(
            workspace.stdout(tier, "cargo build -q --offline && target/debug/tiny"),
            "built\n"
        );
    }
}

#[test]
fn python_creates_environments_and_temp_files() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in TIERS {
        let workspace = workshop("");
        let said = workspace.stdout(
            tier,
            "python3 -m venv --without-pip v && v/bin/python -c 'import tempfile, subprocess, os; \
             d = tempfile.mkdtemp(); open(d + \"/x\", \"w\").write(\"y\"); \
             print(subprocess.check_output([\"cat\", d + \"/x\"]).decode())'",
        );
        assert_eq!(said, "y\n", "{tier:?}");
    }
    // Semaphores require shared memory.
    let pool = "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, 2]))'";
    assert_eq!(workshop("").stdout(TIERS[0], pool), "[1, 2]\n");
}

#[test]
#[ignore = "extended: needs pytest from PyPI"]
fn pytest_can_use_its_temp_directories() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in TIERS {
        let mut workspace = workshop(
            "test_it.py = import os, subprocess\\n\
             def test_file(tmp_path): (tmp_path / 'f').write_text('x'); assert (tmp_path / 'f').read_text() == 'x'\\n\
             def test_folder(tmpdir): tmpdir.mkdir('d').join('f').write('y'); assert os.listdir(tmpdir) == ['d']\\n\
             def test_factory(tmp_path_factory): assert tmp_path_factory.mktemp('m').is_dir()\\n\
             def test_streams(capfd): subprocess.run(['echo', 'z'], check=True); assert capfd.readouterr().out == 'z\\\\n'\\n\
             def test_where(tmp_path): assert str(tmp_path).startswith(os.environ['TMPDIR'] + '/')\\n",
        );
        // The workspace is readable, wherever pytest is installed.
        let mut copied = std::process::Command::new("cp");
        copied.arg("-r").arg(testkit::pytest()).arg(workspace.at("lib"));
        assert!(copied.status().unwrap().success());
        workspace.set("PYTHONPATH", workspace.at("lib"));
        let flags = [tier, &["--env", "PYTHONPATH"]].concat();
        for _ in 0..2 {
            let said = workspace.stdout(&flags, "python3 -m pytest -q test_it.py 2>&1");
            assert!(said.contains("5 passed"), "{tier:?} {said}");
        }
        assert!(workspace.at(".pytest_cache").is_dir(), "{tier:?}");
    }
}

#[test]
fn npm_runs_scripts() {
    if testkit::lacks("npm") {
        return;
    }
    for tier in TIERS {
        let workspace = workshop(
            "package.json = {\"name\":\"n\",\"version\":\"1.0.0\",\"scripts\":{\"hello\":\"node -e \\\\\"console.log(40+2)\\\\\"\"}}",
        );
        let said = workspace.stdout(tier, "npm run -s hello");
        assert_eq!(said, "42\n", "{tier:?}");
    }
}

#[test]
fn make_runs_jobs() {
    if testkit::lacks("make") {
        return;
    }
    for tier in TIERS {
        let workspace = workshop("Makefile = all: a b\\na b:\\n\\t@sleep 0.1; echo $@ > $@\\n");
        assert_eq!(workspace.stdout(tier, "make -s -j2 && cat a b"), "a\nb\n", "{tier:?}");
    }
}

#[test]
fn shells_support_here_documents_substitutions_and_temp_files() {
    let workspace = workshop("");
    for tier in TIERS {
        let said = workspace.stdout(
            tier,
            "cat <<X\nhere\nX\ndiff <(echo a) <(echo a) && echo same; f=$(mktemp); echo t > \"$f\"; cat \"$f\"; \
             echo e > /dev/stderr; echo o > /dev/stdout; echo gone > /dev/null; head -c 2 /dev/zero | wc -c; \
             seq 3 | tee >(cat > \"$TMPDIR/copy\") | tail -n 1; until [ $(wc -l < \"$TMPDIR/copy\") = 3 ]; do sleep 0.01; done; wc -l < \"$TMPDIR/copy\"",
        );
        assert_eq!(said, "here\nsame\nt\no\n2\n3\n3\n", "{tier:?}");
    }
}
