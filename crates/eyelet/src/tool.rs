//! The trait of a tool, and its type-erased form for the router.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args;
use crate::context::TurnContext;
use crate::error::{FunctionCallError, ToolError};
use crate::limits::Limit;
use crate::output::{Report, ToolOutput};

/// A tool: takes typed arguments and returns a typed report.
///
/// A tool does not know how its report is rendered or sent. It opens only paths that
/// [`TurnContext::resolve_path`] returned.
pub trait Tool: Send + Sync + 'static {
    /// The arguments.
    type Args: DeserializeOwned;
    /// The result.
    type Report: Report;

    /// The definition for models and hosts.
    fn definition(&self) -> ToolDefinition;

    /// Runs the tool.
    ///
    /// # Errors
    /// Errors that a model can react to: invalid arguments, a path outside the roots, a system error.
    fn run(&self, args: Self::Args, turn: &TurnContext) -> Result<Self::Report, ToolError>;
}

/// The definition of a tool for models, hosts and people.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// What the tool does, what it returns, how to continue, and what not to use it for.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// Whether the tool changes nothing.
    pub read_only: bool,
    /// What a call costs the host.
    pub load: Load,
    /// What progress counts, such as `files searched`.
    pub counts: &'static str,
    /// The limits of the tool.
    pub limits: Vec<Limit>,
}

/// What a call costs the host. A host limits how many calls of each kind run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Reads one file.
    Read,
    /// Walks a tree.
    Walk,
    /// Runs a command.
    Command,
}

/// A tool without its types. Only the blanket implementation below implements it.
pub(crate) trait ErasedTool: Send + Sync {
    fn definition(&self) -> ToolDefinition;
    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError>;
}

impl<T: Tool> ErasedTool for T {
    fn definition(&self) -> ToolDefinition {
        Tool::definition(self)
    }

    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError> {
        let args = args::parse(arguments)?;
        Ok(ToolOutput::new(self.run(args, turn)?))
    }
}
