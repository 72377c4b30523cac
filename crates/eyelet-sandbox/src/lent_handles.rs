//! The open files that the caller lends a supervisor. The caller sends them before the request.

use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::handle_passing;
use crate::session_network::NamespaceHandles;

/// The open files that a supervisor gets from its caller.
#[derive(Debug, Default)]
pub(crate) struct LentHandles {
    /// The inotify instance with which it watches protected paths.
    pub(crate) watch: Option<OwnedFd>,
    /// The namespaces of the session, if they exist already.
    pub(crate) namespaces: Option<NamespaceHandles>,
}

/// Bits of the byte that says which handles follow, in this order.
const WATCH: u8 = 1;
const NETWORK: u8 = 2;
const USER: u8 = 4;

pub(crate) fn send(
    socket: &UnixStream,
    watch: Option<&OwnedFd>,
    namespaces: Option<&NamespaceHandles>,
) -> io::Result<()> {
    let network = namespaces.map(|namespaces| &namespaces.network);
    let user = namespaces.and_then(|namespaces| namespaces.user.as_ref());
    let lent = [(WATCH, watch), (NETWORK, network), (USER, user)];
    let lent: Vec<_> =
        lent.into_iter().filter_map(|(bit, handle)| Some((bit, handle?.as_fd()))).collect();
    let which = lent.iter().fold(0, |bits, (bit, _)| bits | bit);
    let handles: Vec<_> = lent.into_iter().map(|(_, handle)| handle).collect();
    match handle_passing::send(socket, &[which], &handles) {
        // Its last message or its exit status says why it is gone.
        Ok(()) | Err(Errno::PIPE | Errno::CONNRESET) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

pub(crate) fn receive(socket: &UnixStream) -> io::Result<LentHandles> {
    let mut which = [0];
    let mut handles = Vec::new();
    handle_passing::receive(socket, &mut which, RecvFlags::empty(), &mut handles)?;
    let [which] = which;
    let mut handles = handles.into_iter();
    let mut next = |bit| if which & bit == 0 { None } else { handles.next() };
    let watch = next(WATCH);
    let network = next(NETWORK);
    let user = next(USER);
    let namespaces = network.map(|network| NamespaceHandles { user, network });
    Ok(LentHandles { watch, namespaces })
}
