//! `bash`: what it costs to be asked for a command, and to read what it prints.

use std::cell::RefCell;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{PrivateTemp, Root, SandboxPolicy, SandboxSettings, OutputStore, Tool as _, TurnContext};
use eyelet_sandbox::{Policy, Program, Raw, SandboxRequest, Supervisor, Tier};
use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Surroundings, equal, text};
use crate::contender::{Contender, Side, output};
use crate::options::said;
use crate::race::{Check, Unit, Work};
use crate::server::{Call, Server};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "bash",
    peers: &["bash", "cat"],
    needs_corpus: NeedsCorpus::No,
    notes: &[
        "`full` is a supervisor without a sandbox, `sandboxed` the default of the server: \
         `workspace-write` in the first tier",
        "the library and `eyelet call` are asked for data alone, the server for a text",
        "of 4 GiB eyelet keeps the first 256 MiB in a file, as it does in every call; a server that \
         answers with a text also counts the lines of all and shows the end; `cat > /dev/null` does \
         none of it, `wc -l` counts",
        "kept streams and the peer's copy lie in the same folder and are removed before every run, \
         which is not timed",
        "a sample of `true` or of a start is the median of 25 in a row",
        "a start is the time until the caller goes on: from a process of 1 GiB, all of it written to; \
         the peer copies that process (`fork`), as a hook before exec makes the standard library do",
    ],
    works,
};

const FULL: &str = "eyelet call bash, full";
const SANDBOXED: &str = "eyelet call bash, sandboxed";
const IDLE: &str = "eyelet call bash of `true`";
const LIBRARY: &str = "library, sandboxed";
const SERVER: &str = "eyelet mcp, sandboxed";
const DRAIN: &str = "| cat > /dev/null";
const COUNT: &str = "| wc -l";
const COPY: &str = "| cat > file";
const PLAIN: &str = "bash -c true";
const START: &str = "start of a supervisor";
const FORK: &str = "fork and exec";

const MANY: u64 = 4 << 30;
const KEPT: u64 = 200 << 20;
const REPEATS: usize = 25;
/// What a call may have in memory beside what one without output has.
const FLAT: [Target; 2] = [
    Target::Growth { who: FULL, above: IDLE, mebibytes: 16.0 },
    Target::Growth { who: SANDBOXED, above: IDLE, mebibytes: 16.0 },
];

fn works(surroundings: &Surroundings) -> Result<Vec<Work>> {
    let place = Place::new(surroundings)?;
    let zeroes = format!("head -c {MANY} /dev/zero");
    let lines = format!("yes 0123456789 | head -c {MANY}");
    Ok(vec![
        draining(&place, "zeroes", &zeroes),
        draining(&place, "short lines", &lines),
        counting(&place, "zeroes", &zeroes, "1 line"),
        counting(&place, "short lines", &lines, &format!("{} lines", MANY.div_ceil(11))),
        keeping(&place),
        a_call(&place)?,
        a_process(&place),
        starting()?,
    ])
}

/// Where everything happens: a workspace, and a temp folder of its own.
#[derive(Clone)]
struct Place {
    eyelet: String,
    workspace: String,
    temp: PathBuf,
    /// A server's own, which is not cleared while it runs.
    server_temp: String,
}

impl Place {
    fn new(surroundings: &Surroundings) -> Result<Place> {
        let folder = surroundings.fixtures.folder.join("bash");
        let (workspace, temp) = (folder.join("workspace"), folder.join("temp"));
        let server_temp = folder.join("server-temp");
        fs::create_dir_all(&workspace).map_err(said)?;
        fs::create_dir_all(&server_temp).map_err(said)?;
        let place = Place {
            eyelet: surroundings.eyelet.clone(),
            workspace: text(workspace)?,
            temp,
            server_temp: text(server_temp)?,
        };
        place.clear()?;
        Ok(place)
    }

    /// Removes what was kept.
    fn clear(&self) -> Result<()> {
        if self.temp.exists() {
            fs::remove_dir_all(&self.temp).map_err(said)?;
        }
        fs::create_dir_all(&self.temp).map_err(said)
    }

    /// The words of one call.
    fn call(&self, policy: &str, command: &str) -> Vec<String> {
        let temp = format!("TMPDIR={}", self.temp.display());
        let arguments = json!({ "command": command }).to_string();
        let words = [
            "env",
            &temp,
            &self.eyelet,
            "--cwd",
            &self.workspace,
            "--root",
            &self.workspace,
            "--sandbox",
            policy,
            "call",
            "bash",
            &arguments,
        ];
        words.map(str::to_owned).to_vec()
    }

    /// A server that runs.
    fn server(&self) -> Result<Rc<RefCell<Server>>> {
        let temp = format!("TMPDIR={}", self.server_temp);
        let folder = &self.workspace;
        let words = ["env", &temp, &self.eyelet, "mcp", "--root", folder, "--cwd", folder];
        Server::start(&words.map(str::to_owned)).map(RefCell::new).map(Rc::new)
    }

    fn ours(&self, name: &'static str, policy: &str, command: &str) -> Contender {
        let place = self.clone();
        let side = if name == IDLE { Side::Idle } else { Side::Ours };
        Contender::process(name, side, self.call(policy, command)).after(move || place.clear())
    }

    /// A call of the library, in a session of its own.
    fn library(&self, command: &str) -> Contender {
        let (place, command) = (self.clone(), command.to_owned());
        let call = move || {
            let turn = session(&place)?.with_output_store(Arc::new(OutputStore::session(&place.temp)));
            let start = Instant::now();
            run(&turn, &command)?;
            Ok(start.elapsed())
        };
        let place = self.clone();
        Contender::timed(LIBRARY, Side::Ours, call).after(move || place.clear())
    }

    fn peer(&self, name: &'static str, command: &str) -> Contender {
        let place = self.clone();
        Contender::process(name, Side::Peer, ["sh", "-c", command]).after(move || place.clear())
    }

    /// That both policies tell the exact number of bytes, and end well.
    fn counts(&self, command: &str, bytes: u64) -> Check {
        let (place, command) = (self.clone(), command.to_owned());
        Box::new(move || {
            for policy in ["full", "workspace-write"] {
                let answer = place.answer(policy, &command)?;
                equal("stdout_total_bytes", &answer["data"]["stdout_total_bytes"], &json!(bytes))?;
                equal("exit_code", &answer["data"]["exit_code"], &json!(0))?;
            }
            Ok(format!("{bytes} bytes were told under both policies"))
        })
    }

    fn answer(&self, policy: &str, command: &str) -> Result<Value> {
        self.clear()?;
        let said = output(&self.call(policy, command))?;
        serde_json::from_slice(&said).map_err(|error| error.to_string())
    }
}

fn draining(place: &Place, what: &str, command: &str) -> Work {
    Work {
        name: format!("4 GiB of {what}"),
        unit: Unit::Milliseconds,
        check: place.counts(command, MANY),
        contenders: vec![
            place.library(command),
            place.ours(FULL, "full", command),
            place.ours(SANDBOXED, "workspace-write", command),
            place.ours(IDLE, "workspace-write", "true"),
            place.peer(DRAIN, &format!("{command} {DRAIN}")),
        ],
        targets: [&[Target::Faster { than: DRAIN, times: 1.0 }][..], &FLAT].concat(),
    }
}

/// What a server does that tells a model how many lines came, and how they ended.
fn counting(place: &Place, what: &str, command: &str, lines: &str) -> Work {
    let told = format!("{lines}, {MANY} bytes");
    let (here, asked) = (place.clone(), command.to_owned());
    // Each has a server of its own, whose start and end do not count.
    let call = move || {
        let server = here.server()?;
        let start = Instant::now();
        let answer = ask(&server, &asked)?;
        Ok((start.elapsed(), answer))
    };
    let call = Rc::new(call);
    let checked = Rc::clone(&call);
    let check = move || {
        let (_, answer) = checked()?;
        answer.contains(&told).then(|| format!("it told {told}")).ok_or(answer)
    };
    Work {
        name: format!("4 GiB of {what}, their lines counted"),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders: vec![
            Contender::timed(SERVER, Side::Ours, move || call().map(|(time, _)| time)),
            place.peer(DRAIN, &format!("{command} {DRAIN}")),
            place.peer(COUNT, &format!("{command} {COUNT}")),
        ],
        targets: vec![Target::Faster { than: COUNT, times: 1.0 }],
    }
}

fn keeping(place: &Place) -> Work {
    let command = format!("head -c {KEPT} /dev/zero");
    let (counts, here, same) = (place.counts(&command, KEPT), place.clone(), command.clone());
    let check = move || {
        let counted = counts()?;
        let answer = here.answer("workspace-write", &same)?;
        let file = answer["data"]["stdout_file"].as_str().ok_or("nothing was kept")?.to_owned();
        equal("the file", &fs::read(file).map_err(said)?, &output(&["sh", "-c", &same])?)?;
        Ok(format!("{counted}, and the file has them"))
    };
    let copy = place.temp.join("copy");
    Work {
        name: "200 MiB, all of it kept in a file".into(),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders: vec![
            place.library(&command),
            place.ours(FULL, "full", &command),
            place.ours(SANDBOXED, "workspace-write", &command),
            place.ours(IDLE, "workspace-write", "true"),
            place.peer(COPY, &format!("{command} | cat > {}", copy.display())),
        ],
        targets: [&[Target::Faster { than: COPY, times: 1.0 }][..], &FLAT].concat(),
    }
}

/// What a host waits for that asks a server or the library, beside the same without either.
fn a_call(place: &Place) -> Result<Work> {
    let turn = Rc::new(session(place)?);
    let (checked, called) = (Rc::clone(&turn), turn);
    let server = place.server()?;
    let tier = Supervisor::this_program().machine()?.tier();
    let check = move || {
        equal("the tier", &tier, &Some(Tier::Namespaces))?;
        run(&checked, "true").map(|()| "it ends well, in the first tier".into())
    };
    Ok(Work {
        name: "a call of `true`".into(),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders: vec![
            Contender::call(LIBRARY, move || run(&called, "true")).repeated(REPEATS),
            Contender::call(SERVER, move || ask(&server, "true").map(|_| ())).repeated(REPEATS),
            place.peer(PLAIN, "exec bash -c true").repeated(REPEATS),
        ],
        targets: vec![
            Target::Within { who: LIBRARY, most: 15.0 },
            Target::Within { who: SERVER, most: 15.0 },
            Target::AtMost { of: PLAIN, times: 3.75 },
        ],
    })
}

/// The same as a process of its own, whose start is part of it.
fn a_process(place: &Place) -> Work {
    Work {
        name: "a process for `true`".into(),
        unit: Unit::Milliseconds,
        check: Box::new(|| Ok("nothing: the exit codes are looked at in every run".into())),
        contenders: vec![
            place.ours(SANDBOXED, "workspace-write", "true").repeated(REPEATS),
            place.ours(FULL, "full", "true").repeated(REPEATS),
            place.peer(PLAIN, "exec bash -c true").repeated(REPEATS),
        ],
        targets: vec![
            Target::Within { who: SANDBOXED, most: 15.0 },
            Target::AtMost { of: PLAIN, times: 3.75 },
        ],
    }
}

/// Runs a command through the library.
fn run(turn: &TurnContext, command: &str) -> Result<()> {
    let report = Bash.run(BashArgs::new(command), turn).map_err(|error| error.to_string())?;
    equal("exit_code", &report.exit_code, &0)
}

/// Has a server run it, and tells its answer.
fn ask(server: &RefCell<Server>, command: &str) -> Result<String> {
    let call = Call { tool: "bash", arguments: json!({ "command": command }) };
    server.borrow_mut().call(&call).map(|(_, answer)| answer)
}

/// A session in this process, as a server has one.
fn session(place: &Place) -> Result<TurnContext> {
    let workspace = Path::new(&place.workspace);
    let settings = SandboxSettings::new(Supervisor::this_program())
        .with_private_temp(Arc::new(PrivateTemp::session(std::env::temp_dir())));
    let turn = TurnContext::new(workspace, SandboxPolicy::WorkspaceWrite)
        .map_err(|error| error.to_string())?;
    Ok(turn
        .with_root(Root::open(workspace).map_err(said)?)
        .with_environment(std::env::vars_os().collect())
        .with_sandbox_settings(Arc::new(settings)))
}

fn starting() -> Result<Work> {
    // Made when it is first needed, so that no other work runs in a large process.
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
        ours.get_or_init(a_gibibyte);
        let start = Instant::now();
        let started = supervisor.start(&request, Path::new("/")).map_err(said)?;
        let time = start.elapsed();
        drop(started);
        Ok(time)
    };
    let user = own_uid()?;
    let fork = move || {
        peers.get_or_init(a_gibibyte);
        let mut command = Command::new("/bin/true");
        // To set a user, the library has to run code between fork and exec.
        command.uid(user).stdin(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn().map_err(said)?;
        let time = start.elapsed();
        child.wait().map_err(said)?;
        Ok(time)
    };
    Ok(Work {
        name: "a start from a process of 1 GiB".into(),
        unit: Unit::Milliseconds,
        check: Box::new(|| Ok("nothing: both start one process".into())),
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

fn a_gibibyte() -> Vec<u8> {
    vec![1; 1 << 30]
}

/// The user that this process runs as.
fn own_uid() -> Result<u32> {
    use std::os::unix::fs::MetadataExt as _;
    fs::metadata("/proc/self").map(|found| found.uid()).map_err(said)
}
