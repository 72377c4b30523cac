//! The router, the dialects and the definitions.

use expect_test::expect;
use eyelet::{
    AttachmentMode, CancelFlag, DefinitionFormat, Envelope, ErrorCode, FunctionCallError, Hint,
    Permission, Progress, Report, SandboxPolicy, Tool, ToolDefinition, ToolError, ToolInvocation,
    ToolRouter, TurnContext, render_definitions,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// A fifth tool, as a host would write it.
struct Echo;

#[derive(Deserialize)]
struct EchoArgs {
    text: String,
}

#[derive(Serialize)]
struct EchoReport {
    text: String,
}

impl Report for EchoReport {
    fn content(&self) -> String {
        self.text.clone()
    }
    fn success(&self) -> bool {
        !self.text.is_empty()
    }
}

impl Tool for Echo {
    type Args = EchoArgs;
    type Report = EchoReport;
    fn definition(&self) -> ToolDefinition {
        ToolDefinition::new("echo", "Says it again.")
            .with_title("Echo")
            .with_input_schema(json!({"type": "object"}))
            .read_only()
    }
    fn run(&self, args: EchoArgs, turn: &TurnContext) -> Result<EchoReport, ToolError> {
        if turn.cancel_flag().is_cancelled() {
            return Err(ToolError::new(ErrorCode::Cancelled, "the call was cancelled"));
        }
        turn.progress().add(args.text.len() as u64);
        assert!(args.text != "panic", "the tool breaks");
        let text = if args.text == "big" { "x".repeat(40 << 20) } else { args.text };
        Ok(EchoReport { text })
    }
}

fn echo(arguments: &str) -> Result<eyelet::ToolOutput, FunctionCallError> {
    let turn = TurnContext::new("/", SandboxPolicy::Off).unwrap();
    ToolRouter::empty().with(Echo).call(&ToolInvocation::new("echo", arguments, &turn))
}

#[test]
fn both_dialects_come_from_one_report() {
    let output = echo(r#"{"text":"hi"}"#).unwrap();
    let function = output.function().unwrap();
    assert_eq!((function.content.as_str(), function.success), ("hi", Some(true)));
    let envelope = Envelope::new(&Ok(output), AttachmentMode::Omit).to_json();
    assert_eq!(envelope, r#"{"ok":true,"data":{"text":"hi"}}"#);
    assert_eq!(echo(r#"{"text":""}"#).unwrap().function().unwrap().success, Some(false));
}

#[test]
fn an_error_is_an_envelope_with_code_and_message() {
    let envelope = Envelope::new(&echo("{}"), AttachmentMode::Omit).to_json();
    expect![[r#"{"ok":false,"error":{"code":"invalid_input","message":"failed to parse function arguments: missing field `text` at line 1 column 2"}}"#]].assert_eq(&envelope);
}

#[test]
fn an_error_shows_its_hint_after_the_message() {
    let permissions = vec![Permission::Hosts, Permission::Write];
    assert_eq!(
        Hint::Allow(permissions).to_string(),
        "allow commands to connect to the host, or allow commands to write to the directory"
    );
    let error = ToolError::new(ErrorCode::OutsideRoot, "path is outside").with_hint(Hint::AddRoot);
    expect!["path is outside; add a root that contains the path"].assert_eq(&error.to_string());
    let envelope = Envelope::new(&Err(error.into()), AttachmentMode::Omit);
    expect![[r#"{"ok":false,"error":{"code":"outside_root","message":"path is outside","hint":"add a root that contains the path"}}"#]]
        .assert_eq(&envelope.to_json());
    let envelope = envelope.with_hint_text(|_| "restart with --root DIR".to_owned());
    expect![[r#"{"ok":false,"error":{"code":"outside_root","message":"path is outside","hint":"restart with --root DIR"}}"#]]
        .assert_eq(&envelope.to_json());
}

#[test]
fn a_panic_is_fatal_and_the_router_continues() {
    let outcome = echo(r#"{"text":"panic"}"#);
    assert_eq!(outcome.as_ref().err(), Some(&FunctionCallError::Fatal("echo panicked".to_owned())));
    let envelope = Envelope::new(&outcome, AttachmentMode::Omit).to_json();
    expect![[
        r#"{"ok":false,"error":{"code":"io_error","message":"internal failure: echo panicked"}}"#
    ]]
    .assert_eq(&envelope);
    assert!(echo(r#"{"text":"hi"}"#).is_ok());
}

/// A typed call of `echo` through `router`.
fn typed(router: &ToolRouter, text: &str) -> Result<String, FunctionCallError> {
    let turn = TurnContext::new("/", SandboxPolicy::Off).unwrap();
    router.run::<Echo>(EchoArgs { text: text.to_owned() }, &turn).map(|report| report.text)
}

#[test]
fn a_typed_call_returns_the_report() {
    assert_eq!(typed(&ToolRouter::new().with(Echo), "hi"), Ok("hi".to_owned()));
}

#[test]
fn a_typed_call_of_a_missing_tool_lists_the_known_tools() {
    let error = typed(&ToolRouter::new(), "hi").unwrap_err();
    let FunctionCallError::RespondToModel(error) = error else { panic!("not for the host") };
    assert_eq!(error.code, ErrorCode::UnknownTool);
    expect!["unknown tool `it::router::Echo`, expected one of list_dir, find_files, grep_files, read, bash, jobs"]
        .assert_eq(&error.message);
}

#[test]
fn a_panic_in_a_typed_call_is_fatal_and_the_router_continues() {
    let router = ToolRouter::empty().with(Echo);
    let panicked = FunctionCallError::Fatal("echo panicked".to_owned());
    assert_eq!(typed(&router, "panic"), Err(panicked));
    assert_eq!(typed(&router, "hi"), Ok("hi".to_owned()));
}

#[test]
fn no_reply_exceeds_the_hard_limit() {
    let output = echo(r#"{"text":"big"}"#).unwrap();
    let FunctionCallError::RespondToModel(error) = output.function().unwrap_err() else {
        panic!("not for the host")
    };
    expect!["the reply exceeds 32 MiB; use a smaller limit and continue with offset"]
        .assert_eq(&error.message);
    let envelope = Envelope::new(&Ok(output), AttachmentMode::Omit);
    let Envelope::Error { error, .. } = envelope else { panic!("the reply is too large") };
    assert_eq!(error.code, ErrorCode::TooLarge);
}

#[test]
fn error_codes_display_as_they_serialize() {
    let codes: Vec<String> = ErrorCode::ALL.iter().map(ToString::to_string).collect();
    expect!["invalid_input unknown_tool not_found permission_denied outside_root not_a_directory not_a_file too_large timed_out cancelled search_failed sandbox_unavailable busy io_error"]
        .assert_eq(&codes.join(" "));
    for code in ErrorCode::ALL {
        assert_eq!(serde_json::to_value(code).unwrap(), json!(code.as_str()));
    }
}

#[test]
fn definitions_render_in_each_host_format() {
    let definitions = ToolRouter::empty().with(Echo).definitions();
    let render = |format| render_definitions(&definitions, format).to_string();
    expect![[r#"[{"name":"echo","title":"Echo","description":"Says it again.","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"destructiveHint":false,"openWorldHint":false}}]"#]]
        .assert_eq(&render(DefinitionFormat::Mcp));
    expect![[r#"[{"type":"function","function":{"name":"echo","description":"Says it again.","parameters":{"type":"object"}}}]"#]]
        .assert_eq(&render(DefinitionFormat::OpenAi));
    expect![[
        r#"[{"name":"echo","description":"Says it again.","input_schema":{"type":"object"}}]"#
    ]]
    .assert_eq(&render(DefinitionFormat::Anthropic));
}

#[test]
fn a_hosts_tool_reports_progress_and_sees_a_cancel() {
    let (progress, cancel) = (Progress::default(), CancelFlag::default());
    let turn = TurnContext::new("/", SandboxPolicy::Off).unwrap();
    let turn = turn.with_progress(progress.clone()).with_cancel(cancel.clone());
    let router = ToolRouter::empty().with(Echo);
    let call = ToolInvocation::new("echo", r#"{"text":"four"}"#, &turn);
    assert!(router.call(&call).is_ok());
    assert_eq!(progress.count(), 4);
    cancel.cancel();
    let FunctionCallError::RespondToModel(error) = router.call(&call).unwrap_err() else {
        panic!("not for the host")
    };
    assert_eq!((error.code, progress.count()), (ErrorCode::Cancelled, 4));
}

#[test]
fn a_tool_replaces_an_earlier_one_of_the_same_name() {
    assert_eq!(ToolRouter::empty().with(Echo).with(Echo).definitions().len(), 1);
}

#[test]
fn all_tools_but_those_of_commands_are_read_only() {
    let tools: Vec<_> = ToolRouter::new()
        .definitions()
        .iter()
        .map(|definition| (definition.name, definition.read_only))
        .collect();
    let read_only = ["list_dir", "find_files", "grep_files", "read"].map(|name| (name, true));
    assert_eq!(tools, [read_only.as_slice(), &[("bash", false), ("jobs", false)]].concat());
}

#[test]
fn a_turn_needs_an_absolute_directory() {
    let error = TurnContext::new("relative", SandboxPolicy::Off).unwrap_err();
    assert_eq!(error.message, "cwd must be an absolute path");
}
