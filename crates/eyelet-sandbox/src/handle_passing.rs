//! Passes open files over a socket, between the caller and its supervisors.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::framing::send_all;

/// The most files in one message.
pub(crate) const MAX_HANDLES: usize = 64;

/// Sends bytes, and with the first of them the handles.
pub(crate) fn send(
    socket: &UnixStream,
    bytes: &[u8],
    handles: &[BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() && !control.push(SendAncillaryMessage::ScmRights(handles)) {
        return Err(Errno::TOOBIG);
    }
    let sent = loop {
        match sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL) {
            Err(Errno::INTR) => {}
            sent => break sent?,
        }
    };
    send_all(socket, bytes.get(sent..).unwrap_or_default())
}

/// Receives bytes, and adds the handles that came with them to `handles`.
pub(crate) fn receive(
    socket: &UnixStream,
    buffer: &mut [u8],
    flags: RecvFlags,
    handles: &mut Vec<OwnedFd>,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_HANDLES))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let count = loop {
        let mut bytes = [IoSliceMut::new(buffer)];
        match recvmsg(socket, &mut bytes, &mut control, flags | RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            received => break received?.bytes,
        }
    };
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            handles.extend(received);
        }
    }
    Ok(count)
}

/// Sends one handle, or the message that there is none.
pub(crate) fn send_one(socket: &UnixStream, handle: Option<&OwnedFd>) -> rustix::io::Result<()> {
    let handles: Vec<_> = handle.into_iter().map(|handle| handle.as_fd()).collect();
    send(socket, &[0], &handles)
}

/// Receives what [`send_one`] has sent.
pub(crate) fn receive_one(socket: &UnixStream) -> rustix::io::Result<Option<OwnedFd>> {
    let mut handles = Vec::new();
    receive(socket, &mut [0], RecvFlags::empty(), &mut handles)?;
    Ok(handles.pop())
}
