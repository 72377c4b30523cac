//! Drops capabilities and limits core dumps and the number of processes.

use std::io;
use std::os::unix::fs::MetadataExt as _;

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities,
    capability_is_in_bounding_set, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs,
};

use crate::request::{SandboxRequest, Tier};

/// How many processes and threads a sandbox may have: a base, plus some per processor.
const PROCESSES: u64 = 512;
const PROCESSES_PER_CPU: u64 = 128;

/// Whether this process may create namespaces without a user namespace.
pub(super) fn is_system_administrator() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// The maximum number of processes of a sandbox.
pub(super) fn max_processes() -> u64 {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    PROCESSES + PROCESSES_PER_CPU * cpus
}

/// Drops every capability for this process and for each program that it executes, except the one that
/// root needs to write to another user's directory.
pub(super) fn drop_capabilities(request: &SandboxRequest) -> io::Result<()> {
    let is_foreign = |path| std::fs::metadata(path).is_ok_and(|found| found.uid() != 0);
    let kept = if geteuid().is_root() && request.roots.iter().any(|root| is_foreign(&root.path)) {
        CapabilitySet::DAC_OVERRIDE
    } else {
        CapabilitySet::empty()
    };
    let had = capabilities(None)?;
    let kept = kept & had.permitted;
    if had.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..64 {
            let capability = CapabilitySet::from_bits_retain(1 << number);
            if !kept.contains(capability) {
                // The kernel does not know this one, so it knows none of the following.
                if remove_capability_from_bounding_set(capability).is_err() {
                    break;
                }
            }
        }
        if kept.is_empty() {
            set_capabilities_secure_bits(
                CapabilitiesSecureBits::NO_ROOT
                    | CapabilitiesSecureBits::NO_ROOT_LOCKED
                    | CapabilitiesSecureBits::NO_SETUID_FIXUP
                    | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED,
            )?;
        }
    }
    let is_left = |number: u32| {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        let is_there = capability_is_in_bounding_set(capability).unwrap_or(false);
        is_there && !kept.contains(capability)
    };
    if had.effective.contains(CapabilitySet::SETPCAP) && (0..64).any(is_left) {
        return Err(io::Error::other("some capabilities remain"));
    }
    let _ = clear_ambient_capability_set();
    set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() },
    )?;
    set_no_new_privs(true)?;
    let left = capabilities(None)?;
    if left.effective != kept || left.permitted != kept {
        return Err(io::Error::other("some capabilities remain"));
    }
    Ok(())
}

/// Disables core dumps.
pub(super) fn limit_core() -> io::Result<()> {
    Ok(setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?)
}

/// Limits the number of processes. The system ignores this limit for root.
pub(super) fn limit_processes(tier: Tier) -> io::Result<()> {
    if geteuid().is_root() {
        return Ok(());
    }
    let most = match tier {
        // The system counts per user namespace.
        Tier::Namespaces => max_processes(),
        // The system counts all processes of the user.
        Tier::Landlock => u64::from(rustix::system::sysinfo().procs) + max_processes(),
    };
    let old = getrlimit(Resource::Nproc);
    let maximum = old.maximum.map_or(most, |maximum| maximum.min(most));
    let limit = Rlimit { current: Some(maximum), maximum: Some(maximum) };
    Ok(setrlimit(Resource::Nproc, limit)?)
}
