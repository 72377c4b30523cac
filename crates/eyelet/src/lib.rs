//! Tools for AI agents with bounded output: list a directory, search files, read a file, run a
//! command.
//!
//! Each of the four tools limits its reply, reports what is truncated and says how to continue:
//! [`tools::ListDir`], [`tools::GrepFiles`], [`tools::Read`], [`tools::Bash`].
//!
//! # Layout
//!
//! A host passes a [`ToolInvocation`] with a [`TurnContext`] to [`ToolRouter`], which finds the
//! tool. The tool returns a typed report, and [`ToolOutput`] renders it in either dialect. Inside,
//! `text` is pure code; `paths`, `fs`, `search`, `exec` and `saved_output` access the system;
//! `tools` connects the two.
//!
//! # Call a tool with typed arguments
//!
//! ```
//! use eyelet::tools::{ListDir, ListDirArgs};
//! use eyelet::{SandboxPolicy, Tool, TurnContext};
//!
//! let turn = TurnContext::new("/", SandboxPolicy::Off)?;
//! let report = ListDir.run(ListDirArgs { depth: Some(1), ..ListDirArgs::new("/") }, &turn)?;
//! assert!(report.entries.iter().any(|entry| entry.name == "usr"));
//! # Ok::<(), eyelet::ToolError>(())
//! ```
//!
//! # Call a tool by name with JSON arguments
//!
//! ```
//! use eyelet::{AttachmentMode, Envelope, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};
//!
//! let turn = TurnContext::new("/", SandboxPolicy::Off)?;
//! let outcome = ToolRouter::new().call(&ToolInvocation::new("read", r#"{"path":"/"}"#, &turn));
//! let envelope = Envelope::new(&outcome, AttachmentMode::Omit).to_json();
//! assert!(envelope.starts_with(r#"{"ok":false,"error":{"code":"not_a_file""#));
//! # Ok::<(), eyelet::ToolError>(())
//! ```

mod args;
mod cancel;
mod context;
mod cpu_count;
mod definitions;
mod environment;
mod error;
mod exec;
mod fs;
mod invocation;
pub mod limits;
mod output;
mod paths;
mod progress;
mod router;
mod sandbox_settings;
mod saved_output;
mod search;
mod text;
mod tool;
pub mod tools;

pub use cancel::CancelFlag;
pub use context::{PathScope, SearchEngine, TurnContext};
pub use definitions::{DefinitionFormat, render_definitions};
pub use environment::Environment;
pub use error::{ErrorCode, FunctionCallError, Hint, ToolError};
pub use invocation::{ToolInvocation, ToolPayload};
pub use output::{Attachment, AttachmentMode, Envelope, FunctionOutput, Report, ToolOutput};
pub use paths::confined_path::ConfinedPath;
pub use paths::deny_list::{DenyList, SECRETS};
pub use paths::root::Root;
pub use progress::Progress;
pub use router::ToolRouter;
pub use sandbox_settings::{SandboxPolicy, SandboxSettings};
pub use saved_output::output_store::OutputStore;
pub use saved_output::private_temp::PrivateTemp;
pub use text::escape::is_escaped;
pub use text::reply_budget::ReplyBudget;
pub use tool::{Load, Tool, ToolDefinition};
