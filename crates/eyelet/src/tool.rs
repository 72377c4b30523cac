//! What a tool is, and the one place where its types are erased for the router.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args;
use crate::context::TurnContext;
use crate::error::{FunctionCallError, ToolError};
use crate::limits::Limit;
use crate::output::{Report, ToolOutput};

/// A tool: typed arguments in, a typed report out.
///
/// It knows no dialect and no wire, and opens no path but those that
/// [`TurnContext::resolve_path`] made.
pub trait Tool: Send + Sync + 'static {
    /// What it is called with.
    type Args: DeserializeOwned;
    /// What it answers.
    type Report: Report;

    /// What a model is told about it.
    fn definition(&self) -> ToolDefinition;

    /// The name it is called by, the definition's. A tool that says it here as well spares a host
    /// that only calls it the making of its definition.
    fn name(&self) -> &'static str {
        self.definition().name
    }

    /// Does the work.
    ///
    /// # Errors
    /// What a model can answer: bad arguments, a path it may not path_scope, a system that says no.
    fn run(&self, args: Self::Args, turn: &TurnContext) -> Result<Self::Report, ToolError>;
}

/// What a model, a host and a person are told about a tool.
#[derive(Clone, Debug)]
pub struct ToolDefinition {
    /// The name it is called by.
    pub name: &'static str,
    /// A short name for people.
    pub title: &'static str,
    /// When to use it, how to page, and its numbers.
    pub description: String,
    /// The JSON schema of its arguments.
    pub input_schema: Value,
    /// Whether it only reads.
    pub read_only: bool,
    /// What a call costs the machine.
    pub load: Load,
    /// What a running call counts: `files searched`.
    pub counts: &'static str,
    /// The numbers that bound it.
    pub limits: Vec<Limit>,
}

/// What a call costs the machine. A host runs only so many of a kind at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Reads one file.
    Read,
    /// Walks through a tree.
    Walk,
    /// Runs a command.
    Command,
}

/// A tool whose types the router need not know. The blanket below is its only implementer.
pub(crate) trait ErasedTool: Send + Sync {
    fn name(&self) -> &'static str;
    fn definition(&self) -> ToolDefinition;
    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError>;
}

impl<T: Tool> ErasedTool for T {
    fn name(&self) -> &'static str {
        Tool::name(self)
    }

    fn definition(&self) -> ToolDefinition {
        Tool::definition(self)
    }

    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError> {
        let args = args::parse(arguments)?;
        Ok(ToolOutput::new(self.run(args, turn)?))
    }
}
