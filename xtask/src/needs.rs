//! What the tests cannot bring themselves.

use std::process::{Command, Stdio};

use crate::Workspace;

/// A program that has to be there, and a call of it that succeeds only then.
struct Need {
    name: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
}

const NEEDS: &[Need] = &[
    Need { name: "git", program: "git", arguments: &["--version"] },
    Need { name: "a C compiler (cc)", program: "cc", arguments: &["--version"] },
    Need { name: "make", program: "make", arguments: &["--version"] },
    // Some systems ship `venv` without the `ensurepip` that it cannot work without.
    Need {
        name: "Python 3 with venv (python3)",
        program: "python3",
        arguments: &["-c", "import ensurepip, venv"],
    },
    Need { name: "Node (node)", program: "node", arguments: &["--version"] },
    Need { name: "npm", program: "npm", arguments: &["--version"] },
];

pub(crate) fn check(_: &Workspace) -> Result<(), String> {
    let missing: Vec<_> =
        NEEDS.iter().filter(|need| !need.is_met()).map(|need| need.name).collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("missing on this machine: {}; install and run again", missing.join(", ")))
}

impl Need {
    fn is_met(&self) -> bool {
        let status = Command::new(self.program)
            .args(self.arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.is_ok_and(|status| status.success())
    }
}
