//! One call: the tool's name, its arguments and the context it runs in.

use crate::context::TurnContext;

/// One call of a tool: the input of [`ToolRouter::call`](crate::ToolRouter::call).
#[derive(Debug)]
pub struct ToolInvocation<'a> {
    /// The name of the tool.
    pub tool_name: &'a str,
    /// The arguments of the call.
    pub payload: ToolPayload,
    /// The context in which the call runs.
    pub turn: &'a TurnContext,
}

impl<'a> ToolInvocation<'a> {
    /// Creates a call of `tool_name` with `arguments` as JSON text.
    pub fn new(tool_name: &'a str, arguments: impl Into<String>, turn: &'a TurnContext) -> Self {
        let payload = ToolPayload::Function { arguments: arguments.into() };
        ToolInvocation { tool_name, payload, turn }
    }
}

/// The arguments of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolPayload {
    /// The arguments as JSON text, exactly as a model wrote them.
    Function {
        /// A JSON object.
        arguments: String,
    },
}
