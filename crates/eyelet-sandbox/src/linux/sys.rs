//! System calls without a safe wrapper: the only unsafe code. Every process here has one thread, except for the caller of
//! `release_free_memory`.

#![expect(unsafe_code, reason = "the system is called without a safe wrapper")]

use std::ffi::{CStr, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

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
    // The type of requests depends on the C library.
    let request = libc::SIOCSIFFLAGS as libc::Ioctl;
    // SAFETY: the request takes exactly this structure, which outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request, &raw mut interface) };
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

/// Installs a filter whose `SECCOMP_RET_USER_NOTIF` asks the owner of the returned handle.
pub(super) fn seccomp_listener(program: &[seccompiler::sock_filter]) -> io::Result<OwnedFd> {
    let program = libc::sock_fprog {
        len: libc::c_ushort::try_from(program.len()).map_err(io::Error::other)?,
        filter: program.as_ptr().cast::<libc::sock_filter>().cast_mut(),
    };
    // Once the owner has seen a call, only a fatal signal interrupts it: others could come again and again.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    // SAFETY: the program outlives the call, which only reads it. Both types are the kernel's `sock_filter`.
    let handle = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    match i32::try_from(handle) {
        // SAFETY: the handle is new and nobody else's. The kernel closes it on exec.
        Ok(handle) if handle >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(handle) }),
        Ok(_) | Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Lets the next system call happen that waits at this handle. If its process died meanwhile, there is none.
///
/// # Errors
/// If a call was received that cannot be answered.
pub(super) fn allow_system_call(handle: &OwnedFd) -> io::Result<()> {
    // SAFETY: all zeroes are a valid value of this plain structure.
    let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
    let receive = libc::SECCOMP_IOCTL_NOTIF_RECV;
    // SAFETY: the request fills exactly this structure, which outlives the call.
    if unsafe { libc::ioctl(handle.as_raw_fd(), receive, &raw mut asked) } != 0 {
        return Ok(());
    }
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap_or(1);
    let mut answer = libc::seccomp_notif_resp { id: asked.id, val: 0, error: 0, flags };
    let send = libc::SECCOMP_IOCTL_NOTIF_SEND;
    loop {
        // SAFETY: the request takes exactly this structure, which outlives the call.
        if unsafe { libc::ioctl(handle.as_raw_fd(), send, &raw mut answer) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            // Its process died.
            Some(libc::ENOENT) => return Ok(()),
            Some(_) | None => return Err(error),
        }
    }
}

/// Whether two processes share all their memory. Not if that cannot be told.
pub(super) fn have_same_memory(one: Pid, other: Pid) -> bool {
    const KCMP_VM: c_int = 1;
    let (one, other) = (one.as_raw_pid(), other.as_raw_pid());
    let unused: libc::c_ulong = 0;
    // SAFETY: no memory is passed.
    unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, unused, unused) == 0 }
}

/// The home directory of a user in the password database.
pub(super) fn home_of(user: u32) -> Option<PathBuf> {
    // SAFETY: all zeroes are a valid value of this plain structure.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut buffer: Vec<libc::c_char> = vec![0; 16 * 1024];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to memory that outlives the call, and the size is that of the buffer.
    let failed = unsafe {
        libc::getpwuid_r(user, &raw mut entry, buffer.as_mut_ptr(), buffer.len(), &raw mut found)
    };
    if failed != 0 || found.is_null() || entry.pw_dir.is_null() {
        return None;
    }
    // SAFETY: the call has set the field to a string in the buffer.
    let home = unsafe { CStr::from_ptr(entry.pw_dir) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(home.to_bytes())))
}

/// Whether some process has this file open for writing. Returns true if this cannot be determined.
#[expect(clippy::needless_pass_by_value, reason = "closing the handle ends the lease")]
pub(super) fn has_writer(file: OwnedFd) -> bool {
    // The signal comes if someone opens the file for writing during the test.
    // SAFETY: ignoring a signal is no function of ours.
    unsafe { libc::signal(libc::SIGIO, libc::SIG_IGN) };
    // SAFETY: no memory is passed. The kernel grants a read lease only if nobody has the file open for writing; it
    // ends when the handle is closed.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) != 0 }
}

/// Returns free memory of the allocator to the system, if it is the one that does not do so by itself.
pub(crate) fn release_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: no memory is passed, and every thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
