//! Asks the init process for each fork of the command, in the second tier.
//!
//! Without a process namespace, processes that fork again and again can outrun a process that kills them one by one. When the
//! init process stops answering, every fork waits until its process is killed; when it dies, every fork fails.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::PollFlags;
use seccompiler::sock_filter;

use super::sys;

/// Filters this process and all its descendants irrevocably. Returns the handle for the init process. None if an outer
/// sandbox already asks for system calls in this way: the kernel allows that once.
pub(super) fn ask_first() -> io::Result<Option<OwnedFd>> {
    match sys::seccomp_listener(&program()) {
        Ok(handle) => Ok(Some(handle)),
        Err(error) if error.raw_os_error() == Some(libc::EBUSY) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Allows the next fork that the handle reports. Drops the handle if all processes are gone, or if a fork cannot be
/// answered: then it fails instead of waiting forever.
pub(super) fn allow_next(handle: &mut Option<OwnedFd>, reported: PollFlags) {
    let is_usable = match handle {
        Some(handle) if reported.contains(PollFlags::IN) => sys::allow_system_call(handle).is_ok(),
        Some(_) | None => reported.is_empty(),
    };
    if !is_usable {
        *handle = None;
    }
}

/// The other filter refuses foreign ABIs and `clone3`.
fn program() -> Vec<sock_filter> {
    let instruction = |code: u32, if_true, if_false, value| sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    };
    let load = |offset| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, offset);
    let is_call = |call: libc::c_long, if_true, if_false| {
        let call = u32::try_from(call).unwrap_or(u32::MAX);
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, if_true, if_false, call)
    };
    let answer = |value| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, value);
    // The low half of the first argument.
    let flags = 16 + if cfg!(target_endian = "big") { 4 } else { 0 };
    let is_thread = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
    let mut program = vec![load(0)];
    if cfg!(target_arch = "x86_64") {
        const FORK: libc::c_long = 57;
        const VFORK: libc::c_long = 58;
        program.extend([is_call(FORK, 4, 0), is_call(VFORK, 3, 0)]);
    }
    program.extend([
        is_call(libc::SYS_clone, 0, 3),
        load(flags),
        // A thread dies with its process.
        instruction(is_thread, 1, 0, libc::CLONE_THREAD.unsigned_abs()),
        answer(libc::SECCOMP_RET_USER_NOTIF),
        answer(libc::SECCOMP_RET_ALLOW),
    ]);
    program
}
