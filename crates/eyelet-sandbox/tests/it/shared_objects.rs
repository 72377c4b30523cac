//! Attacks of sandboxed commands on what processes of one user share: IPC objects and scheduling.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use testkit::workspace::{TIERS, Workspace};

/// A process outside the sandbox that holds one IPC object of each kind, and reports their numbers.
const OWNER: &str = "
import ctypes, sys
libc = ctypes.CDLL(None)
memory = libc.shmget(0, 4096, 0o1600)
libc.shmat.restype = ctypes.c_void_p
base = libc.shmat(memory, None, 0)
ctypes.memmove(base, b'CANARY', 7)
queue = libc.msgget(0, 0o1600)
set = libc.semget(0, 1, 0o1600)
message = ctypes.create_string_buffer(b'\\1' + bytes(7) + b'CANARY')
assert libc.msgsnd(queue, message, 6, 0) == 0
print(memory, queue, set, flush=True)
sys.stdin.read()
libc.shmctl(memory, 0, None)
libc.msgctl(queue, 0, None)
libc.semctl(set, 0, 0)
assert ctypes.string_at(base) == b'CANARY'
";

/// Prints what it reached.
const ATTACK: &str = "
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
memory, queue, set = [int(number) for number in os.environ['OBJECTS'].split()]
base = libc.shmat(memory, None, 0)
if base is not None and base != 2**64 - 1: print('memory', ctypes.string_at(base))
buffer = ctypes.create_string_buffer(256)
if libc.msgrcv(queue, buffer, 64, 0, 0o4000) >= 0: print('queue', buffer.raw)
if libc.shmctl(memory, 2, buffer) >= 0: print('state of the memory')
if libc.msgctl(queue, 2, buffer) >= 0: print('state of the queue')
if libc.semctl(set, 0, 16, 5) >= 0: print('semaphore')
operation = (ctypes.c_short * 3)(0, 1, 0)
if libc.semop(set, operation, 1) >= 0: print('operation')
for remove in (lambda: libc.shmctl(memory, 0, None), lambda: libc.msgctl(queue, 0, None), lambda: libc.semctl(set, 0, 0)):
    if remove() >= 0: print('removed')
print('tried')
";

#[test]
fn system_v_objects_of_others_cannot_be_used_by_number() {
    if testkit::lacks("python3") {
        return;
    }
    let mut owner = Command::new("python3")
        .args(["-c", OWNER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut numbers = String::new();
    let mut output = std::io::BufReader::new(owner.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut numbers).unwrap();
    let mut workspace = Workspace::new("");
    workspace.set("OBJECTS", numbers.trim());
    for tier in TIERS {
        let flags = [tier, &["--env", "OBJECTS"]].concat();
        let said = workspace.stdout(&flags, &format!("python3 - <<'PYTHON'{ATTACK}PYTHON"));
        assert_eq!(said, "tried\n", "{tier:?}");
    }
    drop(owner.stdin.take());
    assert!(owner.wait().unwrap().success());
}

/// A process outside the sandbox in its own process group.
struct Victim(Child);

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SCHEDULE: &str = "
import ctypes, os
libc = ctypes.CDLL(None)
pid, user = int(os.environ['VICTIM']), os.getuid()
def tried(name, attack):
    try:
        attack()
        print('REACHED', name)
    except OSError: pass
def ioprio(which, who):
    if libc.syscall(SYS_IOPRIO_SET, which, who, (3 << 13)) < 0: raise OSError
tried('affinity', lambda: os.sched_setaffinity(pid, {0}))
tried('scheduler', lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)))
tried('parameter', lambda: os.sched_setparam(pid, os.sched_param(0)))
tried('priority', lambda: os.setpriority(os.PRIO_PROCESS, pid, 7))
tried('group priority', lambda: os.setpriority(os.PRIO_PGRP, pid, 7))
tried('io priority', lambda: ioprio(1, pid))
tried('group io priority', lambda: ioprio(2, pid))
# In the first tier these reach only the processes of the sandbox.
for who in (0, user):
    try: os.setpriority(os.PRIO_USER, who, 7)
    except OSError: pass
    try: ioprio(3, who)
    except OSError: pass
print('tried')
# Its own scheduling is the command's to change.
os.setpriority(os.PRIO_PROCESS, 0, 9)
os.sched_setaffinity(0, os.sched_getaffinity(0))
";

#[test]
fn the_scheduling_of_other_processes_cannot_be_changed() {
    if testkit::lacks("python3") {
        return;
    }
    let mut sleep = Command::new("sleep");
    let victim = Victim(sleep.arg("300").process_group(0).spawn().unwrap());
    let pid = victim.0.id();
    // Its niceness is field 19 of `stat`; scheduling policy and priorities follow.
    let seen = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        let fields = stat.rsplit(") ").next().unwrap().split(' ');
        let fields: Vec<_> = fields.map(str::to_owned).collect();
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let cpus = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap();
        (fields[15].clone(), fields[16].clone(), fields[38].clone(), cpus.to_owned())
    };
    let before = seen();
    let number = if cfg!(target_arch = "x86_64") { "251" } else { "30" };
    let script = SCHEDULE.replace("SYS_IOPRIO_SET", number);
    let mut workspace = Workspace::new("");
    workspace.set("VICTIM", pid.to_string());
    for tier in TIERS {
        let flags = [tier, &["--env", "VICTIM"]].concat();
        let said = workspace.stdout(&flags, &format!("python3 - <<'PYTHON'{script}PYTHON"));
        assert_eq!(said, "tried\n", "{tier:?}");
        assert_eq!(seen(), before, "{tier:?}");
    }
}
