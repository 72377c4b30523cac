//! The request to a supervisor: which command to run, and in which sandbox.
//!
//! It goes over a socket, because other processes could read arguments and environment variables.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a command may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Writes nothing but its private temp folder.
    ReadOnly,
    /// Writes in the roots and its private temp folder.
    WorkspaceWrite,
    /// Everything that the caller may do; only its end is supervised.
    Full,
}

/// Whether a command reaches the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// No sockets but those of its own private network, where the tier has one.
    #[default]
    Off,
    /// The caller's network.
    On,
}

/// What a command may read, and whether a gap of the machine is tolerated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Strictness {
    /// Everything but the hidden paths.
    #[default]
    Ordinary,
    /// The system's own folders and the roots; and no command runs where `doctor` knows a gap.
    Strict,
}

/// How a policy is enforced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp alone.
    Landlock,
}

/// Which tier a command has to run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TierChoice {
    /// The first that the system allows.
    #[default]
    Best,
    /// This one or none.
    Only(Tier),
}

/// A path, and what stood there when it was checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The path, absolute and without links.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub path: PathBuf,
    /// The device and the number of the directory that has to be there.
    pub identity: (u64, u64),
}

/// A program to start, with everything that it gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The file to execute.
    #[serde(serialize_with = "serialize_path", deserialize_with = "deserialize_path")]
    pub file: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<Raw>,
    /// Its whole environment, but for the `TMPDIR` of a sandbox.
    pub environment: Vec<(Raw, Raw)>,
}

/// One command, and the sandbox around it. It runs in the supervisor's own working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxRequest {
    /// What the command may do.
    pub policy: Policy,
    /// The tier to run it in.
    pub tier: TierChoice,
    /// Whether it reaches the network.
    pub network: Network,
    /// How narrow its view is.
    pub strictness: Strictness,
    /// The directories of the workspace.
    pub roots: Vec<Place>,
    /// The session's private temp folder.
    pub private_temp: Option<Place>,
    /// The user's home. If it lies below `/tmp`, it stays readable behind the private temp directory.
    pub home: Option<Place>,
    /// The folder of kept streams, which it may read.
    pub spill: Option<Place>,
    /// Files and folders that it does not see, absolute.
    pub hidden: Vec<RawPath>,
    /// Whether globs deny paths; the second tier cannot enforce that.
    pub denies_globs: bool,
    /// Paths below each root that stay as they are, or absent.
    pub protected: Vec<RawPath>,
    /// Where repositories stand below the roots, beside those at their top: each a `.git`.
    pub nested: Vec<RawPath>,
    /// What to run; none to find out what the machine can enforce.
    pub program: Option<Program>,
}

impl SandboxRequest {
    /// A request with the caller's network and no place named.
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

/// Bytes that need not be UTF-8, in JSON as one character each.
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
        let bytes = bytes.map_err(|_| serde::de::Error::custom("a character is no byte"))?;
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
