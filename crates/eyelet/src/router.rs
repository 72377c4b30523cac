//! Finds a tool by name and calls it with JSON arguments.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{ErrorCode, FunctionCallError, ToolError};
use crate::invocation::{ToolInvocation, ToolPayload};
use crate::output::ToolOutput;
use crate::tool::{ErasedTool, Tool, ToolDefinition};
use crate::tools;

/// The tools that a host offers, found by name.
pub struct ToolRouter {
    tools: Vec<Entry>,
}

struct Entry {
    name: &'static str,
    tool: Box<dyn ErasedTool>,
}

impl Default for ToolRouter {
    fn default() -> Self {
        ToolRouter::new()
    }
}

impl ToolRouter {
    /// Creates a router with all tools of this crate.
    pub fn new() -> Self {
        tools::all().into_iter().fold(ToolRouter::empty(), ToolRouter::with_boxed)
    }

    /// Creates a router without tools. Add some with [`ToolRouter::with`].
    pub fn empty() -> Self {
        ToolRouter { tools: Vec::new() }
    }

    /// Adds a tool. Replaces a tool with the same name.
    #[must_use]
    pub fn with(self, tool: impl Tool) -> Self {
        self.with_boxed(Box::new(tool))
    }

    fn with_boxed(mut self, tool: Box<dyn ErasedTool>) -> Self {
        let name = tool.definition().name;
        self.tools.retain(|entry| entry.name != name);
        self.tools.push(Entry { name, tool });
        self
    }

    /// Removes all tools except those with these names.
    #[must_use]
    pub fn only(mut self, names: &[impl AsRef<str>]) -> Self {
        self.tools.retain(|entry| names.iter().any(|name| name.as_ref() == entry.name));
        self
    }

    /// The definitions of all tools, in order.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|entry| entry.tool.definition()).collect()
    }

    /// Runs one call. [`ToolOutput`] renders the result in either dialect.
    ///
    /// # Errors
    /// [`FunctionCallError::RespondToModel`] for errors that the model can react to, such as an
    /// unknown tool; [`FunctionCallError::Fatal`] if the tool panicked.
    pub fn call(&self, invocation: &ToolInvocation<'_>) -> Result<ToolOutput, FunctionCallError> {
        let ToolPayload::Function { arguments } = &invocation.payload;
        let Some(entry) = self.tools.iter().find(|entry| entry.name == invocation.tool_name) else {
            return Err(self.unknown(invocation.tool_name).into());
        };
        catch_unwind(AssertUnwindSafe(|| entry.tool.call(arguments, invocation.turn)))
            .unwrap_or_else(|_| Err(FunctionCallError::Fatal(format!("{} panicked", entry.name))))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<_> = self.tools.iter().map(|entry| entry.name).collect();
        ToolError::new(
            ErrorCode::UnknownTool,
            format!("unknown tool `{}`, expected one of {}", shown(name), known.join(", ")),
        )
    }
}

/// A name from a model, shortened and on one line.
fn shown(name: &str) -> String {
    let name = crate::text::escape::text(name);
    crate::text::truncate::at_most(&name, 100).to_owned()
}
