//! A sandboxed command that tries everything that its policy forbids.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{ERRORS, Scenario, Seen, Stage};

const SECRET: &str = "SECRET-4711";

/// The system calls of a sandboxed call. Without `close` and `poll`: if they fail, Rust's standard library
/// aborts the program.
const CALLS: &[&str] = &[
    "openat2",
    "openat",
    "read",
    "getdents64",
    "statx",
    "fstat",
    "newfstatat",
    "readlink",
    "readlinkat",
    "lseek",
    "pipe2",
    "socketpair",
    "clone",
    "clone3",
    "vfork",
    "fork",
    "execve",
    "wait4",
    "pidfd_open",
    "signalfd4",
    "write",
    "sendto",
    "recvfrom",
    "ppoll",
    "mkdir",
    "mkdirat",
    "unlink",
    "unlinkat",
    "rename",
    "renameat2",
    "symlinkat",
    "chmod",
    "lchown",
    "flock",
    "fchmod",
    "fchown",
    "inotify_init1",
    "inotify_add_watch",
    "getcwd",
    "chdir",
    "dup2",
    "fcntl",
    "landlock_create_ruleset",
    "landlock_add_rule",
    "landlock_restrict_self",
    "mount",
    "mount_setattr",
    "open_tree",
    "move_mount",
    "seccomp",
    "prctl",
    "capget",
    "capset",
    "setsid",
    "prlimit64",
    "unshare",
    "ioctl",
    "socket",
    "rt_sigprocmask",
    // Not `getrandom`: the standard library panics if the system has no random numbers.
];

/// Protected paths, their content, and how a reply names them.
const PROTECTED: &[(&str, Option<&str>, &str)] = &[
    (".git/config", Some("[core]\n"), "/.git/config"),
    (".git/hooks/pre-commit", None, "/.git/hooks"),
    (".vscode/tasks.json", Some("initial\n"), "/.vscode"),
    (".cargo/config.toml", Some("initial\n"), "/.cargo"),
    (".mcp.json", None, "/.mcp.json"),
];

pub(super) struct Commands {
    stage: Stage,
    flags: &'static [&'static str],
    attack: String,
    /// The number of connections and datagrams from the command.
    contacts: Arc<AtomicUsize>,
}

impl Commands {
    pub(super) fn new(stage: &Stage, flags: &'static [&'static str]) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot open a socket as a target: {error}");
        let tcp = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let udp = UdpSocket::bind("127.0.0.1:0").map_err(failed)?;
        let ports =
            (tcp.local_addr().map_err(failed)?.port(), udp.local_addr().map_err(failed)?.port());
        let contacts = Arc::new(AtomicUsize::new(0));
        let counts = [Arc::clone(&contacts), Arc::clone(&contacts)];
        let [by_tcp, by_udp] = counts;
        std::thread::spawn(move || {
            for _ in tcp.incoming() {
                by_tcp.fetch_add(1, Ordering::Relaxed);
            }
        });
        std::thread::spawn(move || {
            while udp.recv(&mut [0; 16]).is_ok() {
                by_udp.fetch_add(1, Ordering::Relaxed);
            }
        });
        let out = stage.top.join("out");
        let out = out.display();
        let attack = format!(
            "echo begun; echo evil > {out}/canary; echo evil > {out}/new; cat ~/.ssh/id_rsa conf/.env; echo evil >> .git/config; \
             echo evil > .git/hooks/pre-commit; echo evil > .mcp.json; echo evil > .vscode/tasks.json; mkdir evil; \
             echo evil > evil/config.toml; mv .cargo away; ln -s evil .cargo; (echo x > /dev/tcp/127.0.0.1/{}); \
             (echo x > /dev/udp/127.0.0.1/{}); echo done; exit 3",
            ports.0, ports.1
        );
        Ok(Commands { stage: stage.clone(), flags, attack, contacts })
    }

    /// A call of `bash` in the sandbox.
    fn call(&self, command: &str) -> Vec<String> {
        let attack = command.replace('\\', "\\\\").replace('"', "\\\"");
        let arguments = format!("{{\"command\":\"{attack}\",\"timeout_secs\":6}}");
        let root = self.stage.top.join("w").display().to_string();
        let eyelet = self.stage.eyelet.display().to_string();
        let sandbox = [&eyelet, "--root", &root, "--cwd", &root, "--sandbox", "workspace-write"];
        let call = ["call", "bash", &arguments];
        sandbox.iter().chain(self.flags).chain(&call).map(|&word| word.to_owned()).collect()
    }

    fn at(&self, path: &str) -> PathBuf {
        self.stage.top.join("w").join(path)
    }

    /// The names, as in a reply, of protected paths that differ from their initial state.
    fn changed(&self) -> Vec<&'static str> {
        let is_changed = |(path, before, _): &&(&str, Option<&str>, &str)| {
            fs::read_to_string(self.at(path)).ok().as_deref() != *before
        };
        PROTECTED.iter().filter(is_changed).map(|(_, _, name)| *name).collect()
    }

    /// The same, after waiting: if the caller failed, its supervisor may still be restoring files.
    fn changed_after_wait(&self) -> Vec<&'static str> {
        let until = Instant::now() + Duration::from_secs(3);
        while !self.changed().is_empty() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.changed()
    }
}

impl Scenario for Commands {
    fn name(&self) -> String {
        format!("bash {} (uid {})", self.flags.join(" "), self.stage.user.unwrap_or(0))
    }

    fn reset(&self) -> Result<(), String> {
        self.contacts.store(0, Ordering::Relaxed);
        for name in ["w", "out", "home", "tmp"] {
            self.stage.folder(name)?;
        }
        for (path, content, _) in PROTECTED {
            if let Some(content) = content {
                self.stage.file(&self.at(path), content)?;
            }
        }
        for path in ["HEAD", "objects/x", "refs/x", "hooks/x"] {
            self.stage.file(&self.at(".git").join(path), "ref: refs/heads/main\n")?;
        }
        // The second tier cannot deny globs.
        if self.flags.contains(&"--deny") {
            self.stage.file(&self.at("conf/.env"), SECRET)?;
        }
        self.stage.file(&self.stage.top.join("out/canary"), "untouched")?;
        self.stage.file(&self.stage.top.join("home/.ssh/id_rsa"), SECRET)
    }

    fn command(&self) -> Vec<String> {
        self.call(&self.attack)
    }

    fn faults(&self) -> (&'static [&'static str], &'static [&'static str]) {
        (CALLS, ERRORS)
    }

    fn complaints(&self, seen: &Seen) -> Vec<String> {
        let mut complaints = Vec::new();
        let mut complain = |what: &str| complaints.push(what.to_owned());
        let is_reply = seen.stdout.starts_with("{\"ok\":true,");
        if seen.code == Some(0) && !is_reply {
            complain("exit code 0 without a reply");
        }
        let canary = fs::read_to_string(self.stage.top.join("out/canary"));
        if canary.ok().as_deref() != Some("untouched") || self.stage.top.join("out/new").exists() {
            complain("the command wrote outside the roots");
        }
        if seen.stdout.contains(SECRET) {
            complain("the reply contains a secret");
        }
        if self.contacts.load(Ordering::Relaxed) > 0 {
            complain("the command reached a socket");
        }
        let changed = if is_reply { self.changed() } else { self.changed_after_wait() };
        // The reply names each changed path, or the root if the supervisor was killed.
        let reverted = seen.stdout.split_once("\"sandbox_reverted\":").map_or("", |(_, rest)| rest);
        let root = self.stage.top.join("w").display().to_string();
        let names_root = [":", ";"].iter().any(|end| reverted.contains(&format!("{root}{end}")));
        let is_reported = |name: &str| names_root || reverted.contains(name);
        for name in changed.into_iter().filter(|name| !is_reported(name)) {
            complain(&format!("protected path changed without a report: {name}"));
        }
        // The next command restores what this one could not.
        if !self.changed().is_empty() {
            match self.stage.run(&[], &self.call("true")) {
                Ok(next) if self.changed().is_empty() => drop(next),
                Ok(next) => complain(&format!(
                    "the next command did not restore the protected paths: {}",
                    next.stdout
                )),
                Err(reason) => complain(&reason),
            }
        }
        complaints
    }
}
