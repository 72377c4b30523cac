//! One call: the tool's name, its arguments and the context it runs in.

use crate::context::TurnContext;

/// One call, as an interface passes it to the router.
#[derive(Debug)]
pub struct ToolInvocation<'a> {
    /// The tool's name.
    pub tool_name: &'a str,
    /// The arguments.
    pub payload: ToolPayload,
    /// The context of the call.
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
    /// JSON text, as a model wrote it.
    Function {
        /// A JSON object.
        arguments: String,
    },
}
