//! The request to a supervisor: which command to run, and in which sandbox.
//!
//! It is sent over a socket, because other processes could read arguments and environment variables.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::de::value::Error as UnknownName;
use serde::de::{Error as _, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::memory_limit::MemoryLimit;

/// The sandbox policy: what a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// The command can write only to its private temp directory.
    ReadOnly,
    /// The command can write to the roots and to its private temp directory.
    WorkspaceWrite,
    /// The command can do everything that the caller can. A supervisor watches the command, but no
    /// sandbox confines it.
    Full,
}

/// Whether a command can use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Network {
    /// The command cannot use the network. In the first tier, it can use the session's own loopback
    /// interface.
    #[default]
    Off,
    /// The command uses the network of the caller.
    On,
}

/// Which files a command can read, and whether the command may run if the sandbox has gaps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Strictness {
    /// Commands can read everything except the denied paths.
    #[default]
    Ordinary,
    /// Commands can read only the system directories and the roots. The supervisor refuses commands
    /// if the machine has a [`Gap`](crate::Gap) whose field `is_refused_by_strict` is true.
    Strict,
}

/// The mechanism that enforces a policy. The first tier is stronger than the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The first tier: namespaces, Landlock and seccomp.
    Namespaces,
    /// The second tier: Landlock and seccomp.
    Landlock,
}

/// The choice of the tier in which a command runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TierChoice {
    /// The best tier that the system allows.
    #[default]
    Best,
    /// Only this tier; if it is not available, the supervisor refuses the command.
    Only(Tier),
}

/// `Display` writes the name that a value has in JSON, and `FromStr` parses it. The error lists the
/// valid names.
macro_rules! named_as_in_json {
    ($($type:ty),+) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.serialize(f)
            }
        }

        impl FromStr for $type {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, Self::Err> {
                Self::deserialize(name.into_deserializer())
            }
        }
    )+};
}

named_as_in_json!(Network, Strictness, Tier);

/// The name of [`TierChoice::Best`]. The other choices have the name of their tier.
const BEST: &str = "best";

impl fmt::Display for TierChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TierChoice::Best => f.write_str(BEST),
            TierChoice::Only(tier) => tier.fmt(f),
        }
    }
}

impl FromStr for TierChoice {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == BEST {
            return Ok(TierChoice::Best);
        }
        let tier = name.parse().map(TierChoice::Only);
        tier.map_err(|error| UnknownName::custom(format_args!("{error}, or `{BEST}`")))
    }
}

/// A directory. The inode number shows whether another directory has replaced it at its path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The path, absolute and without symlinks.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub path: PathBuf,
    /// The device and inode numbers that the directory must have.
    pub identity: (u64, u64),
}

/// The folders of git that a linked worktree uses. They may lie outside the roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedWorktree {
    /// The worktree's own folder: `worktrees/NAME` in the common folder.
    pub own: Place,
    /// The git folder of the main repository, which all worktrees of the repository share.
    pub common: Place,
}

/// A program to start, with its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The executable file of the program.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub file: PathBuf,
    /// The arguments of the program, without the name of the program.
    pub arguments: Vec<Raw>,
    /// The whole environment of the program. A sandbox adds `TMPDIR`.
    pub environment: Vec<(Raw, Raw)>,
}

/// A request to run one command in a sandbox. The command runs in the supervisor's working
/// directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    /// What the command may do, and whether it is sandboxed.
    pub policy: Policy,
    /// The tier in which the command runs.
    pub tier: TierChoice,
    /// Whether the command can use the network.
    pub network: Network,
    /// Which files the command can read.
    pub strictness: Strictness,
    /// The root directories of the session.
    pub roots: Vec<Place>,
    /// Linked worktrees in the roots whose main repository is outside the roots. The command can
    /// write the files of the main repository that git has to change.
    pub worktrees: Vec<LinkedWorktree>,
    /// Directories outside the roots to which the command can also write. The supervisor does not
    /// protect any paths in these directories.
    pub caches: Vec<Place>,
    /// The session's private temp directory.
    pub private_temp: Option<Place>,
    /// The user's home directory. If it is below `/tmp`, it stays readable although the private
    /// temp directory covers `/tmp`.
    pub home: Option<Place>,
    /// The directory with saved output, which the command can read.
    pub spill: Option<Place>,
    /// Denied files and directories, as absolute paths.
    pub hidden: Vec<RawPath>,
    /// Whether the host denies paths by glob. If so, the supervisor refuses commands in the second
    /// tier, because it cannot enforce globs.
    pub denies_globs: bool,
    /// Protected paths, relative to the top of each root and of each work tree. The command cannot change or create
    /// them.
    pub protected: Vec<RawPath>,
    /// The repositories in the roots, as absolute paths: `.git` folders, files and symlinks, bare
    /// repositories, and the folders that [`git_folders`](crate::git_folders) finds in these
    /// repositories. The supervisor protects git's config and hooks in all of them.
    pub repositories: Vec<RawPath>,
    /// How much memory the processes of the command may use together.
    pub memory: MemoryLimit,
    /// The addresses on the session's loopback interface at which the caller listens. This requires
    /// [`Network::Off`] and the first tier. An IPv6 address is skipped if the system has no IPv6.
    pub listen: Vec<SocketAddr>,
    /// The program to run. If it is `None`, the supervisor runs no program. Instead, the supervisor
    /// checks which sandbox features the machine supports, and reports the result as
    /// [`Machine`](crate::Machine).
    pub program: Option<Program>,
}

impl SandboxRequest {
    /// Creates a request with network access and without any directories.
    pub fn new(policy: Policy, program: Option<Program>) -> Self {
        SandboxRequest {
            policy,
            tier: TierChoice::Best,
            network: Network::On,
            strictness: Strictness::Ordinary,
            roots: Vec::new(),
            worktrees: Vec::new(),
            caches: Vec::new(),
            private_temp: None,
            home: None,
            spill: None,
            hidden: Vec::new(),
            denies_globs: false,
            protected: Vec::new(),
            repositories: Vec::new(),
            memory: MemoryLimit::default(),
            listen: Vec::new(),
            program,
        }
    }

    /// The folders around everything protected that the command can change.
    #[cfg(target_os = "linux")]
    pub(crate) fn tops(&self, tier: Tier) -> impl Iterator<Item = &Place> {
        // Without mounts, the common folder itself stays read-only.
        let of_worktree: fn(&LinkedWorktree) -> &Place = match tier {
            Tier::Namespaces => |worktree| &worktree.common,
            Tier::Landlock => |worktree| &worktree.own,
        };
        self.roots.iter().chain(self.worktrees.iter().map(of_worktree))
    }

    /// The outermost of these folders that holds `path`.
    #[cfg(target_os = "linux")]
    pub(crate) fn outermost_top(&self, tier: Tier, path: &Path) -> Option<&Path> {
        let tops = self.tops(tier).map(|top| top.path.as_path());
        let holds = tops.filter(|top| path.starts_with(top));
        holds.min_by_key(|top| top.components().count())
    }

    /// A request to find out what the machine can enforce.
    pub(crate) fn examination() -> Self {
        SandboxRequest {
            tier: TierChoice::Only(Tier::Namespaces),
            network: Network::Off,
            ..SandboxRequest::new(Policy::ReadOnly, None)
        }
    }
}

/// A string that need not be UTF-8. In JSON, one character stands for each byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Raw(pub OsString);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text: String = self.0.as_bytes().iter().copied().map(char::from).collect();
        serializer.serialize_str(&text)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes: Result<Vec<u8>, _> = text.chars().map(u8::try_from).collect();
        let bytes = bytes.map_err(|_| {
            serde::de::Error::custom(
                "invalid byte string: each character stands for one byte, so it must be at most \
                 U+00FF",
            )
        })?;
        Ok(Raw(OsString::from_vec(bytes)))
    }
}

/// A path that need not be UTF-8.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawPath(
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")] pub PathBuf,
);

impl<P: Into<PathBuf>> From<P> for RawPath {
    fn from(path: P) -> Self {
        RawPath(path.into())
    }
}

impl AsRef<Path> for RawPath {
    fn as_ref(&self) -> &Path {
        &self.0
    }
}

fn serialize_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    Raw(path.into()).serialize(serializer)
}

fn deserialize_path<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
    Raw::deserialize(from).map(|raw| PathBuf::from(raw.0))
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
