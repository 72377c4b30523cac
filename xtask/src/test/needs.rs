//! What a machine must have for the tests, and what single steps need beyond that.

use std::path::Path;
use std::process::{Command, Stdio};

/// Something that a step needs. Without it the step is skipped.
pub(crate) struct Need {
    pub(crate) name: &'static str,
    test: Test,
    /// How to get it.
    advice: &'static str,
}

enum Test {
    /// This call succeeds.
    Runs(&'static str, &'static [&'static str]),
    Root,
}

pub(crate) const RUSTFMT: Need = Need {
    name: "rustfmt",
    test: Test::Runs("cargo", &["fmt", "--version"]),
    advice: "rustup component add rustfmt",
};
pub(crate) const CLIPPY: Need = Need {
    name: "clippy",
    test: Test::Runs("cargo", &["clippy", "--version"]),
    advice: "rustup component add clippy",
};
pub(crate) const ROOT: Need = Need { name: "root", test: Test::Root, advice: "run it as root" };
// Debian ships `venv` without the `ensurepip` that it requires.
pub(crate) const PYTHON: Need = Need {
    name: "python-venv",
    test: Test::Runs("python3", &["-c", "import ensurepip, venv"]),
    advice: "apt-get install python3-venv",
};
pub(crate) const NPM: Need = Need {
    name: "npm",
    test: Test::Runs("npm", &["--version"]),
    advice: "apt-get install nodejs npm",
};
pub(super) const CHROMIUM: Need = Need {
    name: "chromium",
    test: Test::Runs("chromium", &["--version"]),
    advice: "apt-get install chromium",
};
pub(crate) const MUSL: Need = Need {
    name: "musl",
    test: Test::Runs(
        "sh",
        &["-c", "test -d \"$(rustc --print target-libdir --target x86_64-unknown-linux-musl)\""],
    ),
    advice: "rustup target add x86_64-unknown-linux-musl",
};
pub(crate) const DPKG: Need = Need {
    name: "dpkg-deb",
    test: Test::Runs("dpkg-deb", &["--version"]),
    advice: "apt-get install dpkg",
};
pub(crate) const LINTIAN: Need = Need {
    name: "lintian",
    test: Test::Runs("lintian", &["--version"]),
    advice: "apt-get install lintian",
};
pub(crate) const MAN: Need = Need {
    name: "man",
    test: Test::Runs("man", &["--warnings", "--version"]),
    advice: "apt-get install man-db",
};
pub(crate) const MANDOC: Need = Need {
    name: "mandoc",
    // It has no flag for its version.
    test: Test::Runs("sh", &["-c", "command -v mandoc"]),
    advice: "apt-get install mandoc",
};
pub(crate) const ZSH: Need =
    Need { name: "zsh", test: Test::Runs("zsh", &["--version"]), advice: "apt-get install zsh" };
pub(crate) const FISH: Need =
    Need { name: "fish", test: Test::Runs("fish", &["--version"]), advice: "apt-get install fish" };

const OPTIONAL: &[&Need] = &[
    &RUSTFMT, &CLIPPY, &ROOT, &PYTHON, &NPM, &CHROMIUM, &MUSL, &DPKG, &LINTIAN, &MAN, &MANDOC,
    &ZSH, &FISH,
];

/// Programs that tests skip themselves without (`testkit::lacks`), beside the needs of steps.
const OF_TESTS: &[&str] = &["cargo", "go", "make", "pip3", "python3", "strace"];

/// Without these nothing works.
const REQUIRED: &[Need] = &[
    Need {
        name: "git",
        test: Test::Runs("git", &["--version"]),
        advice: "apt-get install git (macOS: xcode-select --install)",
    },
    Need {
        name: "a C compiler (cc)",
        test: Test::Runs("cc", &["--version"]),
        advice: "apt-get install gcc libc6-dev (macOS: xcode-select --install)",
    },
    Need { name: "bash", test: Test::Runs("bash", &["--version"]), advice: "apt-get install bash" },
];

/// Every name that `--require` accepts.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    OPTIONAL.iter().map(|need| need.name).chain(OF_TESTS.iter().copied())
}

/// Fails with a list of everything that is missing and required.
pub(super) fn check_required() -> Result<(), String> {
    let missing = REQUIRED.iter().filter(|need| need.missing().is_some());
    let missing: Vec<_> =
        missing.map(|need| format!("  {:20} {}", need.name, need.advice)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("the tests require programs that are missing:\n{}", missing.join("\n")))
}

impl Need {
    /// Why it is missing, and how to get it.
    pub(crate) fn missing(&self) -> Option<String> {
        match self.test {
            Test::Root if is_root() => None,
            Test::Root => Some("not root".to_owned()),
            Test::Runs(program, arguments) if runs(program, arguments) => None,
            Test::Runs(..) => Some(format!("{} is missing: {}", self.name, self.advice)),
        }
    }
}

fn runs(program: &str, arguments: &[&str]) -> bool {
    let cargo = std::env::var_os("CARGO").filter(|_| program == "cargo");
    let status = Command::new(cargo.unwrap_or_else(|| program.into()))
        .args(arguments)
        .current_dir(Path::new("/"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

/// Whether this process runs as root.
pub(crate) fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout.trim_ascii() == b"0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_the_command_that_installs_it() {
        let need = Need {
            name: "magic",
            test: Test::Runs("eyelet-test-no-such-program", &[]),
            advice: "apt-get install magic",
        };
        assert_eq!(need.missing().unwrap(), "magic is missing: apt-get install magic");
        let shell = Need { name: "sh", test: Test::Runs("sh", &["-c", "true"]), advice: "" };
        assert_eq!(shell.missing(), None);
    }
}
