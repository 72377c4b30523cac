//! What a supervisor is asked to do, and what it answers: plain data over one socket.
//!
//! Each message is its length and then JSON. Nothing of it stands in the supervisor's arguments or
//! environment, where other processes could read it.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A message above this is a mistake: the system takes no environment of that size.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

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
    #[serde(with = "raw_path")]
    pub path: PathBuf,
    /// The device and the number of the directory that has to be there.
    pub identity: (u64, u64),
}

/// A program to start, with everything that it gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The file to execute.
    #[serde(with = "raw_path")]
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
}

/// What a supervisor tells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Message {
    /// The command runs, in this tier if in any.
    Started(Option<Tier>),
    /// The command did not run, because the sandbox cannot be enforced.
    Unavailable(String),
    /// The command did not run, because the system refused to start it (error number).
    NotStarted(i32),
    /// The command has ended: its exit code, or 128 + N by signal N.
    Exited(i32),
    /// Nothing of it is left; what was moved away from protected paths, and where to.
    Gone(Vec<Reverted>),
    /// The answer to a request without a program.
    Examined(crate::doctor::Machine),
}

/// Something that a command made at a protected path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reverted {
    /// The protected path.
    pub path: RawPath,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a protected path that a command changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// The command's version was moved here.
    MovedTo(RawPath),
    /// The command's version was moved away, and nobody can look at it any more.
    Gone,
    /// It was removed or moved, and put back.
    PutBack,
    /// The system would not let it be put back: a person has to look.
    Failed,
    /// Nobody looked, because the supervisor was killed: the path is that of a root, and whatever is
    /// protected in it may have changed.
    Unseen,
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
pub struct RawPath(#[serde(with = "raw_path")] pub PathBuf);

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

mod raw_path {
    use super::{Deserialize, Deserializer, Path, PathBuf, Raw, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        Raw(path.into()).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<PathBuf, D::Error> {
        Raw::deserialize(from).map(|raw| PathBuf::from(raw.0))
    }
}

/// A message as it goes over the socket.
pub(crate) fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|_| too_long())?;
    Ok([&length.to_ne_bytes(), body.as_slice()].concat())
}

/// Reads one message.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only a supervisor reads so"))]
pub(crate) fn read_framed<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_ne_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES {
        return Err(too_long());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Takes the first whole message off `inbox`.
pub(crate) fn take_framed<T: DeserializeOwned>(inbox: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((length, rest)) = inbox.split_first_chunk::<4>() else { return Ok(None) };
    let length = usize::try_from(u32::from_ne_bytes(*length)).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES {
        return Err(too_long());
    }
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let message = serde_json::from_slice(body)?;
    inbox.drain(..4 + length);
    Ok(Some(message))
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a message is too long")
}
