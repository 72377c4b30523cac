//! Small, reinforced windows onto a machine for AI agents.
//!
//! Four tools, each of which answers within bounds, says truthfully what it left out and tells how
//! to get the rest: [`tools::ListDir`], [`tools::GrepFiles`], [`tools::Read`], [`tools::Bash`].
//!
//! # Layout
//!
//! A call comes as a [`ToolInvocation`] with a [`TurnContext`]; [`ToolRouter`] finds the tool; the
//! tool returns a typed report; [`ToolOutput`] renders it in either dialect. Inside, `bound` cuts
//! and pages and does no I/O, `world` holds all contact with the system, `tools` joins the two.
//!
//! # A tool with typed arguments
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
//! # A name and JSON through the router
//!
//! ```
//! use eyelet::{Attached, Envelope, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};
//!
//! let turn = TurnContext::new("/", SandboxPolicy::Off)?;
//! let outcome = ToolRouter::new().call(&ToolInvocation::new("read", r#"{"path":"/"}"#, &turn));
//! let envelope = Envelope::of(&outcome, Attached::LeftOut).to_json();
//! assert!(envelope.starts_with(r#"{"ok":false,"error":{"code":"not_a_file""#));
//! # Ok::<(), eyelet::ToolError>(())
//! ```

mod args;
mod bound;
mod call;
mod definitions;
mod error;
pub mod limits;
mod output;
mod router;
mod sandbox;
mod tool;
pub mod tools;
mod world;

pub use bound::budget::ReplyBudget;
pub use bound::names::is_escaped;
pub use call::{
    CancelFlag, Environment, Progress, Reach, SandboxPolicy, SearchEngine, ToolInvocation,
    ToolPayload, TurnContext,
};
pub use definitions::{DefinitionFormat, render_definitions};
pub use error::{ErrorCode, FunctionCallError, ToolError};
pub use output::{Attached, Attachment, Envelope, FunctionOutput, Report, ToolOutput};
pub use router::ToolRouter;
pub use sandbox::SandboxSettings;
pub use tool::{Load, Tool, ToolDefinition};
pub use world::confine::{ConfinedPath, Root};
pub use world::hidden::{Hidden, SECRETS};
pub use world::private_temp::PrivateTemp;
pub use world::spill::Spill;
