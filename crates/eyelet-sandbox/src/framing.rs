//! The encoding of messages on the socket: the length, then JSON.

use std::io::{self, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// No valid message is longer: the system accepts no environment of that size.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

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
    let length = usize::try_from(u32::from_ne_bytes(length)).unwrap_or(usize::MAX);
    if length > MAX_MESSAGE_BYTES {
        return Err(too_long());
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

/// Removes the first complete message from `inbox`.
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
    io::Error::new(io::ErrorKind::InvalidData, "the message is too long")
}
