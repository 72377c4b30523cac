//! The policy for commands.

use crate::names::named;

/// What commands may do. There is no default: a host has to choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SandboxPolicy {
    /// Commands are refused.
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
