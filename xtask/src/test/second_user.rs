//! The tests as a user who owns nothing: root's rights hide what fails for others.

use std::ffi::OsString;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::built::{TestProgram, built};
use super::{pytest, ripgrep, skipped};
use crate::workspace::{Workspace, run};

/// `nobody` on most systems; the number need not have a name.
const USER: u32 = 65534;

/// Modules of the library's tests whose results depend on who owns a file.
const LIBRARY_MODULES: &[&str] = &[
    "paths::",
    "hostile_",
    "deny_list::",
    "list_dir::",
    "read::",
    "grep_hostile::",
    "bash_",
    "races::",
];

/// The path, sandbox and file tests.
pub(super) fn some(workspace: &Workspace) -> Result<(), String> {
    let files = fs::read_dir(workspace.root.join("crates/eyelet/tests/it"))
        .map_err(|error| format!("crates/eyelet/tests/it: {error}"))?;
    let files: Vec<_> = files.filter_map(Result::ok).map(|file| file.file_name()).collect();
    for module in LIBRARY_MODULES {
        let is_its =
            |file: &OsString| file.to_string_lossy().starts_with(module.trim_end_matches(':'));
        if !files.iter().any(is_its) {
            return Err(format!("no test file matches the filter {module}"));
        }
    }
    test(workspace, |program| match program.package.as_str() {
        "eyelet" => Some(LIBRARY_MODULES),
        "eyelet-sandbox" => Some(&[]),
        _ => None,
    })
}

/// All tests.
pub(super) fn all(workspace: &Workspace) -> Result<(), String> {
    test(workspace, |_| Some(&[]))
}

/// Runs the test programs for which `filters` returns names; no name means all tests.
fn test(
    workspace: &Workspace,
    filters: impl Fn(&TestProgram) -> Option<&'static [&'static str]>,
) -> Result<(), String> {
    let built = built(workspace)?;
    let copy = Copy::new();
    let copy =
        copy.map_err(|error| format!("cannot create a directory for uid {USER}: {error}"))?;
    let copied = |program: &Path| {
        copy.program(program).map_err(|error| format!("{}: {error}", program.display()))
    };
    let eyelet = copied(&built.eyelet)?;
    let rg = copied(&ripgrep::path(workspace))?;
    let reports = copy.path("tmp").join("skipped-tests.txt");
    if let Some(target) = built.eyelet.parent() {
        // The tests find them beside their own program.
        let examples = copy.path("examples");
        run(Command::new("cp").arg("-r").arg(target.join("examples")).arg(&examples))?;
        run(Command::new("chmod").args(["-R", "a+rX"]).arg(&examples))?;
    }
    let pytest = copy.path("pytest");
    let has_pytest = pytest::path(workspace).exists();
    if has_pytest {
        run(Command::new("cp").arg("-r").arg(pytest::path(workspace)).arg(&pytest))?;
        run(Command::new("chmod").args(["-R", "a+rX"]).arg(&pytest))?;
    }
    for program in &built.tests {
        let Some(filters) = filters(program) else { continue };
        let test = copied(&program.path)?;
        println!("   uid {USER}: {} {}", program.package, filters.join(" "));
        let mut command = Command::new(&test);
        command
            .args(filters)
            // The ignored tests are those of pytest.
            .args((filters.is_empty() && has_pytest).then_some("--include-ignored"))
            .env_clear()
            .env("EYELET_TEST_PYTEST", &pytest)
            .envs(
                ["PATH", "RUSTUP_HOME"]
                    .iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .env("HOME", copy.path("home"))
            .env("TMPDIR", copy.path("tmp"))
            .env("EYELET_TEST_BIN", &eyelet)
            .env("EYELET_TEST_RG", &rg)
            .env(skipped::VARIABLE, &reports)
            .current_dir(&copy.top)
            // The standard library drops root's other groups with the user.
            .gid(USER)
            .uid(USER);
        run(&mut command)?;
    }
    collect(&reports, &skipped::file(workspace))
        .map_err(|error| format!("{}: {error}", reports.display()))
}

/// Adds the second user's reports of skipped tests to those of the first.
fn collect(from: &Path, to: &Path) -> io::Result<()> {
    let text = match fs::read_to_string(from) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    let mut file = OpenOptions::new().append(true).create(true).open(to)?;
    text.lines().try_for_each(|line| writeln!(file, "{}{line}", skipped::SECOND_USER))
}

/// A directory that everyone can read, removed on drop.
struct Copy {
    top: PathBuf,
}

impl Copy {
    fn new() -> io::Result<Self> {
        let name = format!("eyelet-second-user-{}", std::process::id());
        // Not `TMPDIR`, which may lie in root's home.
        let top = Path::new("/tmp").join(name);
        fs::create_dir(&top)?;
        let copy = Copy { top };
        fs::set_permissions(&copy.top, Permissions::from_mode(0o755))?;
        for name in ["home", "tmp"] {
            fs::create_dir(copy.path(name))?;
            chown(copy.path(name), Some(USER), Some(USER))?;
        }
        Ok(copy)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.top.join(name)
    }

    fn program(&self, original: &Path) -> io::Result<PathBuf> {
        let name = original.file_name().unwrap_or_default();
        let copied = self.top.join(name);
        fs::copy(original, &copied)?;
        fs::set_permissions(&copied, Permissions::from_mode(0o755))?;
        Ok(copied)
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.top) {
            eprintln!("cannot remove {}: {error}", self.top.display());
        }
    }
}
