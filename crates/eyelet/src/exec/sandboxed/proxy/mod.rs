//! The proxy through which commands reach the allowed hosts.
//!
//! Its sockets listen on the loopback of the session; the connections of commands are served by threads of this
//! process. `allowed_hosts` decides, `connection` serves one connection, `relay` passes the bytes.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::pipe::{PipeFlags, pipe_with};

use crate::exec::sandboxed::proxy::allowed_hosts::AllowedHosts;
use crate::exec::sandboxed::proxy::connection::Shared;
use crate::exec::sandboxed::proxy::refusals::Refusals;

mod addresses;
pub(crate) mod allowed_hosts;
mod connection;
pub(crate) mod refusals;
pub(crate) mod registries;
mod relay;
mod request_head;

/// How many connections of a session are served at once. Others wait.
const MAX_CONNECTIONS: usize = 128;
/// The stack of a connection's thread; its buffers are not on it.
const STACK_BYTES: usize = 256 * 1024;
/// How long to wait when no connection can be accepted, for example because there are too many open files.
const RETRY_TIME: Duration = Duration::from_millis(100);

/// A running proxy. Dropping it closes its sockets and all connections.
#[derive(Debug)]
pub(crate) struct Proxy {
    /// Closing it ends all threads.
    _end: OwnedFd,
    slots: Arc<Slots>,
}

impl Proxy {
    /// Serves the sockets that listen in the network of the session.
    pub(crate) fn start(
        listeners: Vec<TcpListener>,
        hosts: AllowedHosts,
        refusals: Arc<Refusals>,
    ) -> io::Result<Self> {
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        let (end, keep) = pipe_with(PipeFlags::CLOEXEC)?;
        let slots = Arc::new(Slots::default());
        let acceptor = Acceptor {
            proxy: hosts.proxy_address(),
            listeners,
            shared: Arc::new(Shared { hosts, refusals }),
            slots: Arc::clone(&slots),
            end: Arc::new(end),
        };
        thread::Builder::new().name("proxy".to_owned()).spawn(move || acceptor.run())?;
        Ok(Proxy { _end: keep, slots })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.slots.close();
    }
}

/// Accepts the connections of a session.
struct Acceptor {
    /// The address of the proxy; all others are forwarded.
    proxy: SocketAddr,
    listeners: Vec<TcpListener>,
    shared: Arc<Shared>,
    slots: Arc<Slots>,
    end: Arc<OwnedFd>,
}

impl Acceptor {
    fn run(self) {
        while self.slots.take() {
            match self.accept() {
                Some((client, at)) => self.serve(client, at),
                None => return,
            }
        }
    }

    /// The next connection, and the address at which it arrived. None if the session has ended.
    fn accept(&self) -> Option<(TcpStream, SocketAddr)> {
        loop {
            let mut fds = vec![PollFd::new(&*self.end, PollFlags::IN)];
            let sockets = self.listeners.iter().map(|one| PollFd::new(one, PollFlags::IN));
            fds.extend(sockets);
            // If it fails, the sockets are tried all the same.
            let _ = rustix::event::poll(&mut fds, None);
            if fds.first().is_some_and(|end| !end.revents().is_empty()) {
                return None;
            }
            for listener in &self.listeners {
                match (listener.accept(), listener.local_addr()) {
                    (Ok((client, _)), Ok(at)) => return Some((client, at)),
                    (Err(error), _) if error.kind() == io::ErrorKind::WouldBlock => {}
                    (Ok(_) | Err(_), _) => thread::sleep(RETRY_TIME),
                }
            }
        }
    }

    /// Serves the connection in a thread of its own; drops it if the system allows no more threads.
    fn serve(&self, client: TcpStream, at: SocketAddr) {
        let slot = Slot(Arc::clone(&self.slots));
        let (shared, end) = (Arc::clone(&self.shared), Arc::clone(&self.end));
        let is_proxy = at == self.proxy;
        let thread = thread::Builder::new().name("connection".to_owned()).stack_size(STACK_BYTES);
        let _ = thread.spawn(move || {
            let _slot = slot;
            // A failure ends the connection, which the client notices.
            let _ = match is_proxy {
                true => connection::serve(&client, &shared, end.as_fd()),
                false => connection::forward(&client, at, &shared, end.as_fd()),
            };
        });
    }
}

/// Counts the connections.
#[derive(Debug, Default)]
struct Slots {
    state: Mutex<SlotState>,
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct SlotState {
    used: usize,
    is_closed: bool,
}

impl Slots {
    /// Waits for a free slot and takes it. False if the session has ended.
    fn take(&self) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.used >= MAX_CONNECTIONS && !state.is_closed {
            state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.used += 1;
        !state.is_closed
    }

    fn close(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_closed = true;
        self.has_changed.notify_all();
    }
}

/// A slot in use.
struct Slot(Arc<Slots>);

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner).used -= 1;
        self.0.has_changed.notify_all();
    }
}
