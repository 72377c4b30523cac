//! The trait of a tool, and its type-erased form for the router.

use std::any::Any;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::args;
use crate::context::TurnContext;
use crate::error::{FunctionCallError, ToolError};
use crate::limits::Limit;
use crate::names::named;
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

    /// The definition for calls in this context. By default, it does not depend on the context.
    fn definition_in(&self, _turn: &TurnContext) -> ToolDefinition {
        self.definition()
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// Errors that a model can react to: invalid arguments, a path outside the roots, a system error.
    fn run(&self, args: Self::Args, turn: &TurnContext) -> Result<Self::Report, ToolError>;
}

/// The definition of a tool for models, hosts and people.
///
/// ```
/// use eyelet::ToolDefinition;
/// use serde_json::json;
///
/// let definition = ToolDefinition::new("word_count", "Counts the words of a file.")
///     .with_input_schema(json!({
///         "type": "object",
///         "properties": {"path": {"type": "string", "description": "Path of the file."}},
///         "required": ["path"],
///         "additionalProperties": false
///     }))
///     .read_only();
/// assert_eq!(definition.title, "word_count");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
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

impl ToolDefinition {
    /// Defines a tool without arguments that may change files and reads one file at most. The other
    /// methods change that.
    pub fn new(name: &'static str, description: impl Into<String>) -> Self {
        ToolDefinition {
            name,
            title: name,
            description: description.into(),
            input_schema: json!({
                "type": "object", "properties": {}, "additionalProperties": false
            }),
            read_only: false,
            load: Load::Read,
            counts: "steps",
            limits: Vec::new(),
        }
    }

    /// Sets the short name for people.
    #[must_use]
    pub fn with_title(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// Sets the JSON schema of the arguments.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// States that the tool changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets what a call costs the host.
    #[must_use]
    pub fn with_load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Sets what [`Progress`](crate::Progress) counts, such as `files searched`.
    #[must_use]
    pub fn with_counts(mut self, counts: &'static str) -> Self {
        self.counts = counts;
        self
    }

    /// Sets the limits that `eyelet limits` and the documentation show.
    #[must_use]
    pub fn with_limits(mut self, limits: Vec<Limit>) -> Self {
        self.limits = limits;
        self
    }
}

/// What a call costs the host. A host limits how many calls of each kind run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Load {
    /// Reads one file.
    Read,
    /// Walks a tree.
    Walk,
    /// Runs a command.
    Command,
    /// Waits for a command that runs already.
    Wait,
}

named!(Load, "kind of load", { Read = "read", Walk = "walk", Command = "command", Wait = "wait" });

/// A tool without its types. Only the blanket implementation below implements it.
pub(crate) trait ErasedTool: Send + Sync {
    fn definition(&self) -> ToolDefinition;
    fn definition_in(&self, turn: &TurnContext) -> ToolDefinition;
    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError>;
    fn as_any(&self) -> &dyn Any;
}

impl<T: Tool> ErasedTool for T {
    fn definition(&self) -> ToolDefinition {
        Tool::definition(self)
    }

    fn definition_in(&self, turn: &TurnContext) -> ToolDefinition {
        Tool::definition_in(self, turn)
    }

    fn call(&self, arguments: &str, turn: &TurnContext) -> Result<ToolOutput, FunctionCallError> {
        let args = args::parse(arguments)?;
        Ok(ToolOutput::new(self.run(args, turn)?).within(turn.reply_budget()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
