//! The policy for commands.

use crate::names::named;

/// The policy that says what commands may do. There is no default: a host has to choose a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxPolicy {
    /// eyelet refuses to run commands.
    Off,
    /// Commands can read files, and write only to their private temp directory.
    ReadOnly,
    /// Commands can write to the roots and to their private temp directory.
    WorkspaceWrite,
    /// Commands can do everything that the host process can: there is no sandbox.
    Full,
}

named!(SandboxPolicy, "sandbox policy", {
    Off = "off",
    ReadOnly = "read-only",
    WorkspaceWrite = "workspace-write",
    Full = "full",
});
