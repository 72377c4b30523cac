//! `bash`: the cost of running a command and of reading its output.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{
    OutputStore, PrivateTemp, Root, SandboxPolicy, SandboxSettings, Tool as _, TurnContext,
};
use eyelet_sandbox::{Supervisor, Tier};
use serde_json::{Value, json};

use crate::Result;
use crate::benches::{Bench, NeedsCorpus, Setup, equal, mcp_servers, process_start, text};
use crate::contender::{Contender, Side, output};
use crate::options::io_error;
use crate::peers::DESKTOP_COMMANDER;
use crate::runner::{Check, Task, Unit};
use crate::server::{Call, Server};
use crate::target::Target;

pub(crate) const BENCH: Bench = Bench {
    name: "bash",
    programs: &["bash", "cat", "node"],
    peers: &[&DESKTOP_COMMANDER],
    needs_corpus: NeedsCorpus::No,
    notes: &[
        "Programs marked `full` run the command without a sandbox. Programs marked `sandboxed` use \
         the default policy of the server, `workspace-write`, in the first sandbox tier.",
        "Programs marked `baseline` run `true` instead of the command of the task. The memory \
         targets compare eyelet's peak memory with the peak memory of this baseline.",
        "If the output is 4 GiB, eyelet saves the first 256 MiB to a file and counts all bytes and \
         lines. `cat > /dev/null` neither saves nor counts anything; `wc -l` only counts lines.",
        "eyelet and `cat > file` save the output in the same directory. Before each run, outside \
         the timed part, the benchmark deletes the saved files.",
        "`desktop-commander` runs commands in `bash` without a sandbox. The benchmark starts this \
         server without a network.",
        "In the tasks that run or start `true`, each sample is the median of 25 consecutive runs.",
        "In the task that starts `true` from a process with 1 GiB of memory, the time ends when \
         this process can continue. The peer, `fork and exec`, is the standard library of Rust, \
         which uses `fork` if code must run before `exec`.",
    ],
    tasks,
};

const FULL: &str = "eyelet call bash, full";
const SANDBOXED: &str = "eyelet call bash, sandboxed";
const IDLE: &str = "eyelet call bash, baseline";
const LIBRARY: &str = "eyelet library, sandboxed";
const SERVER: &str = "eyelet mcp, sandboxed";
const DRAIN: &str = "cat > /dev/null";
const COUNT: &str = "wc -l";
const COPY: &str = "cat > file";
const PLAIN: &str = "bash -c true";

const MANY: u64 = 4 << 30;
const SAVED: u64 = 200 << 20;
pub(super) const REPEATS: usize = 25;
/// How much more memory a call with output may use than one without.
const FLAT: [Target; 2] = [
    Target::MemoryGrowth { who: FULL, above: IDLE, mebibytes: 16.0 },
    Target::MemoryGrowth { who: SANDBOXED, above: IDLE, mebibytes: 16.0 },
];

fn tasks(setup: &Setup) -> Result<Vec<Task>> {
    let directories = Directories::new(setup)?;
    let zeroes = format!("head -c {MANY} /dev/zero");
    let lines = format!("yes 0123456789 | head -c {MANY}");
    Ok(vec![
        draining(&directories, "zeroes", &zeroes),
        draining(&directories, "short lines", &lines),
        over_mcp(&directories, "zeroes", &zeroes, "1 line"),
        over_mcp(&directories, "short lines", &lines, &format!("{} lines", MANY.div_ceil(11))),
        saving(&directories),
        call_task(&directories, setup)?,
        process_task(&directories),
        process_start::task()?,
    ])
}

/// The directories of this benchmark: a workspace and temp directories.
#[derive(Clone)]
struct Directories {
    eyelet: String,
    workspace: String,
    temp: PathBuf,
    /// For servers; not cleared while they run.
    server_temp: String,
}

impl Directories {
    fn new(setup: &Setup) -> Result<Directories> {
        let folder = setup.fixtures.folder.join("bash");
        let (workspace, temp) = (folder.join("workspace"), folder.join("temp"));
        let server_temp = folder.join("server-temp");
        fs::create_dir_all(&workspace).map_err(io_error)?;
        fs::create_dir_all(&server_temp).map_err(io_error)?;
        let directories = Directories {
            eyelet: setup.eyelet.clone(),
            workspace: text(workspace)?,
            temp,
            server_temp: text(server_temp)?,
        };
        directories.clear()?;
        Ok(directories)
    }

    /// Deletes saved output.
    fn clear(&self) -> Result<()> {
        if self.temp.exists() {
            fs::remove_dir_all(&self.temp).map_err(io_error)?;
        }
        fs::create_dir_all(&self.temp).map_err(io_error)
    }

    /// The command line of one call.
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

    /// Starts a server.
    fn server(&self) -> Result<Rc<RefCell<Server>>> {
        let temp = format!("TMPDIR={}", self.server_temp);
        let folder = &self.workspace;
        let words = ["env", &temp, &self.eyelet, "mcp", "--root", folder, "--cwd", folder];
        Server::start(&words.map(str::to_owned)).map(RefCell::new).map(Rc::new)
    }

    fn ours(&self, name: &'static str, policy: &str, command: &str) -> Contender {
        let directories = self.clone();
        let side = if name == IDLE { Side::Idle } else { Side::Ours };
        Contender::process(name, side, self.call(policy, command))
            .after(move || directories.clear())
    }

    /// A library call in a new session.
    fn library(&self, command: &str) -> Contender {
        let (directories, command) = (self.clone(), command.to_owned());
        let call = move || {
            let turn = session(&directories)?
                .with_output_store(Arc::new(OutputStore::session(&directories.temp)));
            let start = Instant::now();
            run(&turn, &command)?;
            Ok(start.elapsed())
        };
        let directories = self.clone();
        Contender::timed(LIBRARY, Side::Ours, call).after(move || directories.clear())
    }

    fn peer(&self, name: &'static str, command: &str) -> Contender {
        let directories = self.clone();
        Contender::process(name, Side::Peer, ["sh", "-c", command])
            .after(move || directories.clear())
    }

    /// Checks that the command succeeds under both policies and that the byte count is exact.
    fn counts(&self, command: &str, bytes: u64) -> Check {
        let (directories, command) = (self.clone(), command.to_owned());
        Box::new(move || {
            for policy in ["full", "workspace-write"] {
                let answer = directories.answer(policy, &command)?;
                equal("stdout_total_bytes", &answer["data"]["stdout_total_bytes"], &json!(bytes))?;
                equal("exit_code", &answer["data"]["exit_code"], &json!(0))?;
            }
            Ok(format!("eyelet reports {bytes} bytes under both policies"))
        })
    }

    fn answer(&self, policy: &str, command: &str) -> Result<Value> {
        self.clear()?;
        let printed = output(&self.call(policy, command))?;
        serde_json::from_slice(&printed).map_err(|error| error.to_string())
    }
}

fn draining(directories: &Directories, what: &str, command: &str) -> Task {
    Task {
        name: format!("print 4 GiB of {what}"),
        unit: Unit::Milliseconds,
        check: directories.counts(command, MANY),
        contenders: vec![
            directories.library(command),
            directories.ours(FULL, "full", command),
            directories.ours(SANDBOXED, "workspace-write", command),
            directories.ours(IDLE, "workspace-write", "true"),
            directories.peer(DRAIN, &format!("{command} | {DRAIN}")),
        ],
        targets: [&[Target::Faster { than: DRAIN, times: 0.8 }][..], &FLAT].concat(),
    }
}

/// The same output through the MCP server.
fn over_mcp(directories: &Directories, what: &str, command: &str, lines: &str) -> Task {
    let counts = format!("{lines}, {MANY} bytes");
    let (here, sent) = (directories.clone(), command.to_owned());
    // Each call has its own server; the timing excludes its start and end.
    let call = move || {
        let server = here.server()?;
        let start = Instant::now();
        let answer = ask(&server, &sent)?;
        Ok((start.elapsed(), answer))
    };
    let call = Rc::new(call);
    let checked = Rc::clone(&call);
    let check = move || {
        let (_, answer) = checked()?;
        answer.contains(&counts).then(|| format!("eyelet reports {counts}")).ok_or(answer)
    };
    Task {
        name: format!("print 4 GiB of {what}, over MCP"),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders: vec![
            Contender::timed(SERVER, Side::Ours, move || call().map(|(time, _)| time)),
            directories.peer(DRAIN, &format!("{command} | {DRAIN}")),
            directories.peer(COUNT, &format!("{command} | {COUNT}")),
        ],
        targets: vec![Target::Faster { than: COUNT, times: 1.0 }],
    }
}

fn saving(directories: &Directories) -> Task {
    let command = format!("head -c {SAVED} /dev/zero");
    let (counts, here, same) =
        (directories.counts(&command, SAVED), directories.clone(), command.clone());
    let check = move || {
        let counted = counts()?;
        let answer = here.answer("workspace-write", &same)?;
        let file = answer["data"]["stdout_file"].as_str().ok_or("stdout was not saved")?.to_owned();
        equal(
            "the saved file",
            &fs::read(file).map_err(io_error)?,
            &output(&["sh", "-c", &same])?,
        )?;
        Ok(format!("{counted}; the saved file is complete"))
    };
    let copy = directories.temp.join("copy");
    Task {
        name: "save 200 MiB of output to a file".into(),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders: vec![
            directories.library(&command),
            directories.ours(FULL, "full", &command),
            directories.ours(SANDBOXED, "workspace-write", &command),
            directories.ours(IDLE, "workspace-write", "true"),
            directories.peer(COPY, &format!("{command} | cat > {}", copy.display())),
        ],
        targets: [&[Target::Faster { than: COPY, times: 1.0 }][..], &FLAT].concat(),
    }
}

/// The time of a call through the library and the server, compared with plain bash.
fn call_task(directories: &Directories, setup: &Setup) -> Result<Task> {
    let turn = Rc::new(session(directories)?);
    let (checked, called) = (Rc::clone(&turn), turn);
    let server = directories.server()?;
    let tier = Supervisor::this_program().machine()?.tier();
    let check = move || {
        equal("the tier", &tier, &Some(Tier::Namespaces))?;
        run(&checked, "true").map(|()| "the command succeeds in the first tier".into())
    };
    let mut contenders = vec![
        Contender::call(LIBRARY, move || run(&called, "true")).repeated(REPEATS),
        Contender::call(SERVER, move || ask(&server, "true").map(|_| ())).repeated(REPEATS),
        directories.peer(PLAIN, "exec bash -c true").repeated(REPEATS),
    ];
    contenders.extend(other_servers(setup, &directories.workspace)?);
    Ok(Task {
        name: "run `true`".into(),
        unit: Unit::Milliseconds,
        check: Box::new(check),
        contenders,
        targets: vec![
            Target::Within { who: LIBRARY, most: 15.0 },
            Target::Within { who: SERVER, most: 15.0 },
            Target::SlowerAtMost { of: PLAIN, times: 3.75 },
        ],
    })
}

/// The same call to other MCP servers.
fn other_servers(setup: &Setup, folder: &str) -> Result<Vec<Contender>> {
    let mut contenders = Vec::new();
    for server in mcp_servers::all(setup, folder)? {
        let (Some(call), Some(sum)) = (server.run("true"), server.run("echo $((40+2))")) else {
            continue;
        };
        let session = Rc::new(RefCell::new(server.start()?));
        let asked = Rc::clone(&session);
        let contender = Contender::timed(server.name, Side::Peer, move || {
            let start = Instant::now();
            session.borrow_mut().call(&call)?;
            Ok(start.elapsed())
        });
        contenders.push(contender.repeated(REPEATS).if_answers(move || {
            let (_, reply) = asked.borrow_mut().call(&sum)?;
            reply.contains("\n42\n").then_some(()).ok_or(reply)
        }));
    }
    Ok(contenders)
}

/// The same call by `eyelet call`, including the start of the process.
fn process_task(directories: &Directories) -> Task {
    Task {
        name: "run `true`, including the start of eyelet".into(),
        unit: Unit::Milliseconds,
        check: Box::new(|| Ok("no check before timing; each run checks the exit code".into())),
        contenders: vec![
            directories.ours(SANDBOXED, "workspace-write", "true").repeated(REPEATS),
            directories.ours(FULL, "full", "true").repeated(REPEATS),
            directories.peer(PLAIN, "exec bash -c true").repeated(REPEATS),
        ],
        targets: vec![
            Target::Within { who: SANDBOXED, most: 15.0 },
            Target::SlowerAtMost { of: PLAIN, times: 3.75 },
        ],
    }
}

/// Runs a command through the library.
fn run(turn: &TurnContext, command: &str) -> Result<()> {
    let report = Bash.run(BashArgs::new(command), turn).map_err(|error| error.to_string())?;
    equal("exit_code", &report.exit_code, &0)
}

/// Calls `bash` through a server and returns the reply.
fn ask(server: &RefCell<Server>, command: &str) -> Result<String> {
    let call = Call { tool: "bash", arguments: json!({ "command": command }) };
    server.borrow_mut().call(&call).map(|(_, answer)| answer)
}

/// A session in this process with the settings of the server.
fn session(directories: &Directories) -> Result<TurnContext> {
    let workspace = Path::new(&directories.workspace);
    let settings = SandboxSettings::new(Supervisor::this_program())
        .with_private_temp(Arc::new(PrivateTemp::session(std::env::temp_dir())));
    let turn = TurnContext::new(workspace, SandboxPolicy::WorkspaceWrite)
        .map_err(|error| error.to_string())?;
    Ok(turn
        .with_root(Root::open(workspace).map_err(io_error)?)
        .with_environment(std::env::vars_os().collect())
        .with_sandbox_settings(Arc::new(settings)))
}
