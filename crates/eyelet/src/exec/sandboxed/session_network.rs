//! The network that the commands of a session share, and the proxy in it.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use crate::exec::sandboxed::proxy::Proxy;
use crate::exec::sandboxed::proxy::allowed_hosts::AllowedHosts;
use crate::exec::sandboxed::proxy::refusals::Refusals;
use crate::text::blocked::{Blocked, Certainty};

/// The network of a session. Nothing of it is left when this is dropped or closed and the commands have ended.
#[derive(Debug, Default)]
pub(crate) struct SessionNetwork {
    /// Created by the first command.
    pub(crate) namespace: eyelet_sandbox::SessionNetwork,
    pub(crate) hosts: Option<AllowedHosts>,
    proxy: Mutex<Option<Proxy>>,
    refusals: Arc<Refusals>,
    commands: Mutex<Commands>,
}

#[derive(Debug, Default)]
struct Commands {
    running: usize,
    started: u64,
}

impl SessionNetwork {
    pub(crate) fn new(hosts: Option<AllowedHosts>) -> Self {
        SessionNetwork { hosts, ..SessionNetwork::default() }
    }

    /// Starts the proxy if the namespace was just created for allowed hosts.
    pub(crate) fn serve(&self) -> io::Result<()> {
        let mut proxy = self.proxy.lock().unwrap_or_else(PoisonError::into_inner);
        let listeners = self.namespace.take_listeners();
        if let (Some(hosts), false) = (&self.hosts, listeners.is_empty()) {
            let started = Proxy::start(listeners, hosts.clone(), Arc::clone(&self.refusals));
            // Otherwise later commands would join a network that nobody serves.
            *proxy = Some(started.inspect_err(|_| self.namespace.close())?);
        }
        Ok(())
    }

    /// Closes the proxy with all connections, and releases the namespace.
    pub(crate) fn close(&self) {
        *self.proxy.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.namespace.close();
    }

    /// Counts a command until the result is dropped.
    pub(crate) fn enter(self: &Arc<Self>) -> NetworkUse {
        let mut commands = self.commands.lock().unwrap_or_else(PoisonError::into_inner);
        commands.running += 1;
        commands.started += 1;
        NetworkUse {
            is_first: commands.running == 1,
            number: commands.started,
            refused_before: self.refusals.count(),
            network: Arc::clone(self),
        }
    }
}

/// A command that uses the network of its session.
#[derive(Debug)]
pub(crate) struct NetworkUse {
    network: Arc<SessionNetwork>,
    /// Whether no other command was running.
    is_first: bool,
    number: u64,
    refused_before: u64,
}

impl NetworkUse {
    /// Whether the command can reach hosts through the proxy.
    pub(crate) fn has_allowed_hosts(&self) -> bool {
        self.network.hosts.is_some()
    }

    /// The connections that the network refused while the command ran: the kernel counted some, and
    /// the proxy refused others. They certainly belong to this command only if no other command ran
    /// at the same time.
    pub(crate) fn blocked(&self, refused_connections: u64) -> Vec<Blocked> {
        let started = self.network.commands.lock().unwrap_or_else(PoisonError::into_inner).started;
        let certainty = match self.is_first && started == self.number {
            true => Certainty::Certain,
            false => Certainty::Probable,
        };
        let hosts = self.network.refusals.after(self.refused_before).into_iter();
        let mut blocked: Vec<_> =
            hosts.map(|host| Blocked::connect(Some(host), certainty, 1)).collect();
        if refused_connections > 0 {
            blocked.push(Blocked::connect(None, certainty, refused_connections));
        }
        blocked
    }
}

impl Drop for NetworkUse {
    fn drop(&mut self) {
        self.network.commands.lock().unwrap_or_else(PoisonError::into_inner).running -= 1;
    }
}
