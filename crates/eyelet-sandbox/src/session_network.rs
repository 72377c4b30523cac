//! The network namespace that the commands of a session share, on the caller's side.
//!
//! The supervisor of the first command creates it and sends the caller handles; the supervisors of later commands get
//! the handles and join. Only the handles and running commands keep the namespace alive, so it ends with them, even if
//! the caller is killed.

use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The network namespace of a session. Its loopback interface can be reached only by commands of
/// the session. Only the first tier has such a namespace;
/// [`Supervisor::start_in_session`](crate::Supervisor::start_in_session) creates it.
#[derive(Debug, Default)]
pub struct SessionNetwork {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// None before the first command.
    pub(crate) namespaces: Option<Arc<NamespaceHandles>>,
    pub(crate) listeners: Vec<TcpListener>,
}

/// Handles to namespaces. As long as they are open, the namespaces exist.
#[derive(Debug)]
pub(crate) struct NamespaceHandles {
    /// The user namespace that owns the network namespace. None if the supervisors need none.
    pub(crate) user: Option<OwnedFd>,
    pub(crate) network: OwnedFd,
}

impl SessionNetwork {
    /// Returns the sockets that listen at the addresses of
    /// [`SandboxRequest::listen`](crate::SandboxRequest::listen). Only the first call returns them.
    /// The sockets listen inside the namespace, but a process outside can accept their connections.
    pub fn take_listeners(&self) -> Vec<TcpListener> {
        std::mem::take(&mut self.state().listeners)
    }

    /// Releases the namespace. The namespace ends with its last command; a later command creates a
    /// new namespace.
    pub fn close(&self) {
        *self.state() = State::default();
    }

    /// Locked while the first command creates the namespace.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes what the supervisor has created: the network namespace, its user namespace if `has_user`, listeners.
    pub(crate) fn created(&mut self, has_user: bool, handles: Vec<OwnedFd>) {
        let mut handles = handles.into_iter();
        let Some(network) = handles.next() else { return };
        let user = if has_user { handles.next() } else { None };
        self.namespaces = Some(Arc::new(NamespaceHandles { user, network }));
        self.listeners = handles.map(TcpListener::from).collect();
    }
}
