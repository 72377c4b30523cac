//! Background jobs in the sandbox: what holds for a command also holds while a job runs.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use eyelet::tools::{Bash, BashArgs, BashReport, JobStatus, JobsArgs, JobsReport, JobsTool};
use eyelet::{Jobs, SandboxSettings, Tool as _, TurnContext};
use eyelet_sandbox::{Network, Supervisor, Tier, TierChoice};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::eyelet_bin;
use testkit::mcp_client::{LONG, Server};
use testkit::workspace::{FIRST, SUPERVISED, Workspace, marked, marker, within};

use crate::memory::{ALLOCATE, LIMIT};
use crate::planted_settings::{BOTH, repositories, run, user_git};
use crate::session_network::client;
use crate::supervision::{children, session};

fn with_jobs(turn: TurnContext) -> TurnContext {
    turn.with_jobs(Arc::new(Jobs::new()))
}

/// Starts a job. Returns its number.
fn start(turn: &TurnContext, command: &str) -> u64 {
    let arguments = BashArgs { background: Some(true), ..BashArgs::new(command) };
    let report = Bash.run(arguments, turn).unwrap();
    report.job.unwrap_or_else(|| panic!("{command}: {report:?}")).id
}

fn job(turn: &TurnContext, arguments: JobsArgs) -> BashReport {
    match JobsTool.run(arguments, turn).unwrap() {
        JobsReport::One(report) => *report,
        other @ (JobsReport::List(_) | _) => panic!("{other:?}"),
    }
}

fn report(turn: &TurnContext, id: u64) -> BashReport {
    job(turn, JobsArgs { job: Some(id), ..JobsArgs::default() })
}

fn stop(turn: &TurnContext, id: u64) -> BashReport {
    job(turn, JobsArgs { job: Some(id), stop: Some(true), ..JobsArgs::default() })
}

fn is_running(report: &BashReport) -> bool {
    report.job.is_some_and(|job| job.status == JobStatus::Running)
}

/// What the next replies say about protected paths, until one says something.
fn next_said(mut reply: impl FnMut() -> BashReport) -> String {
    let mut said = String::new();
    within(LONG, || {
        said = reply().reverted_in_words().join("\n");
        !said.is_empty()
    });
    said
}

#[test]
fn a_plant_of_a_job_is_restored_while_it_runs_and_the_next_reply_says_so() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = with_jobs(session(&workspace, tier));
        let command = "for n in 1 2 3; do until [ -e go$n ]; do sleep 0.01; done; \
                       echo evil > .mcp.json; : > planted$n; done; exec sleep 1000";
        let id = start(&turn, command);
        let plant = |number: u32| {
            fs::write(workspace.at(&format!("go{number}")), "").unwrap();
            assert!(within(LONG, || workspace.at(&format!("planted{number}")).exists()));
            assert!(within(LONG, || !workspace.at(".mcp.json").exists()), "{tier:?} {number}");
            // Restoring a path three times within ten seconds would kill the job.
            std::thread::sleep(Duration::from_secs(6));
        };
        plant(1);
        let said = next_said(|| run(&turn, "true"));
        assert!(said.contains("/.mcp.json: restored"), "{tier:?}: {said}");
        // Once.
        assert_eq!(run(&turn, "true").reverted_in_words(), [""; 0], "{tier:?}");
        // The same change again.
        plant(2);
        let said = next_said(|| run(&turn, "true"));
        assert!(said.contains("/.mcp.json: restored"), "{tier:?}: {said}");
        plant(3);
        let said = next_said(|| report(&turn, id));
        assert!(said.contains("/.mcp.json: restored"), "{tier:?}: {said}");
        assert_eq!(run(&turn, "true").reverted_in_words(), [""; 0], "{tier:?}");
        assert!(is_running(&report(&turn, id)), "{tier:?}");
    }
}

#[test]
fn what_was_restored_when_a_job_ended_is_in_the_next_reply() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = with_jobs(session(&workspace, tier));
        let command = "until [ -e go ]; do sleep 0.01; done; echo evil > .mcp.json";
        start(&turn, command);
        fs::write(workspace.at("go"), "").unwrap();
        let said = next_said(|| run(&turn, "true"));
        assert!(said.contains("/.mcp.json: restored"), "{tier:?}: {said}");
        assert!(!workspace.at(".mcp.json").exists());
    }
}

#[test]
fn a_user_beside_a_job_loses_nothing() {
    for tier in BOTH {
        let workspace = repositories();
        let turn = with_jobs(session(&workspace, tier));
        let id = start(&turn, "exec sleep 1000");
        fs::write(workspace.at("a"), "mine").unwrap();
        user_git(&workspace, &["add", "a"]);
        user_git(&workspace, &["commit", "-q", "-m", "first"]);
        user_git(&workspace, &["commit", "-q", "--allow-empty", "-m", "second"]);
        let log = fs::read_to_string(workspace.at(".git/logs/HEAD")).unwrap();
        assert_eq!(log.lines().count(), 2, "{tier:?} {log}");
        assert_eq!(run(&turn, "true").reverted_in_words(), [""; 0], "{tier:?}");
        let holds = |path: &str, text: &str| {
            fs::read_to_string(workspace.at(path)).is_ok_and(|content| content.contains(text))
        };
        user_git(&workspace, &["remote", "add", "origin", "https://example.org/x"]);
        if tier == Tier::Namespaces {
            assert_eq!(run(&turn, "true").reverted_in_words(), [""; 0], "{tier:?}");
            assert!(holds(".git/config", "example.org"), "{tier:?}");
        } else {
            let said = next_said(|| run(&turn, "true"));
            assert!(said.contains("/.git/config.eyelet-conflict"), "{tier:?}: {said}");
            assert!(holds(".git/config.eyelet-conflict", "example.org"), "{tier:?}");
        }
        fs::write(workspace.at(".mcp.json"), "mine").unwrap();
        let said = next_said(|| run(&turn, "true"));
        assert!(said.contains("/.mcp.json.eyelet-conflict"), "{tier:?}: {said}");
        assert!(holds(".mcp.json.eyelet-conflict", "mine"), "{tier:?}");
        assert!(is_running(&report(&turn, id)), "{tier:?}");
        stop(&turn, id);
        // Nothing of it is undone later.
        assert_eq!(run(&turn, "true").reverted_in_words(), [""; 0], "{tier:?}");
        assert_eq!(holds(".git/config", "example.org"), tier == Tier::Namespaces);
        assert!(workspace.at("a").exists() && holds(".git/logs/HEAD", "second"));
    }
}

/// The arguments of a command that becomes a job after one second.
fn late(command: &str) -> Value {
    json!({"command": command, "on_timeout": "background", "timeout_secs": 1})
}

#[test]
fn a_job_above_its_memory_limit_is_killed() {
    let command = format!("until [ -e go ]; do sleep 0.05; done; {ALLOCATE} sleep 60");
    let wait = json!({"job": 1, "wait_secs": 600});
    for flags in SUPERVISED {
        for form in ["text", "envelope"] {
            let workspace = Workspace::new("");
            let mut eyelet = workspace.eyelet(&[flags, LIMIT].concat());
            let mut server = Server::run(eyelet.args(["mcp", "--reply", form]));
            server.initialize("test", &json!({}));
            server.text("bash", late(&command));
            fs::write(workspace.at("go"), "").unwrap();
            let said = server.text("jobs", wait.clone());
            if form == "text" {
                let start = "[job 1 killed: memory limit 200 MiB, ";
                assert!(said.starts_with(start) && said.contains(" s; stdout empty, "), "{said}");
                assert!(server.text("jobs", json!({})).starts_with("1 killed after "));
            } else {
                let data = serde_json::from_str::<Value>(&said).unwrap()["data"].take();
                assert_eq!(data["exit_code"], 137, "{flags:?} {data}");
                assert_eq!(data["killed"], "memory limit 200 MiB", "{flags:?} {data}");
                assert_eq!(data["job"]["status"], "killed", "{flags:?} {data}");
            }
            let said = server.text("bash", json!({"command": "echo works"}));
            assert!(said.contains("works"), "{flags:?} {said}");
        }
    }
}

#[test]
fn no_process_survives_its_job() {
    for flags in SUPERVISED {
        let workspace = Workspace::new("");
        let mut server = Server::run(workspace.eyelet(flags).arg("mcp"));
        server.initialize("test", &json!({}));
        // Stopped, and with its monitor or its init process killed.
        for round in 0..3 {
            let (id, marker) = (round + 1, marker());
            let command = format!(
                "setsid sleep {marker} & (setsid sleep {marker} &); nohup sleep {marker} & sleep {marker}; true"
            );
            server.text("bash", late(&command));
            assert!(within(LONG, || marked(&marker) == 4), "{flags:?} {round}");
            let monitors = children(server.id());
            assert_eq!(monitors.len(), 1, "{flags:?} {round}");
            let init = children(monitors[0].as_raw_pid().unsigned_abs())[0];
            let target: Option<Pid> = [None, Some(monitors[0]), Some(init)][round];
            target.into_iter().for_each(|target| kill_process(target, Signal::KILL).unwrap());
            let stop = target.is_none();
            let said = server.text("jobs", json!({"job": id, "wait_secs": 600, "stop": stop}));
            assert!(!said.contains(" running, "), "{flags:?} {round}: {said}");
            if stop {
                assert!(said.starts_with("[job 1 killed, "), "{flags:?}: {said}");
                assert_eq!(marked(&marker), 0, "{flags:?}");
            }
            assert!(within(LONG, || marked(&marker) == 0), "{flags:?} {round}");
            assert!(within(LONG, || children(server.id()).is_empty()), "{flags:?} {round}");
        }
    }
}

/// The port that Python's file server prints.
fn port(turn: &TurnContext, id: u64) -> String {
    let printed = || report(turn, id).stdout.text().to_owned();
    assert!(within(LONG, || printed().contains(" port ")), "{}", printed());
    let printed = printed();
    let (_, rest) = printed.split_once(" port ").unwrap();
    rest.split(' ').next().unwrap().to_owned()
}

const FILE_SERVER: &str = "exec python3 -u -m http.server 0 --bind 127.0.0.1";

#[test]
fn commands_of_the_session_reach_the_server_of_a_job_until_it_is_stopped() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("page = the page");
    let turn = with_jobs(session(&workspace, Tier::Namespaces));
    let id = start(&turn, FILE_SERVER);
    let port = port(&turn, id);
    let fetch = format!(
        "python3 -c \"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/page').read().decode())\""
    );
    for _ in 0..2 {
        assert_eq!(run(&turn, &fetch).stdout.text().trim(), "the page");
    }
    let other = run(&turn.for_another_session(), &client(&port));
    assert_eq!(other.stdout.text(), "refused\n", "another session");
    assert!(is_running(&report(&turn, id)));
    let ended = stop(&turn, id);
    assert_eq!(ended.job.map(|job| job.status), Some(JobStatus::Killed));
    assert_eq!(run(&turn, &client(&port)).stdout.text(), "refused\n");
}

#[test]
fn with_network_the_ports_of_a_job_are_the_machines() {
    if testkit::lacks("python3") {
        return;
    }
    for tier in BOTH {
        let workspace = Workspace::new("page = the page");
        let settings = SandboxSettings::new(Supervisor::at(eyelet_bin()))
            .with_tier(TierChoice::Only(tier))
            .with_network(Network::On);
        let turn = session(&workspace, tier).with_sandbox_settings(Arc::new(settings));
        let turn = with_jobs(turn);
        let id = start(&turn, FILE_SERVER);
        let mut stream = TcpStream::connect(format!("127.0.0.1:{}", port(&turn, id))).unwrap();
        stream.write_all(b"GET /page HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.ends_with("the page"), "{tier:?} {answer}");
        stop(&turn, id);
    }
}

#[test]
fn in_the_second_tier_a_job_has_no_ports() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("");
    let turn = with_jobs(session(&workspace, Tier::Landlock));
    let arguments = BashArgs { background: Some(true), ..BashArgs::new(FILE_SERVER) };
    let mut ended = Bash.run(arguments, &turn).unwrap();
    if let Some(started) = ended.job {
        let wait = JobsArgs { job: Some(started.id), wait_secs: Some(600), stop: None };
        ended = job(&turn, wait);
    }
    assert!(!is_running(&ended) && ended.exit_code > 0, "{ended:?}");
    assert!(ended.stderr.text().contains("PermissionError"), "{ended:?}");
}

#[test]
fn the_server_of_a_job_is_out_of_reach_with_the_default_flags() {
    if testkit::lacks("python3") {
        return;
    }
    let workspace = Workspace::new("page = the page");
    let mut server = Server::run(workspace.eyelet(FIRST).arg("mcp"));
    server.initialize("test", &json!({}));
    // A port that is free on the machine.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    let command = format!("exec python3 -u -m http.server {port} --bind 127.0.0.1");
    server.text("bash", json!({"command": command, "background": true}));
    let up = || server.text("jobs", json!({"job": 1})).contains(" port ");
    assert!(within(LONG, up), "no server");
    // The machine's port is this test's own, and nobody connected to it.
    free.set_nonblocking(true).unwrap();
    let own = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let from = own.local_addr().unwrap();
    let mut accepted = Vec::new();
    assert!(within(LONG, || {
        accepted.extend(free.accept().map(|(_, peer)| peer));
        !accepted.is_empty()
    }));
    assert_eq!(accepted, [from]);
}
