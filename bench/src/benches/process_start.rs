//! The time until a large process can continue after it started another.

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Instant;

use eyelet_sandbox::{Policy, Program, Raw, SandboxRequest, Supervisor};

use crate::Result;
use crate::benches::bash::REPEATS;
use crate::contender::{Contender, Side};
use crate::options::io_error;
use crate::runner::{Task, Unit};
use crate::target::Target;

const START: &str = "eyelet supervisor";
const FORK: &str = "fork and exec";

pub(super) fn task() -> Result<Task> {
    // Allocated on first use, so the other tasks run in a small process.
    let memory = Rc::new(std::cell::OnceCell::new());
    let (ours, peers) = (Rc::clone(&memory), memory);
    let supervisor = Supervisor::this_program();
    let request = SandboxRequest::new(
        Policy::Full,
        Some(Program {
            file: "/bin/true".into(),
            arguments: Vec::<Raw>::new(),
            environment: Vec::new(),
        }),
    );
    let start = move || {
        ours.get_or_init(gibibyte);
        let start = Instant::now();
        let started = supervisor.start(&request, Path::new("/")).map_err(io_error)?;
        let time = start.elapsed();
        drop(started);
        Ok(time)
    };
    let user = own_uid()?;
    let fork = move || {
        peers.get_or_init(gibibyte);
        let mut command = Command::new("/bin/true");
        // To set a user, the standard library must run code between fork and exec.
        command.uid(user).stdin(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().map_err(io_error)?;
        let time = start.elapsed();
        child.wait().map_err(io_error)?;
        Ok(time)
    };
    Ok(Task {
        name: "start `true` from a process with 1 GiB of memory".into(),
        unit: Unit::Milliseconds,
        check: Box::new(|| Ok("no check; both programs start `/bin/true`".into())),
        contenders: vec![
            Contender::timed(START, Side::Ours, start).repeated(REPEATS),
            Contender::timed(FORK, Side::Peer, fork).repeated(REPEATS),
        ],
        targets: vec![
            Target::Within { who: START, most: 1.0 },
            Target::Faster { than: FORK, times: 1.0 },
        ],
    })
}

fn gibibyte() -> Vec<u8> {
    vec![1; 1 << 30]
}

/// The user id of this process.
fn own_uid() -> Result<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").map(|found| found.uid()).map_err(io_error)
}
