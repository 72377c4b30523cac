//! What a machine can enforce, and which gaps remain.

use serde::{Deserialize, Serialize};

use crate::request::Tier;

/// What the machine supports, as a supervisor found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The kernel's release.
    pub kernel: String,
    /// Whether the supervisor runs as root.
    pub is_root: bool,
    /// Why namespaces cannot be used, if they cannot.
    pub namespaces_refused: Option<String>,
    /// The version of Landlock; 0 if the kernel has none.
    pub landlock_abi: i32,
    /// Whether system calls can be filtered with seccomp.
    pub has_seccomp: bool,
    /// Whether each sandbox can have its own process limit.
    pub has_own_pid_limit: bool,
}

/// The second tier requires this version of Landlock: earlier ones do not restrict truncation.
pub(crate) const MIN_LANDLOCK: i32 = 3;
/// Since this version, Landlock restricts signals and abstract sockets.
pub(crate) const SCOPED_LANDLOCK: i32 = 6;

/// How many repositories below the roots are protected, including submodules and worktrees.
pub const MAX_REPOSITORIES: usize = 256;
/// How many directory entries the search for them examines.
pub const MAX_LOOKED_AT: usize = 10_000;

impl Machine {
    /// The tier in which commands run on this machine.
    pub fn tier(&self) -> Option<Tier> {
        if !self.has_seccomp {
            None
        } else if self.namespaces_refused.is_none() {
            Some(Tier::Namespaces)
        } else if self.landlock_abi >= MIN_LANDLOCK {
            Some(Tier::Landlock)
        } else {
            None
        }
    }

    /// What `tier` does not protect on this machine.
    pub fn gaps(&self, tier: Tier) -> Vec<Gap> {
        let mut gaps = Vec::new();
        let mut gap = |what: &str, refused| {
            gaps.push(Gap { what: what.to_owned(), is_refused_by_strict: refused });
        };
        match tier {
            Tier::Namespaces => {
                if self.landlock_abi == 0 {
                    gap("there is no Landlock: namespaces and seccomp stand alone", true);
                }
                if !self.has_own_pid_limit && self.is_root {
                    gap("a fork bomb is ended with its call, but not limited before", true);
                }
            }
            Tier::Landlock => {
                gap("chmod, chown and times of files outside the roots are not stopped", true);
                gap(
                    "protected files (.git/config and others) can be changed while a command \
                     runs; they are put back when it ends",
                    true,
                );
                gap("names in hidden folders can be listed; their contents cannot be read", true);
                gap("/tmp is the machine's own and read-only; only $TMPDIR is private", false);
                gap("there is no loopback network for local test servers", false);
                gap("--deny cannot be enforced for commands: with it they are refused", false);
                if self.landlock_abi < SCOPED_LANDLOCK {
                    gap("signals to processes outside are not stopped", true);
                }
                if self.is_root {
                    gap("a fork bomb of root is ended with its call, but not limited before", true);
                }
            }
        }
        gaps
    }

    /// How to make the machine enforce more.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if let Some(reason) = &self.namespaces_refused {
            advice.push(format!(
                "namespaces are refused ({reason}); allow unprivileged user namespaces (on Ubuntu \
                 an AppArmor profile for eyelet with `userns,`, or sysctl \
                 kernel.apparmor_restrict_unprivileged_userns=0; in a container a seccomp profile \
                 that allows clone with namespaces)"
            ));
        }
        if self.landlock_abi == 0 {
            advice.push("Landlock is off; add `landlock` to the kernel's lsm= list".to_owned());
        } else if self.landlock_abi < SCOPED_LANDLOCK {
            advice.push("a kernel from 6.12 on brings Landlock that stops signals".to_owned());
        }
        if !self.has_own_pid_limit && self.is_root {
            advice.push(
                "a kernel from 6.14 on limits the processes of a sandbox; or run eyelet as \
                         an ordinary user"
                    .to_owned(),
            );
        }
        advice
    }
}

/// One thing that is not protected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// One sentence that describes it.
    pub what: String,
    /// Whether `--strict` refuses to run commands because of it.
    pub is_refused_by_strict: bool,
}
