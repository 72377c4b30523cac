//! What a host's own tool can use: confined paths, the stop check, the reply budget, the environment.

use std::ffi::OsStr;
use std::io::Read as _;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use expect_test::expect;
use eyelet::limits::MAX_ERROR_BYTES;
use eyelet::tools::{Bash, BashArgs};
use eyelet::{
    CancelFlag, DenyList, Environment, ErrorCode, ReplyBudget, Report as _, Root, SandboxPolicy,
    Stop, TextReport, Tool, ToolDefinition, ToolError, ToolInvocation, ToolRouter, TurnContext,
};
use testkit::TempTree;

use crate::ask::turn;

fn confined(tree: &TempTree) -> TurnContext {
    let deny_list = DenyList::empty().with_glob("**/secret", &[tree.path()]).unwrap();
    turn(tree.path()).with_root(Root::open(tree.path()).unwrap()).with_deny_list(deny_list)
}

#[test]
fn a_confined_file_opens_only_inside_the_roots() {
    let tree = TempTree::new("a = text\nsecret = CANARY\nout -> /etc/passwd\nsub/b = other");
    tree.fifos(["fifo"]);
    let turn = confined(&tree);
    let open = |path: &str| turn.resolve_path("path", path)?.open_file();
    let mut text = String::new();
    open("a").unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    let code = |path: &str| open(path).unwrap_err().code;
    assert_eq!(code("secret"), ErrorCode::PermissionDenied);
    assert_eq!(code("out"), ErrorCode::OutsideRoot);
    assert_eq!(code("../x"), ErrorCode::OutsideRoot);
    assert_eq!(code("missing"), ErrorCode::NotFound);
    assert_eq!(code("sub"), ErrorCode::NotAFile);
    let error = open("fifo").unwrap_err().to_string();
    expect!["`/repo/fifo` is not a regular file"].assert_eq(&tree.redact(&error));
}

#[test]
fn a_confined_directory_has_no_denied_entries_and_no_way_out() {
    let tree = TempTree::new("sub/b = text\nsub/secret = CANARY\nsub/out -> /etc\nc = x");
    let turn = confined(&tree);
    let directory = turn.resolve_path("path", ".").unwrap().open_dir().unwrap();
    let sub = directory.open_dir(OsStr::new("sub")).unwrap();
    let mut names = Vec::new();
    sub.each(|name, kind| {
        names.push(format!("{} {kind:?}", name.display()));
        ControlFlow::Continue(())
    })
    .unwrap();
    names.sort();
    assert_eq!(names, ["b File", "out Symlink"]);
    let mut text = String::new();
    sub.open_file(OsStr::new("b")).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "text");
    for name in ["secret", "out", "..", ".", "../c", "../../etc/passwd", "/etc/passwd", "", "b/"] {
        assert!(sub.open_file(OsStr::new(name)).is_err(), "{name}");
        assert!(sub.open_dir(OsStr::new(name)).is_err(), "{name}");
    }
    assert!(sub.check_complete().is_ok());
    let error = turn.resolve_path("path", "c").unwrap().open_dir().unwrap_err();
    assert_eq!(error.code, ErrorCode::NotADirectory);
}

#[test]
fn a_stop_check_fails_at_the_deadline_and_when_cancelled() {
    let cancel = CancelFlag::default();
    let turn = turn(Path::new("/")).with_cancel(cancel.clone());
    let hour = Duration::from_secs(3600);
    assert_eq!(turn.stop_check(hour).check(), Ok(()));
    assert_eq!(turn.stop_check(Duration::ZERO).check(), Err(Stop::TimedOut));
    let past = turn.clone().with_deadline(Instant::now());
    assert!(past.deadline().is_some());
    assert_eq!(past.stop_check(hour).check(), Err(Stop::TimedOut));
    let running = turn.stop_check(hour);
    cancel.cancel();
    assert_eq!(running.check(), Err(Stop::Cancelled));
    let error = ToolError::from(Stop::Cancelled);
    assert_eq!(
        (error.code, error.message.as_str()),
        (ErrorCode::Cancelled, "the call was cancelled")
    );
}

#[test]
fn a_guard_cancels_when_it_is_dropped_unless_disarmed() {
    let cancel = CancelFlag::default();
    cancel.cancel_on_drop().disarm();
    assert!(!cancel.is_cancelled());
    drop(cancel.cancel_on_drop());
    assert!(cancel.is_cancelled());
}

#[test]
fn commands_find_programs_by_default() {
    let tree = TempTree::new("");
    let turn = TurnContext::new(tree.path(), SandboxPolicy::Full).unwrap();
    let run = |turn: &TurnContext| Bash.run(BashArgs::new("env | sort; ls -d ."), turn).unwrap();
    let output = run(&turn).content();
    assert!(output.contains("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"), "{output}");
    assert!(output.contains("LANG=C.UTF-8"), "{output}");
    assert!(output.contains("\n.\n"), "{output}");
    let bare = run(&turn.with_environment(Environment::empty())).content();
    assert!(!bare.contains("LANG="), "{bare}");
}

/// A tool that returns what it is given, without regard to the budget.
struct Repeat;

#[derive(serde::Deserialize)]
struct RepeatArgs {
    text: String,
}

impl Tool for Repeat {
    type Args = RepeatArgs;
    type Report = TextReport;

    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("repeat", "Returns the text.")
    }

    fn run(&self, args: RepeatArgs, _: &TurnContext) -> Result<TextReport, ToolError> {
        Ok(TextReport::new(args.text))
    }
}

#[test]
fn a_reply_fits_the_budget_whatever_the_tool_returns() {
    let reply = |text: String, bytes: usize| {
        let turn = turn(Path::new("/")).with_reply_budget(ReplyBudget::new(bytes));
        let arguments = serde_json::json!({ "text": text }).to_string();
        let router = ToolRouter::empty().with(Repeat);
        let reply = router.call(&ToolInvocation::new("repeat", arguments, &turn)).unwrap().reply();
        assert!(ReplyBudget::new(bytes).fits(reply.as_ref().unwrap()));
        reply.unwrap()
    };
    let line = format!("{}\n", "x".repeat(99));
    assert_eq!(reply(line.clone(), 4096), line);
    let expected = format!("{}[6000 bytes truncated]", line.repeat(40));
    assert_eq!(reply(line.repeat(100), 4096), expected);
    let many_lines = reply("x\n".repeat(2000), 1 << 20);
    assert!(many_lines.ends_with("x\n[22 bytes truncated]"), "{}", many_lines.len());
    assert!(reply("ä".repeat(5000), 4096).contains("ä\n["));
}

#[test]
fn an_error_that_quotes_long_arguments_is_short() {
    let turn = turn(Path::new("/"));
    let long = "x".repeat(7_000_000);
    let calls = [
        ("read", serde_json::json!({ "path": long })),
        ("read", serde_json::json!({ "path": "a", long.clone(): 1 })),
        ("list_dir", serde_json::json!({ "dir_path": format!("/{long}") })),
        ("grep_files", serde_json::json!({ "pattern": "x", "path": long })),
        (long.as_str(), serde_json::json!({})),
    ];
    for (tool, arguments) in calls {
        let call = ToolInvocation::new(tool, arguments.to_string(), &turn);
        let error = ToolRouter::new().call(&call).unwrap_err().to_string();
        assert!(error.len() <= 2 * MAX_ERROR_BYTES + 100, "{} bytes", error.len());
    }
}
