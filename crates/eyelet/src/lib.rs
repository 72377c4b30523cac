//! Tools for AI agents: list a directory, find files, search their contents, read a file, run a
//! command, and manage commands in the background. Every reply has a size limit. Truncated replies
//! say what they omit and how to continue.
//!
//! A host is a program that talks to a model. It offers the tools to the model, runs the calls that the
//! model asks for, and sends the results back until the model answers:
//!
//! ```
//! use eyelet::tools::{GrepFiles, ListDir, Read};
//! use eyelet::{
//!     DefinitionFormat, FunctionCallError, ReplyBudget, Root, SandboxPolicy, ToolInvocation,
//!     ToolRouter, TurnContext, render_definitions,
//! };
//! use serde_json::{Value, json};
//!
//! /// Stands for the request to your chat API: first a tool call, then the answer.
//! fn chat(messages: &[Value], tools: &Value) -> Value {
//!     assert_eq!(tools[0]["function"]["name"], "list_dir");
//!     match messages.len() {
//!         1 => json!({"role": "assistant", "tool_calls": [{"id": "1", "function": {
//!             "name": "read", "arguments": r#"{"path":"Cargo.toml","limit":2}"#}}]}),
//!         _ => json!({"role": "assistant", "content": "It is eyelet."}),
//!     }
//! }
//!
//! let directory = std::env::current_dir()?;
//! let turn = TurnContext::new(&directory, SandboxPolicy::Off)? // no commands
//!     .with_root(Root::open(&directory)?) // no path outside this directory
//!     .with_reply_budget(ReplyBudget::new(16 * 1024)); // at most 16 KiB of text per reply
//! let router = ToolRouter::empty().with(ListDir).with(GrepFiles).with(Read);
//! let tools = render_definitions(&router.definitions(), DefinitionFormat::OpenAi);
//!
//! let mut messages = vec![json!({"role": "user", "content": "Which package is this?"})];
//! let answer = loop {
//!     let message = chat(&messages, &tools);
//!     messages.push(message.clone());
//!     let Some(calls) = message["tool_calls"].as_array() else { break message };
//!     for call in calls {
//!         let text = |key| call["function"][key].as_str().unwrap_or_default();
//!         let invocation = ToolInvocation::new(text("name"), text("arguments"), &turn);
//!         let content = match router.call(&invocation).and_then(|output| output.reply()) {
//!             Ok(reply) => reply,
//!             // The model can react to these: a missing file, a bad pattern, an unknown tool.
//!             Err(FunctionCallError::RespondToModel(error)) => format!("error: {error}"),
//!             // A tool has a bug. The host decides what to do.
//!             Err(fatal @ FunctionCallError::Fatal(_)) => return Err(fatal.into()),
//!         };
//!         messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": content}));
//!     }
//! };
//! assert_eq!(answer["content"], "It is eyelet.");
//! assert!(messages[2]["content"].as_str().is_some_and(|text| text.contains("[package]")));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! To use eyelet, your program needs no other crates. The example above also uses `serde_json`, and
//! a tool of your own needs `serde` with the feature `derive`. The directory `examples` of this
//! crate has complete programs: `embed` (plain calls), `chat_api`, `small_host` (a host with its
//! own tool in 60 lines), `own_tool`, `tokio_host` and `sandboxed_commands`.
//!
//! # The tools
//!
//! | tool | arguments | report |
//! |---|---|---|
//! | [`tools::ListDir`] | [`tools::ListDirArgs`] | [`tools::ListDirReport`] |
//! | [`tools::FindFiles`] | [`tools::FindFilesArgs`] | [`tools::FindFilesReport`] |
//! | [`tools::GrepFiles`] | [`tools::GrepFilesArgs`] | [`tools::GrepFilesReport`] |
//! | [`tools::Read`] | [`tools::ReadArgs`] | [`tools::ReadReport`] |
//! | [`tools::Bash`] | [`tools::BashArgs`] | [`tools::BashReport`] |
//! | [`tools::JobsTool`] | [`tools::JobsArgs`] | [`tools::JobsReport`] |
//!
//! A truncated reply says how to continue: `read` starts its reply with a line such as `[lines
//! 1-2000 of 5310; next offset 2001]`, `list_dir` ends with `More than 25 entries found; next
//! offset 26`, `grep_files` with `show: lines` starts with `[matches 1-100 in 12 files under DIR;
//! more follow, next offset 101]`, and `bash` starts with `[exit 0; stdout 40000 lines, saved to
//! FILE; stderr empty]`. `find_files` and, by default, `grep_files` return one absolute path per
//! line. `read` returns an image as [`ToolOutput::attachment`], which a host sends beside the text.
//! [`ToolOutput`] describes the forms of a result, and [`limits`] lists the limits.
//!
//! # Typed calls
//!
//! A program that needs the data of a result passes typed arguments to a tool and gets the typed
//! report:
//!
//! ```
//! use eyelet::tools::{ListDir, ListDirArgs};
//! use eyelet::{SandboxPolicy, Tool as _, TurnContext};
//!
//! let turn = TurnContext::new("/", SandboxPolicy::Off)?;
//! let report = ListDir.run(ListDirArgs { depth: Some(1), ..ListDirArgs::new("/") }, &turn)?;
//! assert!(report.entries.iter().any(|entry| entry.name == "usr"));
//! # Ok::<(), eyelet::ToolError>(())
//! ```
//!
//! # Your own tool
//!
//! Implement [`Tool`] and add it with [`ToolRouter::with`]. Your tool can do the same as the tools
//! of this crate:
//!
//! - open files and directories inside the roots: [`TurnContext::resolve_path`], then
//!   [`ConfinedPath::open_file`] or [`ConfinedPath::open_dir`];
//! - stop in time: [`TurnContext::stop_check`];
//! - fit its reply into [`TurnContext::reply_budget`] and say how to continue; a longer reply is truncated
//!   at its end;
//! - accept the numbers that models send: [`args::number`];
//! - report progress: [`TurnContext::progress`].
//!
//! ```
//! use std::io::Read as _;
//!
//! use eyelet::limits::TIME_LIMIT;
//! use eyelet::{TextReport, Tool, ToolDefinition, ToolError, TurnContext};
//! use serde_json::json;
//!
//! /// Counts the bytes of one value in a file.
//! struct CountBytes;
//!
//! #[derive(serde::Deserialize)]
//! #[serde(deny_unknown_fields)]
//! struct CountBytesArgs {
//!     path: String,
//!     #[serde(default, deserialize_with = "eyelet::args::number")]
//!     value: Option<u64>,
//! }
//!
//! impl Tool for CountBytes {
//!     type Args = CountBytesArgs;
//!     type Report = TextReport;
//!
//!     fn definition(&self) -> ToolDefinition {
//!         ToolDefinition::new("count_bytes", "Counts how often a byte occurs in a file.")
//!             .with_input_schema(json!({
//!                 "type": "object",
//!                 "properties": {
//!                     "path": {"type": "string", "description": "Path of the file."},
//!                     "value": {"type": "integer", "description": "The byte. Default 0."}
//!                 },
//!                 "required": ["path"],
//!                 "additionalProperties": false
//!             }))
//!             .read_only()
//!     }
//!
//!     fn run(&self, args: CountBytesArgs, turn: &TurnContext) -> Result<TextReport, ToolError> {
//!         let stop_check = turn.stop_check(TIME_LIMIT);
//!         let mut file = turn.resolve_path("path", &args.path)?.open_file()?;
//!         let (mut buffer, mut count) = (vec![0; 64 * 1024], 0);
//!         loop {
//!             stop_check.check()?;
//!             let read = file.read(&mut buffer);
//!             let read = read.map_err(|error| ToolError::io("cannot read the file", &error))?;
//!             if read == 0 {
//!                 return Ok(TextReport::new(count.to_string()));
//!             }
//!             let value = args.value.unwrap_or(0);
//!             count += buffer[..read].iter().filter(|byte| u64::from(**byte) == value).count();
//!             turn.progress().add(read as u64);
//!         }
//!     }
//! }
//!
//! let router = eyelet::ToolRouter::new().with(CountBytes);
//! assert!(router.definitions().iter().any(|tool| tool.name == "count_bytes"));
//! ```
//!
//! # Which paths and commands are allowed
//!
//! Without a root, the tools open every path that the process may open. [`TurnContext::with_root`]
//! confines the tools to a root, and [`DenyList`] excludes secrets. A path is checked and opened in
//! one step, so symlinks and renames cannot lead out of the roots.
//!
//! [`SandboxPolicy`] says what `bash` may do. `ReadOnly` and `WorkspaceWrite` require a sandbox,
//! which a host configures with `TurnContext::with_sandbox_settings` (see the example
//! `sandboxed_commands`). If the machine cannot enforce the policy, eyelet refuses to run commands.
//! `Full` runs commands without a sandbox. Commands get the variables of [`Environment::default`]
//! unless the host passes others.
//!
//! # Deadlines and asynchronous hosts
//!
//! The library is synchronous: run each call on a thread of its own, for example with Tokio's
//! `spawn_blocking`. Give each call a deadline ([`TurnContext::with_deadline`]) and a [`CancelFlag`].
//! While you wait for the call, hold the guard that [`CancelFlag::cancel_on_drop`] returns: if your
//! future is dropped, the guard stops the call and kills its command.
//!
//! # Errors
//!
//! [`ToolError`] is for the model: a stable [`ErrorCode`], a message, and sometimes a [`Hint`] that
//! says what the host or its user can do. `Display` shows the message and the hint, so the model
//! can pass the hint on to its user. A host with command-line flags renders hints itself and names
//! its flags.
//! [`FunctionCallError::Fatal`] is for the host.
//!
//! # Cargo features
//!
//! - `sandbox` (default): runs commands under a supervisor and in a sandbox. Without this feature, eyelet runs
//!   commands only under the policy `full`, in a process group, and refuses the policies `read-only` and
//!   `workspace-write` with the error code `sandbox_unavailable`.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(feature = "sandbox"),
    allow(dead_code, reason = "only the sandbox uses some helpers")
)]

pub mod args;
mod argument_names;
mod cancel;
mod context;
mod cpu_count;
mod definitions;
mod environment;
mod error;
mod exec;
mod facts;
mod fs;
mod images;
#[cfg(feature = "_internals")]
#[doc(hidden)]
pub mod internals;
mod invocation;
pub mod limits;
mod live_output;
mod names;
mod output;
mod paths;
mod progress;
mod protected_paths;
mod router;
mod sandbox_policy;
mod saved_output;
mod search;
mod text;
mod tool;
pub mod tools;

pub use cancel::{CancelFlag, CancelGuard, Stop, StopCheck};
pub use context::{PathScope, SearchEngine, TurnContext};
pub use definitions::{DefinitionFormat, render_definitions};
pub use environment::Environment;
pub use error::{ErrorCode, FunctionCallError, Hint, Permission, ToolError};
pub use exec::jobs::Jobs;
pub use facts::Facts;
pub use fs::directory::Directory;
pub use invocation::{ToolInvocation, ToolPayload};
pub use live_output::OutputKind;
pub use names::UnknownName;
pub use output::{
    Attachment, AttachmentMode, Envelope, FunctionOutput, Report, TextReport, ToolOutput,
};
pub use paths::confined_path::ConfinedPath;
pub use paths::deny_list::DenyList;
pub use paths::root::Root;
pub use paths::secret_table::{SECRET_VARIABLES, SECRETS, Secret, SecretKind};
pub use progress::Progress;
pub use protected_paths::PROTECTED_PATHS;
pub use router::ToolRouter;
pub use sandbox_policy::SandboxPolicy;
pub use saved_output::output_store::OutputStore;
pub use text::escape::{is_escaped, name as escape_name};
pub use text::number::{grouped, rounded_size};
pub use text::reply_budget::ReplyBudget;
pub use tool::{Load, Tool, ToolDefinition};

#[cfg(feature = "sandbox")]
pub use exec::sandboxed::{
    private_temp::PrivateTemp,
    proxy::{allowed_hosts::AllowedHosts, registries::REGISTRIES},
    settings::SandboxSettings,
};
#[cfg(feature = "sandbox")]
pub use eyelet_sandbox::{
    InvalidMemoryLimit, MemoryLimit, Network, Strictness, Supervisor, Tier, TierChoice,
    release_free_memory, run_if_supervisor, shield_this_process,
};

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the examples of the page about embedding.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Embedding;
