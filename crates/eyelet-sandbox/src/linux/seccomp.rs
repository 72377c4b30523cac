//! The system calls that a sandboxed command may not make.
//!
//! This is a deny list, because ordinary programs have to work. It has the calls that would bypass the
//! other protections: sockets, namespaces, mounts, `io_uring`, foreign ABIs, keys and kernel tracing.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter, sock_filter,
};

use crate::request::{Network, Tier};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused with any arguments.
const REFUSED: &[libc::c_long] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_unshare,
    libc::SYS_setns,
    // It opens sockets and files without passing this filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // The user's keys, which all their processes share.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The kernel itself.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_syslog,
    libc::SYS_open_by_handle_at,
    libc::SYS_clock_settime,
    libc::SYS_settimeofday,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// Refused in the second tier, because without namespaces and mounts these change what others use. An IPC
/// object can be used by its number alone, so refusing to look it up by its key is not enough.
const SHARED: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    // Changes inode flags, which are in memory that a filter cannot read.
    SYS_FILE_SETATTR,
];

/// System calls that change the scheduling of a process, and which argument is its number.
const SCHEDULING: &[(libc::c_long, u8)] = &[
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_setpriority, 1),
    (libc::SYS_ioprio_set, 1),
];

/// The values of the first argument that stand for all processes of a user.
const OF_A_USER: &[(libc::c_long, u64)] = &[
    (libc::SYS_setpriority, libc::PRIO_USER as u64),
    // IOPRIO_WHO_USER.
    (libc::SYS_ioprio_set, 3),
];

/// Newer than the `libc` crate. These numbers are the same on every architecture.
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_OPEN_TREE_ATTR: libc::c_long = 467;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// Change extended attributes. Landlock does not restrict them, so the second tier refuses them for every
/// file. Programs such as `cp -a` and `tar` accept the error of a file system that has none.
const EXTENDED_ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
];

/// The type of `ioctl` requests, and their numbers.
type Requests = (u8, &'static [u8]);

/// Add and remove keys of encrypted directories: without a key, all programs of the user lose the directory.
/// They work even on a read-only mount.
const KEY_REQUESTS: &[Requests] = &[(b'f', &[23, 24, 25])];

/// Change a file that is open only for reading. Landlock does not restrict them.
const INODE_REQUESTS: &[Requests] = &[
    // Flags, version, encryption policy and verity of ext4, which most file systems share.
    (b'f', &[2, 4, 19, 133]),
    (b'v', &[2]),
    // Extended flags of XFS, which most file systems share.
    (b'X', &[32]),
    // Attributes of FAT.
    (b'r', &[0x11]),
    // Subvolumes of Btrfs: create, snapshot, destroy, set flags.
    (0x94, &[1, 14, 15, 23, 24, 26, 63]),
];

/// System calls that set a file's mode, and which argument is the mode.
const MODES: &[(libc::c_long, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (libc::SYS_fchmodat2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// System calls whose mode counts only if they create a file, and which arguments are flags and mode.
/// `openat2` has its mode in memory, which a filter cannot read. It can create only an empty file: the
/// kernel removes the setuid bit when a process without capabilities writes to the file.
const OPEN_MODES: &[(libc::c_long, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

const NEW_NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Filters this process and all its descendants irrevocably.
pub(super) fn apply(tier: Tier, network: Network) -> Result<(), seccompiler::Error> {
    let mut refused = REFUSED.to_vec();
    let mut rules = Rules::new();
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        add(&mut rules, libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(flag), flag)])?;
    }
    // These inject input into a terminal. The type of the constants depends on the C library.
    for request in [libc::TIOCSTI as libc::c_ulong, libc::TIOCLINUX as libc::c_ulong] {
        add(&mut rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)])?;
    }
    refuse_requests(&mut rules, KEY_REQUESTS)?;
    refuse_setuid(&mut rules)?;
    refuse_pairs(&mut rules)?;
    if (tier, network) == (Tier::Landlock, Network::Off) {
        refused.push(libc::SYS_socket);
    } else {
        // Without the network, the network namespace has only the loopback interface.
        refuse_all_but_ip(&mut rules)?;
    }
    let unsupported = match tier {
        Tier::Namespaces => &[][..],
        Tier::Landlock => {
            refused.extend(SHARED);
            refuse_shared(&mut rules)?;
            EXTENDED_ATTRIBUTES
        }
    };
    // The flags of clone3 are in memory, which a filter cannot read. The C library falls back to `clone`.
    let always = [
        (refused.as_slice(), libc::EPERM),
        (&[libc::SYS_clone3], libc::ENOSYS),
        (unsupported, libc::EOPNOTSUPP),
    ];
    install(rules, &always)
}

/// Outside the sandbox, another user could run a setuid file of a command with the rights of this user.
fn refuse_setuid(rules: &mut Rules) -> Result<(), seccompiler::Error> {
    let has = |flag: u32| (SeccompCmpOp::MaskedEq(u64::from(flag)), u64::from(flag));
    let (is_setuid, setuid) = has(libc::S_ISUID);
    for (call, mode) in MODES {
        add(rules, *call, &[(*mode, is_setuid.clone(), setuid)])?;
    }
    for (call, flags, mode) in OPEN_MODES {
        for creates in [libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY] {
            let (is_set, flag) = has(creates.unsigned_abs());
            let conditions = [(*flags, is_set, flag), (*mode, is_setuid.clone(), setuid)];
            add(rules, *call, &conditions)?;
        }
    }
    Ok(())
}

/// Unix sockets lead to services that run commands outside the sandbox, so the network means IP.
fn refuse_all_but_ip(rules: &mut Rules) -> Result<(), seccompiler::Error> {
    let others = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
        .map(|family| (0, SeccompCmpOp::Ne, number(family)));
    add(rules, libc::SYS_socket, &others)?;
    // Programs use these to list interfaces, routes and ports; other protocols reach other programs.
    let netlink = (0, SeccompCmpOp::Eq, number(libc::AF_NETLINK));
    let other = |protocol| (2, SeccompCmpOp::Ne, number(protocol));
    let others = [netlink, other(libc::NETLINK_ROUTE), other(libc::NETLINK_SOCK_DIAG)];
    add(rules, libc::SYS_socket, &others)
}

/// Refuses socket pairs whose sockets do not stay connected to each other. The kernel makes a datagram socket
/// of a type such as `SOCK_RAW`, and a datagram socket can send to any path.
fn refuse_pairs(rules: &mut Rules) -> Result<(), seccompiler::Error> {
    add(rules, libc::SYS_socketpair, &[(0, SeccompCmpOp::Ne, number(libc::AF_UNIX))])?;
    let connected = [libc::SOCK_STREAM, libc::SOCK_SEQPACKET].map(number);
    for kind in (0..=SOCKET_KIND).filter(|kind| !connected.contains(kind)) {
        add(rules, libc::SYS_socketpair, &[(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), kind)])?;
    }
    Ok(())
}

fn number(value: libc::c_int) -> u64 {
    u64::from(value.unsigned_abs())
}

/// The bits of a socket's type that are not flags.
const SOCKET_KIND: u64 = 0xf;

/// Refuses what namespaces and mounts prevent in the first tier.
fn refuse_shared(rules: &mut Rules) -> Result<(), seccompiler::Error> {
    // A resource limit could kill another process of the user.
    add(rules, libc::SYS_prlimit64, &[(0, SeccompCmpOp::Ne, 0)])?;
    // A filter cannot tell the command's own processes from others; 0 is the caller itself.
    for (call, process) in SCHEDULING {
        add(rules, *call, &[(*process, SeccompCmpOp::Ne, 0)])?;
    }
    for (call, user) in OF_A_USER {
        add(rules, *call, &[(0, SeccompCmpOp::Eq, *user)])?;
    }
    refuse_requests(rules, INODE_REQUESTS)
}

/// Refuses `ioctl` requests, whatever the size of their argument.
fn refuse_requests(rules: &mut Rules, requests: &[Requests]) -> Result<(), seccompiler::Error> {
    for (kind, numbers) in requests {
        for number in *numbers {
            let request = u64::from(u16::from_be_bytes([*kind, *number]));
            add(rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::MaskedEq(0xffff), request)])?;
        }
    }
    Ok(())
}

fn add(
    rules: &mut Rules,
    call: libc::c_long,
    conditions: &[(u8, SeccompCmpOp, u64)],
) -> Result<(), seccompiler::Error> {
    let conditions: Result<Vec<_>, _> = conditions
        .iter()
        .map(|(argument, how, value)| {
            SeccompCondition::new(*argument, SeccompCmpArgLen::Dword, how.clone(), *value)
        })
        .collect();
    rules.entry(call).or_default().push(SeccompRule::new(conditions?)?);
    Ok(())
}

/// System calls that fail with an error whatever their arguments are.
type Always<'c> = (&'c [libc::c_long], libc::c_int);

/// Installs one program instead of several, because the kernel runs each of them on every call.
fn install(rules: Rules, always: &[Always<'_>]) -> Result<(), seccompiler::Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    // Calls by the numbers of another architecture kill the process.
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    let mut program: BpfProgram = filter.try_into()?;
    let is_number = |one: &sock_filter| one.code == LOAD && one.k == NUMBER;
    // The architecture check comes before it and must stay first.
    let begin = program.iter().position(is_number).unwrap_or(0);
    program.splice(begin..begin, before_rules(always));
    apply_filter(&program)
}

/// Loads a word of the call's data.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
/// The offset of the call's number.
const NUMBER: u32 = 0;

/// Checks of the call's number alone. As `SeccompRule`s they would take four times as many instructions, and
/// the kernel goes through them for every system call when it installs the program.
fn before_rules(always: &[Always<'_>]) -> BpfProgram {
    let instruction = |code: u32, if_true, if_false, value| sock_filter {
        code: code as u16,
        jt: if_true,
        jf: if_false,
        k: value,
    };
    let answer = |value| instruction(libc::BPF_RET | libc::BPF_K, 0, 0, value);
    let mut program = vec![instruction(LOAD.into(), 0, 0, NUMBER)];
    if cfg!(target_arch = "x86_64") {
        // The x32 ABI reports the same architecture but has other numbers for the same calls.
        const X32: u32 = 0x4000_0000;
        let is_x32 = instruction(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32);
        program.extend([is_x32, answer(libc::SECCOMP_RET_KILL_PROCESS)]);
    }
    let is_call = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    for (calls, error) in always {
        // A jump skips at most this many instructions.
        for calls in calls.chunks(u8::MAX.into()) {
            // Each comparison jumps to the answer behind the last one; the last one jumps over it.
            for (left, call) in (0..calls.len()).rev().zip(calls) {
                let left = u8::try_from(left).unwrap_or(u8::MAX);
                let call = u32::try_from(*call).unwrap_or(u32::MAX);
                program.push(instruction(is_call, left, u8::from(left == 0), call));
            }
            program.push(answer(libc::SECCOMP_RET_ERRNO | error.unsigned_abs()));
        }
    }
    program
}
