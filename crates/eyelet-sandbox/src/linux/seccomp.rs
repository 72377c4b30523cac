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

/// Refused in the second tier, because without namespaces other processes share these objects.
const SHARED: &[libc::c_long] =
    &[libc::SYS_shmget, libc::SYS_shmat, libc::SYS_semget, libc::SYS_msgget, libc::SYS_mq_open];

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
    let mut rules: Rules = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.unsigned_abs());
        add(&mut rules, libc::SYS_clone, &[(0, SeccompCmpOp::MaskedEq(flag), flag)])?;
    }
    // These inject input into a terminal.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        add(&mut rules, libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)])?;
    }
    if tier == Tier::Landlock {
        rules.extend(SHARED.iter().map(|call| (*call, Vec::new())));
        // A resource limit could kill another process of the user.
        add(&mut rules, libc::SYS_prlimit64, &[(0, SeccompCmpOp::Ne, 0)])?;
    }
    if network == Network::Off {
        match tier {
            // The network namespace has only the loopback interface.
            Tier::Namespaces => {
                let others = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]
                    .map(|family| (0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
                add(&mut rules, libc::SYS_socket, &others)?;
            }
            Tier::Landlock => rules.extend([(libc::SYS_socket, Vec::new())]),
        }
        // A datagram socket of a pair could still be connected to any path.
        let kind = u64::from(libc::SOCK_DGRAM.unsigned_abs());
        add(&mut rules, libc::SYS_socketpair, &[(1, SeccompCmpOp::MaskedEq(0xf), kind)])?;
    }
    install(rules)
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

/// Installs one program instead of several, because the kernel runs each of them on every call.
fn install(rules: Rules) -> Result<(), seccompiler::Error> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    // Calls by the numbers of another architecture kill the process.
    let refused = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refused, architecture)?;
    let mut program: BpfProgram = filter.try_into()?;
    let is_number = |one: &sock_filter| one.code == LOAD && one.k == NUMBER;
    // The architecture check comes before it and must stay first.
    let begin = program.iter().position(is_number).unwrap_or(0);
    program.splice(begin..begin, beyond_rules());
    apply_filter(&program)
}

/// Loads a word of the call's data.
const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
/// The offset of the call's number.
const NUMBER: u32 = 0;

/// Checks that `SeccompRule` cannot express.
fn beyond_rules() -> BpfProgram {
    let instruction =
        |code, if_true, if_false, value| sock_filter { code, jt: if_true, jf: if_false, k: value };
    let answer = |value| instruction((libc::BPF_RET | libc::BPF_K) as u16, 0, 0, value);
    let unless =
        |how: u32, value| instruction((libc::BPF_JMP | how | libc::BPF_K) as u16, 0, 1, value);
    let mut program = vec![instruction(LOAD, 0, 0, NUMBER)];
    if cfg!(target_arch = "x86_64") {
        // The x32 ABI reports the same architecture but has other numbers for the same calls.
        const X32: u32 = 0x4000_0000;
        program.extend([unless(libc::BPF_JGE, X32), answer(libc::SECCOMP_RET_KILL_PROCESS)]);
    }
    // The flags of clone3 are in memory, which a filter cannot read. The C library falls back to `clone`.
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(0);
    let missing = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();
    program.extend([unless(libc::BPF_JEQ, clone3), answer(missing)]);
    program
}
