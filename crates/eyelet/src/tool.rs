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
/// A tool does not know how its report is rendered or sent. A tool opens only paths that
/// [`TurnContext::resolve_path`] returned.
pub trait Tool: Send + Sync + 'static {
    /// The type of the arguments.
    type Args: DeserializeOwned;
    /// The type of the result.
    type Report: Report;

    /// Returns the definition for models and hosts.
    fn definition(&self) -> ToolDefinition;

    /// Returns the definition for calls in this context. By default, the definition does not depend
    /// on the context.
    fn definition_in(&self, _turn: &TurnContext) -> ToolDefinition {
        self.definition()
    }

    /// Runs the tool.
    ///
    /// # Errors
    /// Fails with errors that a model can react to: invalid arguments, a path outside the roots, a
    /// system error.
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
    /// The name of the tool, with which models call it.
    pub name: &'static str,
    /// A short name of the tool for people.
    pub title: &'static str,
    /// The description for models: what the tool does and returns, how to continue a truncated
    /// result, and when to use another tool.
    pub description: String,
    /// The JSON schema of the arguments.
    pub input_schema: Value,
    /// Whether the tool never changes anything.
    pub read_only: bool,
    /// The kind of work that a call does.
    pub load: Load,
    /// The unit of [`Progress`](crate::Progress), such as `files searched`.
    pub counts: &'static str,
    /// The limits of the tool.
    pub limits: Vec<Limit>,
}

impl ToolDefinition {
    /// Defines a tool that has no arguments, may change files and reads at most one file. Use the
    /// other methods to change these defaults.
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

    /// Sets the short name of the tool for people.
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

    /// Declares that the tool never changes anything.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets the kind of work that a call does.
    #[must_use]
    pub fn with_load(mut self, load: Load) -> Self {
        self.load = load;
        self
    }

    /// Sets the unit of [`Progress`](crate::Progress), such as `files searched`.
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

/// The kind of work that a call does. A host limits how many calls of each kind run at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Load {
    /// The call reads one file.
    Read,
    /// The call walks a directory tree.
    Walk,
    /// The call runs a command.
    Command,
    /// The call waits for a command that already runs.
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
