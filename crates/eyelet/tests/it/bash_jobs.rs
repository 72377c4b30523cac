//! Background jobs: `bash` with `background` or `on_timeout`, and the tool `jobs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use eyelet::tools::{JobStatus, JobsArgs, JobsReport, JobsTool};
use eyelet::{
    AttachmentMode, CancelFlag, Envelope, Jobs, ReplyBudget, Tool as _, ToolInvocation, ToolRouter,
    TurnContext,
};
use serde_json::{Value, json};
use testkit::TempTree;

use crate::bash;

/// A turn with jobs. The jobs are killed when it is dropped.
fn turn(tree: &TempTree) -> TurnContext {
    bash::turn(tree).with_jobs(Arc::new(Jobs::new()))
}

/// The text of a call, or its error.
fn text(turn: &TurnContext, tool: &str, arguments: &Value) -> String {
    let call = ToolInvocation::new(tool, arguments.to_string(), turn);
    match ToolRouter::new().call(&call).and_then(|output| output.reply()) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    }
}

fn envelope(turn: &TurnContext, tool: &str, arguments: &Value) -> Value {
    let call = ToolInvocation::new(tool, arguments.to_string(), turn);
    let envelope = Envelope::new(&ToolRouter::new().call(&call), AttachmentMode::Omit);
    serde_json::from_str(&envelope.to_json()).unwrap()
}

/// Starts a job that runs until it is killed.
fn start(turn: &TurnContext, command: &str) -> String {
    let reply = text(turn, "bash", &json!({ "command": command, "background": true }));
    assert!(reply.starts_with("[job ") && reply.contains(" running, 2 s; "), "{reply}");
    reply
}

fn stop(turn: &TurnContext, job: u64) -> String {
    text(turn, "jobs", &json!({ "job": job, "stop": true }))
}

/// Waits until the condition holds.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn a_background_command_that_ends_soon_is_no_job() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for background in [json!({"background": true}), json!({"on_timeout": "background"})] {
        let mut arguments = background;
        arguments["command"] = json!("echo a; exit 3");
        assert_eq!(text(&turn, "bash", &arguments), "[exit 3; stdout 1 line; stderr empty]\na\n");
        let data = envelope(&turn, "bash", &arguments);
        assert_eq!((&data["data"]["exit_code"], &data["data"]["job"]), (&json!(3), &Value::Null));
    }
    assert_eq!(text(&turn, "jobs", &json!({})), "no jobs");
    assert_eq!(
        envelope(&turn, "jobs", &json!({})).to_string(),
        r#"{"ok":true,"data":{"jobs":[]}}"#
    );
}

#[test]
fn a_time_limit_of_at_most_2_seconds_makes_no_job() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for seconds in [1, 2] {
        let command = "echo a; exec sleep 1000";
        let arguments = json!({"command": command, "background": true, "timeout_secs": seconds});
        assert_eq!(
            text(&turn, "bash", &arguments),
            format!("[timed out after {seconds} s; stdout 1 line; stderr empty]\na\n")
        );
    }
    assert_eq!(text(&turn, "jobs", &json!({})), "no jobs");
}

#[test]
fn a_job_reports_its_output_and_names_both_files() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let reply = start(&turn, "echo one; echo two; exec sleep 100");
    let data = envelope(&turn, "jobs", &json!({"job": "1"}))["data"].take();
    let file = |name: &str| data[name].as_str().unwrap();
    let (stdout, stderr) = (file("stdout_file"), file("stderr_file"));
    assert_eq!(
        reply,
        format!(
            "[job 1 running, 2 s; stdout 2 lines, saved to {stdout}; stderr empty, saved to {stderr}]\n\
             one\ntwo\n"
        )
    );
    assert_eq!(std::fs::read_to_string(stdout).unwrap(), "one\ntwo\n");
    assert_eq!(std::fs::read_to_string(stderr).unwrap(), "");
    assert_eq!((&data["stdout"], &data["exit_code"]), (&json!("one\ntwo\n"), &Value::Null));
    assert_eq!((&data["job"]["id"], &data["job"]["status"]), (&json!(1), &json!("running")));
    assert!(data["job"]["elapsed_secs"].as_u64().unwrap() >= 2);
}

#[test]
fn an_ended_job_keeps_its_report() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let go = tree.beside().join("go");
    start(
        &turn,
        &format!("until [ -e '{}' ]; do sleep 0.05; done; echo end; exit 9", go.display()),
    );
    std::fs::write(&go, "").unwrap();
    let first = text(&turn, "jobs", &json!({"job": 1, "wait_secs": 600}));
    assert!(first.starts_with("[job 1 exited 9, ") && first.ends_with("]\nend\n"), "{first}");
    assert!(first.contains(" s; stdout 1 line, saved to /"), "{first}");
    assert_eq!(text(&turn, "jobs", &json!({"job": 1})), first);
    assert_eq!(stop(&turn, 1), first);
    let data = envelope(&turn, "jobs", &json!({"job": 1}))["data"].take();
    assert_eq!((&data["exit_code"], &data["job"]["status"]), (&json!(9), &json!("exited")));
    let list = text(&turn, "jobs", &json!({}));
    assert!(list.starts_with("1 exited 9 after ") && list.contains(" s until [ -e "), "{list}");
}

#[test]
fn a_command_that_takes_longer_than_its_limit_becomes_a_job() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let command = "seq 30000; exec sleep 100";
    let arguments = json!({"command": command, "on_timeout": "background", "timeout_secs": 1});
    let reply = text(&turn, "bash", &arguments);
    assert!(
        reply.starts_with("[job 1 running, 1 s; stdout 30000 lines, 168894 bytes, last "),
        "{reply}"
    );
    let data = envelope(&turn, "jobs", &json!({"job": 1}))["data"].take();
    let file = data["stdout_file"].as_str().unwrap();
    assert_eq!(std::fs::metadata(file).unwrap().len(), 168_894);
    assert!(stop(&turn, 1).starts_with("[job 1 killed, "));
}

#[test]
fn the_end_of_each_stream_is_shown_for_every_keep() {
    let tree = TempTree::new("");
    let turn = turn(&tree).with_reply_budget(ReplyBudget::new(20_000));
    for keep in ["head", "tail", "both"] {
        let arguments =
            json!({"command": "seq 30000; exec sleep 100", "background": true, "keep": keep});
        let reply = text(&turn, "bash", &arguments);
        assert!(reply.ends_with("\n29999\n30000\n") && !reply.contains("\n1\n2\n"), "{reply}");
        assert!(reply.len() <= 20_000 && reply.len() > 10_000, "{}", reply.len());
        // A command that is no job shows what `keep` says.
        let arguments = json!({"command": "seq 30000", "background": true, "keep": keep});
        let reply = text(&turn, "bash", &arguments);
        assert_eq!(reply.contains("\n1\n2\n"), keep != "tail", "{reply}");
        assert_eq!(reply.ends_with("\n30000\n"), keep != "head", "{reply}");
    }
}

#[test]
fn redraws_of_a_running_job_are_folded() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let reply = start(&turn, r"printf 'a\rb\n10%%\r20%%\r30%%'; exec sleep 100");
    assert!(reply.contains("; stdout 2 lines, 3 redraws folded, saved to /"), "{reply}");
    assert!(reply.ends_with("]\nb\n30%"), "{reply}");
}

#[test]
fn arguments_that_exclude_each_other_are_refused() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let both = json!({"command": "true", "background": true, "on_timeout": "kill"});
    assert_eq!(
        text(&turn, "bash", &both),
        "on_timeout cannot be combined with background; a job ends at timeout_secs"
    );
    let zero = json!({"command": "true", "background": true, "timeout_secs": 0});
    assert_eq!(text(&turn, "bash", &zero), "timeout_secs must be greater than zero");
    for arguments in [json!({"wait_secs": 1}), json!({"stop": true})] {
        let reply = text(&turn, "jobs", &arguments);
        assert_eq!(reply, "wait_secs and stop require job, the number of a job");
    }
    let off = json!({"command": "echo x", "background": false, "on_timeout": "kill"});
    assert_eq!(text(&turn, "bash", &off), "[exit 0; stdout 1 line; stderr empty]\nx\n");
}

#[test]
fn without_a_session_jobs_are_refused() {
    let tree = TempTree::new("");
    let turn = bash::turn(&tree);
    let refused = "background jobs are not available: a job belongs to a session, and this call has no session";
    for arguments in [
        json!({"command": "touch made", "background": true}),
        json!({"command": "touch made", "on_timeout": "background"}),
    ] {
        assert_eq!(text(&turn, "bash", &arguments), refused);
    }
    assert_eq!(text(&turn, "jobs", &json!({})), refused);
    assert!(!tree.path().join("made").exists());
}

#[test]
fn a_job_is_killed_at_its_time_limit() {
    let tree = TempTree::new("");
    let jobs = Arc::new(Jobs::new());
    let turn = bash::turn(&tree).with_jobs(Arc::clone(&jobs));
    start(&turn, "echo a; exec sleep 10000");
    let later =
        json!({"command": "exec sleep 10000", "on_timeout": "background", "timeout_secs": 1});
    assert!(text(&turn, "bash", &later).starts_with("[job 2 running, "));
    let short = json!({"command": "exec sleep 10000", "background": true, "timeout_secs": 3600});
    assert!(text(&turn, "bash", &short).starts_with("[job 3 running, "));
    jobs.advance_clock(Duration::from_secs(3600));
    let reply = text(&turn, "jobs", &json!({"job": 3, "wait_secs": 600}));
    assert!(reply.starts_with("[job 3 timed out, 36"), "{reply}");
    assert_eq!(jobs.running(), 2);
    jobs.advance_clock(Duration::from_secs(24 * 60 * 60));
    for job in [1, 2] {
        let reply = text(&turn, "jobs", &json!({"job": job, "wait_secs": 600}));
        assert!(reply.starts_with(&format!("[job {job} timed out, 9")), "{reply}");
    }
    let data = envelope(&turn, "jobs", &json!({"job": 1}))["data"].take();
    assert_eq!((&data["exit_code"], &data["timed_out"]), (&json!(-1), &json!(true)));
    assert_eq!(data["job"]["status"], "timed out");
}

#[test]
fn stop_kills_every_process_of_a_job() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    start(&turn, "sleep 1000 & echo $!; sleep 1001 & echo $!; wait");
    let data = envelope(&turn, "jobs", &json!({"job": 1}))["data"].take();
    let pids: Vec<_> = data["stdout"].as_str().unwrap().lines().map(str::to_owned).collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_alive(pid)));
    let data = envelope(&turn, "jobs", &json!({"job": 1, "stop": true}))["data"].take();
    assert_eq!((&data["exit_code"], &data["job"]["status"]), (&json!(-1), &json!("killed")));
    assert!(pids.iter().all(|pid| !is_alive(pid)));
}

#[test]
fn cancelling_a_wait_leaves_the_job_running() {
    let tree = TempTree::new("");
    let jobs = Arc::new(Jobs::new());
    let turn = bash::turn(&tree).with_jobs(Arc::clone(&jobs));
    start(&turn, "exec sleep 1000");
    let cancel = CancelFlag::default();
    let waiting = turn.clone().with_cancel(cancel.clone());
    let wait =
        std::thread::spawn(move || text(&waiting, "jobs", &json!({"job": 1, "wait_secs": 600})));
    cancel.cancel();
    assert_eq!(wait.join().unwrap(), "the wait for the job was cancelled");
    assert_eq!(jobs.running(), 1);
}

#[test]
fn cancelling_the_start_of_a_job_kills_its_command() {
    let tree = TempTree::new("");
    let jobs = Arc::new(Jobs::new());
    let cancel = CancelFlag::default();
    let turn = bash::turn(&tree).with_jobs(Arc::clone(&jobs)).with_cancel(cancel.clone());
    let file = tree.path().join("pid");
    let call = std::thread::spawn(move || {
        text(
            &turn,
            "bash",
            &json!({"command": "echo $$ > pid; exec sleep 1000", "on_timeout": "background"}),
        )
    });
    let pid = || std::fs::read_to_string(&file).unwrap_or_default();
    wait_until("the command starts", || pid().ends_with('\n'));
    cancel.cancel();
    assert!(call.join().unwrap().starts_with("[cancelled; "));
    assert!(!is_alive(&pid()) && jobs.running() == 0);
}

#[test]
fn a_session_has_at_most_8_running_jobs() {
    let tree = TempTree::new("");
    let jobs = Arc::new(Jobs::new());
    let turn = bash::turn(&tree).with_jobs(Arc::clone(&jobs));
    std::thread::scope(|scope| {
        (0..8).for_each(|_| drop(scope.spawn(|| start(&turn, "exec sleep 1000"))));
    });
    assert_eq!(jobs.running(), 8);
    let call = ToolInvocation::new("bash", r#"{"command":"touch made","background":true}"#, &turn);
    let error = ToolRouter::new().call(&call).unwrap_err().to_string();
    assert!(error.starts_with("8 jobs are running, which is the maximum; stop a job of this session: 1 (exec sleep 1000), 2 ("), "{error}");
    let arguments = json!({"command": "echo a; exec sleep 1000", "on_timeout": "background", "timeout_secs": 1});
    let reply = text(&turn, "bash", &arguments);
    let start = "[timed out after 1 s; stdout 1 line; stderr empty; not continued in the background: 8 jobs are running, ";
    assert!(reply.starts_with(start), "{reply}");
    assert!(stop(&turn, 3).starts_with("[job 3 killed, "));
    assert!(text(&turn, "bash", &arguments).starts_with("[job 9 running, "));
    assert!(!tree.path().join("made").exists());
}

#[test]
fn an_unknown_job_is_an_error_that_lists_the_known_ones() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let unknown = || text(&turn, "jobs", &json!({"job": 7}));
    assert_eq!(unknown(), "job 7 does not exist; this session has no jobs");
    start(&turn, "exec sleep 1000");
    assert_eq!(unknown(), "job 7 does not exist; the jobs of this session are 1");
}

#[test]
fn sessions_do_not_see_each_others_jobs() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let other = turn.for_another_session();
    start(&turn, "exec sleep 1000");
    assert_eq!(text(&other, "jobs", &json!({})), "no jobs");
    assert!(text(&other, "jobs", &json!({"job": 1, "stop": true})).contains("does not exist"));
    assert!(text(&turn, "jobs", &json!({})).starts_with("1 running "));
}

#[test]
fn the_end_of_a_session_kills_its_jobs() {
    let tree = TempTree::new("");
    for end in [|turn: TurnContext| turn.end_session(), |turn| drop(turn)] {
        let turn = turn(&tree);
        start(&turn, "echo $$ > pid; exec sleep 1000");
        let pid = std::fs::read_to_string(tree.path().join("pid")).unwrap();
        assert!(is_alive(&pid));
        end(turn);
        wait_until("the job is killed", || !is_alive(&pid));
    }
}

#[test]
fn read_says_that_the_output_of_a_job_is_still_growing() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    start(&turn, "echo one; exec sleep 1000");
    let data = envelope(&turn, "jobs", &json!({"job": 1}))["data"].take();
    let read = || text(&turn, "read", &json!({"path": data["stdout_file"]}));
    assert_eq!(read(), "[lines 1-1 of 1; still growing]\none\n");
    stop(&turn, 1);
    assert_eq!(read(), "[lines 1-1 of 1]\none\n");
}

#[test]
fn the_list_shows_running_jobs_first_and_each_command_on_one_line() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    let long = format!("true {}\nexec sleep 1000", "x".repeat(300));
    for command in ["exec sleep 1001", long.as_str()] {
        start(&turn, command);
    }
    stop(&turn, 1);
    let list = text(&turn, "jobs", &json!({}));
    let lines: Vec<_> = list.lines().collect();
    let shown = |line: &str| line.split_once(" s ").unwrap().1.to_owned();
    assert!(
        lines[0].starts_with("2 running ") && lines[1].starts_with("1 killed after "),
        "{list}"
    );
    assert_eq!((lines.len(), shown(lines[0]).len()), (2, 200));
    assert_eq!(shown(lines[1]), "exec sleep 1001");
    let data = envelope(&turn, "jobs", &json!({}))["data"].take();
    assert_eq!((&data["jobs"][0]["id"], &data["jobs"][0]["exit_code"]), (&json!(2), &Value::Null));
    assert_eq!((&data["jobs"][1]["id"], &data["jobs"][1]["exit_code"]), (&json!(1), &json!(-1)));
}

#[test]
fn a_job_that_floods_needs_constant_memory() {
    testkit::in_own_process("bash_jobs::a_job_that_floods_needs_constant_memory", || {
        let tree = TempTree::new("");
        let turn = turn(&tree);
        bash::run(&turn, "true");
        let before = testkit::peak_memory();
        start(&turn, "yes");
        let report =
            || JobsTool.run(JobsArgs { job: Some(1), ..JobsArgs::default() }, &turn).unwrap();
        let printed = || match report() {
            JobsReport::One(report) => report.stdout.total_bytes,
            other => panic!("{other:?}"),
        };
        wait_until("the job prints a lot", || printed() > 300 << 20);
        let JobsReport::One(report) = report() else { panic!("it is one job") };
        assert_eq!(report.job.map(|job| job.status), Some(JobStatus::Running));
        let error = report.stdout.save_error().unwrap();
        assert!(error.starts_with("only the first 268435456 of "), "{error}");
        stop(&turn, 1);
        let grown = testkit::peak_memory() - before;
        assert!(grown < 8 << 20, "grew by {grown} bytes");
    });
}

#[test]
fn all_sessions_together_have_a_limit() {
    let tree = TempTree::new("");
    let first = turn(&tree);
    let sessions: Vec<_> = (0..8).map(|_| first.for_another_session()).collect();
    std::thread::scope(|scope| {
        for session in &sessions {
            (0..8).for_each(|_| drop(scope.spawn(|| start(session, "exec sleep 1000"))));
        }
    });
    let error = text(&first, "bash", &json!({"command": "true", "background": true}));
    assert_eq!(
        error,
        "64 jobs of all sessions are running, which is the maximum; this session has no running jobs; retry later"
    );
    assert!(stop(&sessions[0], 1).starts_with("[job 1 killed, "));
    let reply = text(&first, "bash", &json!({"command": "true", "background": true}));
    assert_eq!(reply, "[exit 0; stdout empty; stderr empty]");
}

#[test]
fn the_number_of_waiting_calls_is_limited() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    start(&turn, "exec sleep 1000");
    let cancel = CancelFlag::default();
    let waiting = turn.clone().with_cancel(cancel.clone());
    let wait = || text(&waiting, "jobs", &json!({"job": 1, "wait_secs": 600}));
    std::thread::scope(|scope| {
        let mut waits: Vec<_> = (0..65).map(|_| scope.spawn(wait)).collect();
        wait_until("one is refused", || waits.iter().any(|wait| wait.is_finished()));
        let refused = waits.iter().position(|wait| wait.is_finished()).unwrap();
        assert_eq!(
            waits.remove(refused).join().unwrap(),
            "64 calls are waiting for jobs, which is the maximum; retry without wait_secs"
        );
        // Other calls are not affected.
        assert!(text(&turn, "jobs", &json!({"job": 1})).starts_with("[job 1 running, "));
        cancel.cancel();
        waits.into_iter().for_each(|wait| {
            assert_eq!(wait.join().unwrap(), "the wait for the job was cancelled");
        });
    });
}

#[test]
fn an_ended_job_is_forgotten_after_32_others_have_ended() {
    let tree = TempTree::new("");
    let turn = turn(&tree);
    for round in 0..5 {
        std::thread::scope(|scope| {
            (0..7).for_each(|_| drop(scope.spawn(|| start(&turn, "exec sleep 1000"))));
        });
        (1..=7).for_each(|job| drop(stop(&turn, round * 7 + job)));
    }
    let list = text(&turn, "jobs", &json!({}));
    assert_eq!(list.lines().count(), 32);
    assert!(list.starts_with("4 killed after "), "{list}");
    assert!(text(&turn, "jobs", &json!({"job": 3})).starts_with("job 3 does not exist; "));
}
