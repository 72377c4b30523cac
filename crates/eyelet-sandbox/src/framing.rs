//! The encoding of messages on the socket: the length, then JSON.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::SendFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// No valid message is longer: the system accepts no environment of that size.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Makes writing to a dead process an error instead of a signal. Apple's systems lack the flag, but Rust
/// programs ignore SIGPIPE anyway.
#[cfg(not(target_vendor = "apple"))]
const NO_SIGNAL: SendFlags = SendFlags::NOSIGNAL;
#[cfg(target_vendor = "apple")]
const NO_SIGNAL: SendFlags = SendFlags::empty();

/// Encodes a message.
pub(crate) fn framed(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).map_err(|_| too_long())?;
    Ok([&length.to_ne_bytes(), body.as_slice()].concat())
}

/// Reads one message.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only supervisors call it"))]
pub(crate) fn read_framed<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut body = vec![0; body_length(length)?];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Removes the first complete message from `inbox`.
pub(crate) fn take_framed<T: DeserializeOwned>(inbox: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some((length, rest)) = inbox.split_first_chunk::<4>() else { return Ok(None) };
    let length = body_length(*length)?;
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let message = serde_json::from_slice(body)?;
    inbox.drain(..4 + length);
    Ok(Some(message))
}

fn body_length(encoded: [u8; 4]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_ne_bytes(encoded)).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES { Err(too_long()) } else { Ok(length) }
}

/// Sends all bytes.
pub(crate) fn send_all(socket: &UnixStream, mut bytes: &[u8]) -> rustix::io::Result<()> {
    while !bytes.is_empty() {
        match rustix::net::send(socket, bytes, NO_SIGNAL) {
            Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn too_long() -> io::Error {
    let reason = "the message between eyelet and its supervisor is too long";
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
