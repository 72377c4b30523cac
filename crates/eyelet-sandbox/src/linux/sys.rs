//! System calls without a safe wrapper: the only unsafe code. Every process here has one thread.

#![expect(unsafe_code, reason = "the system is called without a safe wrapper")]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};

use rustix::process::{Pid, Signal};

/// Which side of a fork this is.
pub(super) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks into new namespaces (`CLONE_NEW…` flags), or into the same ones if there are none.
pub(super) fn fork_into(namespaces: c_int) -> io::Result<Forked> {
    let flags = libc::c_long::from(namespaces | libc::SIGCHLD);
    let none = std::ptr::null_mut::<c_void>();
    // SAFETY: without a stack and without CLONE_VM this is a fork. The process has one thread, so no
    // lock is held by another that the copy would miss.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, none, none, none, none) };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    Ok(pid.map_or(Forked::Child, Forked::Parent))
}

/// Sets close-on-exec for every descriptor above the standard ones.
pub(super) fn close_others_on_exec() -> io::Result<()> {
    let first: libc::c_uint = 3;
    // SAFETY: no memory is passed; only a flag of each file is set.
    let done = unsafe {
        libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC)
    };
    if done == 0 {
        return Ok(());
    }
    // Before Linux 5.11: one by one.
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?.file_name().to_str().and_then(|name| name.parse::<c_int>().ok());
        if let Some(number) = number.filter(|number| *number > 2) {
            // SAFETY: no memory is passed; only a flag of the file is set.
            unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
    }
    Ok(())
}

/// Resets every signal to its default action and unblocks it.
pub(super) fn reset_signals() {
    for signal in 1..=libc::SIGRTMAX() {
        // SAFETY: the default action is no function of ours. Signals that cannot be set are refused.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    set_mask(&[], libc::SIG_SETMASK);
}

/// Blocks `signals` and returns a signalfd that reports them.
pub(super) fn signal_fd(signals: &[Signal]) -> io::Result<OwnedFd> {
    set_mask(signals, libc::SIG_BLOCK);
    let set = signal_set(signals);
    // SAFETY: `set` is initialised and outlives the call; -1 asks for a new handle.
    let handle = unsafe { libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if handle < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(handle) })
}

/// The number of the next pending signal, if any.
pub(super) fn next_signal(handle: BorrowedFd<'_>) -> Option<u32> {
    let mut information = [0; size_of::<libc::signalfd_siginfo>()];
    let count = rustix::io::read(handle, &mut information[..]).ok()?;
    // The number is the first field.
    let number = information.get(..count)?.first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*number))
}

fn set_mask(signals: &[Signal], how: c_int) {
    let set = signal_set(signals);
    // SAFETY: `set` is initialised and outlives the call; the old mask is not requested.
    unsafe { libc::sigprocmask(how, &set, std::ptr::null_mut()) };
}

fn signal_set(signals: &[Signal]) -> libc::sigset_t {
    let mut set = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the pointer is to memory of that type, which is filled by this.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: it was filled right above.
    let mut set = unsafe { set.assume_init() };
    for signal in signals {
        // SAFETY: the set is initialised.
        unsafe { libc::sigaddset(&mut set, signal.as_raw()) };
    }
    set
}

/// Adds attributes to a mount; with `AT_RECURSIVE`, also to all mounts below it.
pub(super) fn add_mount_attributes(
    mount: BorrowedFd<'_>,
    path: &CStr,
    flags: c_int,
    attributes: u64,
) -> io::Result<()> {
    let change =
        libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    // SAFETY: path and structure outlive the call, and the size is the structure's own.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            path.as_ptr(),
            flags,
            &raw const change,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Brings up the loopback interface of this network namespace.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    use rustix::net::{AddressFamily, SocketType, socket};
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    // SAFETY: all zeroes are a valid value of this plain structure.
    let mut interface: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in interface.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    interface.ifr_ifru.ifru_flags = libc::c_short::try_from(libc::IFF_UP).unwrap_or(1);
    // SAFETY: the request takes exactly this structure, which outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw mut interface) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The kernel's version of Landlock; 0 if it has none.
pub(super) fn landlock_version() -> io::Result<i32> {
    const VERSION: libc::c_uint = 1;
    let nothing = std::ptr::null::<c_void>();
    let no_bytes: libc::size_t = 0;
    // SAFETY: with this flag nothing is read and nothing is made; a number is returned.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, no_bytes, VERSION) };
    if version >= 0 {
        return Ok(i32::try_from(version).unwrap_or(i32::MAX));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOSYS | libc::EOPNOTSUPP) => Ok(0),
        Some(_) | None => Err(error),
    }
}
