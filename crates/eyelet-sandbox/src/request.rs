//! The request to a supervisor: which command to run, and in which sandbox.
//!
//! It is sent over a socket, because other processes could read arguments and environment variables.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// The command can write only to its private temp directory.
    ReadOnly,
    /// The command can write to the roots and to its private temp directory.
    WorkspaceWrite,
    /// The command can do everything that the caller can. It is supervised, but not sandboxed.
    Full,
}

/// Whether a command can use the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// No network, except a private loopback interface if the tier has one.
    #[default]
    Off,
    /// The caller's network.
    On,
}

/// What a command can read, and whether gaps in the protection are accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    /// Everything except the denied paths.
    #[default]
    Ordinary,
    /// Only the system directories and the roots. Commands are refused if the machine has a gap that
    /// [`Gap::is_refused_by_strict`](crate::Gap::is_refused_by_strict) marks.
    Strict,
}

/// How a policy is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp.
    Landlock,
}

/// Which tier to run a command in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TierChoice {
    /// The best one that the system allows.
    #[default]
    Best,
    /// This one; if it is not available, the command is refused.
    Only(Tier),
}

/// A directory, identified by its path and by its inode at the time of the check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The path, absolute and without symlinks.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub path: PathBuf,
    /// The device and inode numbers that the directory must have.
    pub identity: (u64, u64),
}

/// A program to start, with its arguments and environment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The file to execute.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub file: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<Raw>,
    /// Its whole environment. A sandbox adds `TMPDIR`.
    pub environment: Vec<(Raw, Raw)>,
}

/// One command and its sandbox. The command runs in the supervisor's working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    /// What the command may do.
    pub policy: Policy,
    /// The tier to run it in.
    pub tier: TierChoice,
    /// Whether it can use the network.
    pub network: Network,
    /// What it can read.
    pub strictness: Strictness,
    /// The root directories.
    pub roots: Vec<Place>,
    /// The session's private temp directory.
    pub private_temp: Option<Place>,
    /// The user's home. If it lies below `/tmp`, it stays readable behind the private temp directory.
    pub home: Option<Place>,
    /// The directory with saved output, which it can read.
    pub spill: Option<Place>,
    /// Denied files and directories, as absolute paths.
    pub hidden: Vec<RawPath>,
    /// Whether the host denies paths by glob; the second tier cannot enforce that.
    pub denies_globs: bool,
    /// Protected paths, relative to each root. The command cannot change or create them.
    pub protected: Vec<RawPath>,
    /// The `.git` paths of repositories below the roots, except those in a root itself.
    pub nested: Vec<RawPath>,
    /// The program to run. `None` examines the machine instead.
    pub program: Option<Program>,
}

impl SandboxRequest {
    /// A request with network access and without any directories.
    pub fn new(policy: Policy, program: Option<Program>) -> Self {
        SandboxRequest {
            policy,
            tier: TierChoice::Best,
            network: Network::On,
            strictness: Strictness::Ordinary,
            roots: Vec::new(),
            private_temp: None,
            home: None,
            spill: None,
            hidden: Vec::new(),
            denies_globs: false,
            protected: Vec::new(),
            nested: Vec::new(),
            program,
        }
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

/// A string that need not be UTF-8. JSON has one character for each byte.
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
        let bytes =
            bytes.map_err(|_| serde::de::Error::custom("a character does not fit into a byte"))?;
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
