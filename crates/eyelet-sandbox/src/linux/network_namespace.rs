//! Forks the init process into the network namespace of the session.
//!
//! A process in between creates or joins the namespace, because the monitor has to stay outside. An ordinary user
//! needs a user namespace that owns the network namespace; the init process then gets a user namespace of its own
//! inside it, so commands have no rights over the network.

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use super::setup_failure::SetupFailure;
use super::sys::{self, Forked};
use super::{descendants, namespaces};
use crate::framing::{framed, read_framed, send_all};
use crate::handle_passing;
use crate::message::Message;
use crate::request::SandboxRequest;
use crate::session_network::NamespaceHandles;

/// A report from the process between the monitor and the init process.
#[derive(Debug, Serialize, Deserialize)]
enum Report {
    /// The process has forked the init process, which has this process ID.
    Forked(i32),
    Failed(SetupFailure),
}

/// Forks the init process with these `clone` flags into the namespace of `joined`, or into a new one, whose
/// handles are sent to the caller.
pub(super) fn fork_init(
    request: &SandboxRequest,
    flags: libc::c_int,
    joined: Option<NamespaceHandles>,
    caller: &UnixStream,
) -> Result<Forked, SetupFailure> {
    let failed = |error: io::Error| {
        SetupFailure::new("cannot create a socket pair for the supervisor's init process", error)
    };
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    let mapped = (flags & libc::CLONE_NEWUSER != 0).then(namespaces::identity);
    let new = match &joined {
        Some(_) => 0,
        None => libc::CLONE_NEWNET | (flags & libc::CLONE_NEWUSER),
    };
    match sys::fork_into(new).map_err(|error| SetupFailure::no_namespaces(&error))? {
        Forked::Child => {
            drop(ours);
            let forked = enter(request, joined, mapped, caller).and_then(|()| {
                // The init process becomes a child of the monitor.
                sys::fork_into(flags | libc::CLONE_PARENT)
                    .map_err(|error| SetupFailure::no_namespaces(&error))
            });
            let last = match forked {
                Ok(Forked::Child) => return Ok(Forked::Child),
                Ok(Forked::Parent(pid)) => Report::Forked(pid.as_raw_pid()),
                Err(failure) => Report::Failed(failure),
            };
            let sent = send(&theirs, &last);
            std::process::exit(i32::from(sent.is_err()))
        }
        Forked::Parent(between) => {
            drop(theirs);
            let init = receive(&ours);
            descendants::wait_for(between);
            if init.is_err() {
                // It may have forked the init process before it failed.
                descendants::kill_all();
            }
            init.map(Forked::Parent)
        }
    }
}

/// Enters the namespace of the session. Keeps no handle, which the init process would inherit.
fn enter(
    request: &SandboxRequest,
    joined: Option<NamespaceHandles>,
    mapped: Option<(u32, u32)>,
    caller: &UnixStream,
) -> Result<(), SetupFailure> {
    if let Some(joined) = joined {
        let failed = || SetupFailure::at("cannot join the session's network");
        if let Some(user) = &joined.user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
                .map_err(failed())?;
        }
        return move_into_link_name_space(joined.network.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(failed());
    }
    if let Some((user, group)) = mapped {
        namespaces::map_user(user, group)?;
    }
    sys::bring_up_loopback().map_err(SetupFailure::at("cannot bring up the loopback interface"))?;
    let open = |name: &str| {
        let file = format!("/proc/self/ns/{name}");
        File::open(&file)
            .map(OwnedFd::from)
            .map_err(SetupFailure::at(format!("cannot open {file}")))
    };
    let mut handles = vec![open("net")?];
    if mapped.is_some() {
        handles.push(open("user")?);
    }
    for address in &request.listen {
        handles.extend(listen(*address)?.map(OwnedFd::from));
    }
    let handles: Vec<_> = handles.iter().map(|handle| handle.as_fd()).collect();
    let created = framed(&Message::NetworkCreated { has_user: mapped.is_some() })
        .map_err(SetupFailure::at("cannot send the network namespace to the caller"))?;
    // The caller expects this message first, so it is sent before the init process exists, which sends others.
    // If the caller is gone, that is noticed elsewhere.
    let _ = handle_passing::send(caller, &created, &handles);
    Ok(())
}

/// None if the system has no IPv6.
fn listen(address: SocketAddr) -> Result<Option<TcpListener>, SetupFailure> {
    match TcpListener::bind(address) {
        Ok(listener) => Ok(Some(listener)),
        Err(error)
            if address.is_ipv6()
                && [Some(Errno::AFNOSUPPORT), Some(Errno::ADDRNOTAVAIL)]
                    .contains(&Errno::from_io_error(&error)) =>
        {
            Ok(None)
        }
        Err(error) => Err(SetupFailure::new(&format!("cannot listen at {address}"), error)),
    }
}

fn send(monitor: &UnixStream, report: &Report) -> io::Result<()> {
    Ok(send_all(monitor, &framed(report)?)?)
}

/// The init process, once it is forked.
fn receive(between: &UnixStream) -> Result<Pid, SetupFailure> {
    let failed =
        |error: io::Error| SetupFailure::new("cannot start the supervisor's init process", error);
    match read_framed(between).map_err(failed)? {
        Report::Forked(pid) => {
            Pid::from_raw(pid).ok_or_else(|| failed(io::ErrorKind::InvalidData.into()))
        }
        Report::Failed(failure) => Err(failure),
    }
}
