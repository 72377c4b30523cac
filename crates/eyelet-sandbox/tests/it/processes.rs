//! Attacks of commands on processes, their own and others.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use testkit::workspace::{FIRST, SECOND, SUPERVISED, TIERS, Workspace, marked, marker, within};

#[test]
fn no_process_outlives_the_call() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let marker = marker();
        let escapes = format!(
            "setsid sleep {marker} & (setsid sh -c 'trap \"\" TERM HUP; sleep {marker}; true' &) ; \
             setsid sh -c 'setsid sleep {marker} & setsid sh -c \"setsid sleep {marker} &\"'; \
             (sleep {marker} >/dev/null 2>&1 &) ; echo started; exit 3"
        );
        let start = Instant::now();
        let data = workspace.data(flags, &escapes);
        assert_eq!((&data["exit_code"], &data["stdout"]), (&json!(3), &json!("started\n")));
        assert_eq!(marked(&marker), 0, "{flags:?}");
        assert!(start.elapsed() < Duration::from_secs(30), "{flags:?} {:?}", start.elapsed());
    }
}

#[test]
fn a_process_that_floods_the_pipe_does_not_delay_the_call() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        let marker = marker();
        let start = Instant::now();
        // Both streams are flooded before the command ends.
        let flood = |file: &str| {
            format!("setsid sh -c 'yes {marker} | head -c 60000; : > {file}; exec yes {marker}'")
        };
        let command = format!(
            "rm -f one two; {} & {} >&2 & until [ -e one -a -e two ]; do sleep 0.01; done; exit 6",
            flood("one"),
            flood("two")
        );
        let data = workspace.data(flags, &command);
        assert!(start.elapsed() < Duration::from_secs(30), "{flags:?} {:?}", start.elapsed());
        assert_eq!((&data["exit_code"], marked(&marker)), (&json!(6), 0), "{flags:?}");
        for stream in ["stdout", "stderr"] {
            assert!(data[stream].as_str().unwrap().len() <= 51_200, "{flags:?}");
            assert!(data[format!("{stream}_total_bytes")].as_u64().unwrap() > 51_200, "{flags:?}");
        }
    }
}

#[test]
fn a_timeout_kills_processes_that_ignore_signals() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        for command in [
            "echo early; trap '' TERM INT HUP; sleep 100; sleep 100",
            "echo early; kill -STOP $$",
            "echo early; setsid sh -c 'trap \"\" TERM; yes > /dev/null' & wait",
        ] {
            let start = Instant::now();
            // Long enough for the start on a busy machine.
            let arguments = json!({ "command": command, "timeout_secs": 4 });
            let answer = workspace.answer_of(flags, &arguments);
            assert_eq!(answer["data"]["timed_out"], true, "{flags:?} {command}: {answer}");
            assert_eq!(answer["data"]["stdout"], "early\n", "{flags:?} {command}");
            assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
        }
    }
}

#[test]
fn exit_codes_and_signals_are_those_of_the_command() {
    let workspace = Workspace::new("");
    for flags in SUPERVISED {
        for (command, code) in [
            ("exit 7", 7),
            ("kill -9 $$", 137),
            ("kill -SEGV $$", 139),
            ("no-such-command", 127),
            ("true", 0),
            ("exec 1>&- 2>&-; sleep 0.2; exit 5", 5),
        ] {
            assert_eq!(workspace.data(flags, command)["exit_code"], code, "{flags:?} {command}");
        }
    }
}

#[test]
fn a_command_has_three_descriptors_no_terminal_and_empty_input() {
    let workspace = Workspace::new("");
    let open = fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    for flags in SUPERVISED {
        let files = workspace
            .stdout(flags, "for f in {0..99}; do [ -e /proc/$$/fd/$f ] && echo $f; done; true");
        assert_eq!(files, "0\n1\n2\n", "{flags:?}");
        let data = workspace.data(
            flags,
            "cat; tty; (echo x > /dev/tty) 2>/dev/null || echo none; trap -p; ulimit -c",
        );
        assert_eq!(data["stdout"], "not a tty\nnone\n0\n", "{flags:?}: {data}");
    }
}

#[test]
fn the_environment_is_the_allow_list_and_others_are_unreadable() {
    let mut workspace = Workspace::new("evil = echo EVIL");
    let evil = workspace.at("evil");
    for (name, value) in [
        ("API_TOKEN", "CANARY"),
        ("BASH_ENV", evil.to_str().unwrap()),
        ("ENV", evil.to_str().unwrap()),
        ("SHELLOPTS", "xtrace"),
        ("BASH_FUNC_ls%%", "() { echo EVIL; }"),
        ("PROMPT_COMMAND", "echo EVIL"),
        ("LD_PRELOAD", "/nonexistent/EVIL.so"),
        ("GIT_CONFIG_COUNT", "1"),
        ("LC_ALL", "C"),
        ("CARGO_HOME", "/c"),
        ("WANTED", "given"),
    ] {
        workspace.set(name, value);
    }
    for tier in TIERS {
        let flags =
            [tier, &["--env", "WANTED", "--env", "BASH_ENV", "--env", "LD_PRELOAD"]].concat();
        let names = workspace.stdout(&flags, "env | cut -d= -f1 | LC_ALL=C sort | tr '\\n' ' '");
        assert_eq!(
            names,
            "CARGO_HOME CARGO_NET_RETRY GIT_TERMINAL_PROMPT GOCACHE HOME LC_ALL NO_COLOR NPM_CONFIG_CACHE \
             NPM_CONFIG_FETCH_RETRIES OUT PAGER PATH PIP_CACHE_DIR PIP_RETRIES PWD SHLVL TERM TMPDIR WANTED _ ",
            "{tier:?}"
        );
        let data = workspace.data(&flags, "ls; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' | grep -a CANARY; cat /proc/*/cmdline | grep -ac __supervise");
        assert!(!data["stdout"].as_str().unwrap().contains("CANARY"), "{tier:?} {data}");
        assert!(!data.to_string().contains("EVIL"), "{tier:?} {data}");
    }
}

/// A process outside the sandbox.
struct Victim(std::process::Child);

impl Victim {
    fn new() -> Self {
        let mut sleep = Command::new("sleep");
        Victim(sleep.arg("300").env("SECRET", "CANARY").stdin(Stdio::piped()).spawn().unwrap())
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn other_processes_cannot_be_signalled_traced_or_read() {
    if testkit::lacks("python3") {
        return;
    }
    let mut workspace = Workspace::new("");
    let mut victim = Victim::new();
    let pid = victim.0.id().to_string();
    workspace.set("VICTIM", pid.as_str());
    let script = "
import ctypes, os, resource, signal
libc = ctypes.CDLL(None, use_errno=True)
pid = int(os.environ['VICTIM'])
def tried(name, attack):
    try:
        if attack() is not None: print('REACHED', name)
    except OSError: pass
def bad(result): return None if result < 0 else result
tried('kill', lambda: os.kill(pid, signal.SIGTERM) or 1)
tried('stop', lambda: os.kill(pid, signal.SIGSTOP) or 1)
tried('prlimit', lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, 64)))
tried('environ', lambda: open(f'/proc/{pid}/environ').read() or None)
tried('mem', lambda: open(f'/proc/{pid}/mem', 'rb'))
tried('maps', lambda: open(f'/proc/{pid}/maps').read() or None)
tried('fd', lambda: os.open(f'/proc/{pid}/fd/0', os.O_RDWR))
tried('root', lambda: os.listdir(f'/proc/{pid}/root/'))
tried('cwd', lambda: os.listdir(f'/proc/{pid}/cwd/'))
tried('ptrace', lambda: bad(libc.ptrace(16, pid, 0, 0)))
buffer = ctypes.create_string_buffer(64)
class Vector(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
here, there = Vector(ctypes.addressof(buffer), 8), Vector(0x400000, 8)
tried('vm', lambda: bad(libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)))
handle = libc.syscall(434, pid, 0)
if handle >= 0: tried('getfd', lambda: bad(libc.syscall(438, handle, 0, 0)))
print('tried')
";
    for tier in TIERS {
        let flags = [tier, &["--env", "VICTIM"]].concat();
        let said = workspace.stdout(&flags, &format!("python3 - <<'PYTHON'{script}\nPYTHON"));
        assert_eq!(said, "tried\n", "{tier:?}");
        assert!(victim.is_alive(), "{tier:?}");
    }
}

#[test]
fn reading_anywhere_does_not_include_other_processes() {
    let mut workspace = Workspace::new("");
    let victim = Victim::new();
    let pid = victim.0.id();
    workspace.set("EYELET_TEST_SECRET", "CANARY");
    let files =
        ["environ", "mem", "maps", "smaps", "auxv", "pagemap", "stack", "syscall", "io", "fd/0"];
    for tier in TIERS {
        let flags = [tier, &["--read-anywhere"]].concat();
        for file in files {
            // The victim, and eyelet itself.
            for process in [pid.to_string(), "self".to_owned(), "thread-self".to_owned()] {
                let arguments = json!({ "path": format!("/proc/{process}/{file}") }).to_string();
                let mut eyelet = workspace.eyelet(&flags);
                let output = eyelet.args(["call", "read", &arguments]).output().unwrap();
                let answer = testkit::workspace::envelope(&output);
                assert_eq!(answer["error"]["code"], "permission_denied", "{arguments}: {answer}");
            }
        }
        let list = files.map(|file| format!("/proc/{pid}/{file} /proc/{pid}/task/{pid}/{file}"));
        let command = format!(
            "for file in {}; do if head -c 1 $file 2>/dev/null | grep -q ''; then echo $file; fi; done; \
             cat /proc/[0-9]*/environ 2>/dev/null | grep -ac CANARY; echo tried",
            list.join(" ")
        );
        assert_eq!(workspace.stdout(&flags, &command), "0\ntried\n", "{tier:?}");
    }
}

#[test]
fn a_command_cannot_kill_its_supervisor() {
    let workspace = Workspace::new("");
    for tier in TIERS {
        let data = workspace.data(
            tier,
            "kill -TERM $PPID; kill -STOP $PPID; kill -KILL $PPID; kill -9 1; echo alive",
        );
        assert_eq!(data["stdout"], "alive\n", "{tier:?} {data}");
        assert_eq!(data["exit_code"], 0);
        // It cannot kill the supervisor's ancestors either.
        let data = workspace.data(
            tier,
            "p=$PPID; n=0; while [ \"${p:-0}\" -gt 1 ]; do kill -TERM $p; kill -STOP $p; kill -KILL $p; \
             n=$((n+1)); p=$(sed 's/.*) //' /proc/$p/stat | cut -d' ' -f2); done 2>/dev/null; echo $n alive",
        );
        let said = data["stdout"].as_str().unwrap();
        let tried: u32 = said.split(' ').next().unwrap().parse().unwrap();
        // In the first tier, processes outside are invisible.
        assert_eq!(tried >= 3, tier == SECOND, "{tier:?} {data}");
        assert!(said.ends_with(" alive\n") && data["exit_code"] == 0, "{tier:?} {data}");
    }
}

#[test]
fn commands_gain_no_privileges_and_create_no_namespaces() {
    let workspace = Workspace::new("");
    for tier in TIERS {
        for attack in [
            "unshare -Urm true",
            "unshare -n true",
            "unshare -p -f true",
            "mount -t tmpfs x /mnt",
            "mount -o remount,rw /",
            "umount /proc",
            "/usr/sbin/chroot / true",
            "mknod n b 8 0",
            "mkdir d && mount --bind . d",
            "setpriv --reuid=$([ $(id -u) = 0 ] && echo 1 || echo 0) --clear-groups true",
            "nsenter -t 1 -m true",
        ] {
            assert!(workspace.fails(tier, attack), "{tier:?} {attack}");
        }
        // The setuid bit has no effect.
        let own = "cp $(command -v id) ./id; chmod 6755 id; ./id -u";
        assert_eq!(
            workspace.stdout(tier, own).trim(),
            rustix::process::geteuid().as_raw().to_string()
        );
        let status = workspace.stdout(tier, "grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -s '\\t' ' '");
        assert!(
            status.contains("CapEff: 0000000000000000") && status.contains("NoNewPrivs: 1"),
            "{status}"
        );
        assert!(
            status.contains("CapPrm: 0000000000000000") && status.contains("Seccomp: 2"),
            "{status}"
        );
        // Without namespaces an ordinary user cannot drop these, but cannot use them either.
        if testkit::is_root() || tier == FIRST {
            assert!(status.contains("CapBnd: 0000000000000000"), "{tier:?} {status}");
        }
    }
}

#[test]
fn a_fork_bomb_is_limited_and_does_not_block_other_calls() {
    let workspace = Workspace::new("");
    // The second tier does not limit root; `doctor` reports that.
    let tiers: &[&[&str]] = if testkit::is_root() { &[FIRST] } else { &[FIRST, SECOND] };
    for tier in tiers {
        // Starts the bomb only if the limit is active.
        let bomb = "limit=$(cat /proc/sys/kernel/pid_max); [ $limit -le 20000 ] || limit=$(ulimit -u); \
                    [ $limit -le 20000 ] || exit 9; bomb() { bomb | bomb & }; bomb; : > up; exec sleep 100";
        let marker = marker();
        let _ = fs::remove_file(workspace.at("up"));
        let arguments = json!({ "command": format!(": {marker}; {bomb}"), "timeout_secs": 4 });
        std::thread::scope(|scope| {
            let call = scope.spawn(|| {
                let start = Instant::now();
                (workspace.answer_of(tier, &arguments), start.elapsed())
            });
            let exploded = within(Duration::from_secs(30), || workspace.at("up").exists());
            assert!(exploded, "{tier:?}: no bomb");
            assert_eq!(workspace.stdout(tier, "echo other call"), "other call\n");
            let (answer, time) = call.join().unwrap();
            assert_eq!(answer["data"]["timed_out"], true, "{tier:?}: {answer}");
            assert!(time < Duration::from_secs(60), "{tier:?} took {time:?}");
        });
        let left = || {
            let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
            let bombs = processes.filter(|process| {
                let line = fs::read(process.path().join("cmdline")).unwrap_or_default();
                String::from_utf8_lossy(&line).starts_with("/")
                    && String::from_utf8_lossy(&line).contains(&marker)
            });
            bombs.count()
        };
        assert!(within(Duration::from_secs(30), || left() == 0), "{tier:?}: {} are left", left());
    }
}

/// Three hundred chains of processes, each of which writes, forks and exits. They start at once.
const CHAINS: &str = "python3 - <<'PYTHON'
import os, time
alive = os.open('alive', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
gate, opened = os.pipe()
# If the test fails, they end all the same.
end = time.monotonic() + 20
def fork():
    while time.monotonic() < end:
        # There may be too many processes for a moment.
        try: return os.fork()
        except OSError: time.sleep(0.01)
for _ in range(300):
    if fork() == 0:
        os.close(opened)
        os.setsid()
        os.read(gate, 1)
        while time.monotonic() < end and fork() == 0: os.write(alive, b'x')
        os._exit(0)
os.close(opened)
time.sleep(0.5)
PYTHON";

#[test]
fn chains_of_forks_do_not_outlive_the_call() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in TIERS {
        let workspace = Workspace::new("");
        let data = workspace.data(tier, CHAINS);
        assert_eq!((&data["exit_code"], &data["stderr"]), (&json!(0), &json!("")), "{tier:?}");
        let written = || fs::metadata(workspace.at("alive")).unwrap().len();
        let before = written();
        assert!(before > 300, "{tier:?}: the chains did not run: {data}");
        // Each process of a chain writes.
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(written(), before, "{tier:?}: a chain is left");
    }
}

#[test]
fn eyelet_works_inside_its_own_sandbox_or_reports_why_not() {
    let mut workspace = Workspace::new("");
    let copy = workspace.at("eyelet");
    fs::copy(testkit::eyelet_bin(), &copy).unwrap();
    workspace.set("INNER", copy);
    for tier in TIERS {
        let flags = [tier, &["--env", "INNER"]].concat();
        let inner = "\"$INNER\" --sandbox workspace-write bash 'echo inner > made; cat made; echo x > /etc/eyelet-x'";
        let data = workspace.data(&flags, inner);
        let reported = data.to_string();
        assert!(
            reported.contains("inner") || reported.contains("cannot be enforced"),
            "{tier:?} {data}"
        );
        assert!(!std::path::Path::new("/etc/eyelet-x").exists());
    }
}
