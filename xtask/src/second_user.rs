//! The tests once more as a user who owns nothing: what root may do hides what others may not.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Workspace, cargo};

/// `nobody`, on most systems; it need not have a name.
const USER: u32 = 65534;

pub(crate) fn test(workspace: &Workspace) -> Result<(), String> {
    if !is_root() {
        println!("not root: ran this user's half; the tests of a second user need root");
        return Ok(());
    }
    let built = cargo::built(workspace)?;
    let copy = Copy::new().map_err(|error| format!("a copy for uid {USER}: {error}"))?;
    let copied = |program: &Path| {
        copy.program(program).map_err(|error| format!("{}: {error}", program.display()))
    };
    let eyelet = copied(&built.eyelet)?;
    let rg = copied(&workspace.tools().join("bin/rg"))?;
    let pytest = copy.folder("pytest");
    cargo::run(Command::new("cp").arg("-r").arg(workspace.tools().join("pytest")).arg(&pytest))?;
    for test in &built.tests {
        let test = copied(test)?;
        println!("   uid {USER}: {}", test.display());
        let mut command = Command::new(&test);
        command
            .env_clear()
            .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", copy.folder("home"))
            .env("TMPDIR", copy.folder("tmp"))
            .env("EYELET_TEST_BIN", &eyelet)
            .env("EYELET_TEST_RG", &rg)
            .env("EYELET_TEST_PYTEST", &pytest)
            .current_dir(&copy.top)
            // The standard library drops root's other groups with the user.
            .gid(USER)
            .uid(USER);
        cargo::run(&mut command)?;
    }
    Ok(())
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

/// A folder that everyone can read, removed when it is dropped.
struct Copy {
    top: PathBuf,
}

impl Copy {
    fn new() -> io::Result<Self> {
        let name = format!("eyelet-second-user-{}", std::process::id());
        let top = std::env::temp_dir().join(name);
        fs::create_dir(&top)?;
        let copy = Copy { top };
        fs::set_permissions(&copy.top, Permissions::from_mode(0o755))?;
        for name in ["home", "tmp"] {
            fs::create_dir(copy.folder(name))?;
            chown(copy.folder(name), Some(USER), Some(USER))?;
        }
        Ok(copy)
    }

    fn folder(&self, name: &str) -> PathBuf {
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
            eprintln!("{} could not be removed: {error}", self.top.display());
        }
    }
}
