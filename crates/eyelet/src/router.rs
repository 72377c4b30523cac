//! Finds a tool by name or by type and calls it.

use std::any::type_name;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::context::TurnContext;
use crate::error::{ErrorCode, FunctionCallError, ToolError};
use crate::invocation::{ToolInvocation, ToolPayload};
use crate::output::ToolOutput;
use crate::tool::{ErasedTool, Tool, ToolDefinition};
use crate::tools;

/// The tools that a host offers. [`ToolRouter::call`] looks up a tool by name, [`ToolRouter::run`] by
/// type.
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

    /// Adds a tool. If the router has a tool with the same name, replaces that tool.
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

    /// Removes all tools except those with these names. Ignores names of unknown tools.
    #[must_use]
    pub fn only(mut self, names: &[impl AsRef<str>]) -> Self {
        self.tools.retain(|entry| names.iter().any(|name| name.as_ref() == entry.name));
        self
    }

    /// Returns the definitions of all tools: first the tools of this crate in their usual order,
    /// then the tools that the host added.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|entry| entry.tool.definition()).collect()
    }

    /// Returns the definitions of all tools for calls in this context. Here, the description of
    /// `bash` also says what commands may do.
    pub fn definitions_in(&self, turn: &TurnContext) -> Vec<ToolDefinition> {
        self.tools.iter().map(|entry| entry.tool.definition_in(turn)).collect()
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
        without_panic(entry.name, || entry.tool.call(arguments, invocation.turn))
    }

    /// Runs the tool of type `T` with typed arguments and returns its typed report.
    ///
    /// If the router has several tools of this type, the first one runs.
    ///
    /// ```
    /// use eyelet::tools::{ListDir, ListDirArgs};
    /// use eyelet::{SandboxPolicy, ToolRouter, TurnContext};
    ///
    /// let turn = TurnContext::new("/", SandboxPolicy::Off)?;
    /// let report = ToolRouter::new().run::<ListDir>(ListDirArgs::new("/"), &turn)?;
    /// assert!(report.entries.iter().any(|entry| entry.name == "usr"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The same as [`ToolRouter::call`]. The error code is `unknown_tool` if the router has no tool
    /// of type `T`.
    pub fn run<T: Tool>(
        &self,
        args: T::Args,
        turn: &TurnContext,
    ) -> Result<T::Report, FunctionCallError> {
        let found = self.tools.iter().find_map(|entry| {
            let tool = entry.tool.as_any().downcast_ref::<T>()?;
            Some((entry.name, tool))
        });
        let Some((name, tool)) = found else {
            return Err(self.unknown(type_name::<T>()).into());
        };
        without_panic(name, || Ok(tool.run(args, turn)?))
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known: Vec<_> = self.tools.iter().map(|entry| entry.name).collect();
        ToolError::new(
            ErrorCode::UnknownTool,
            format!("unknown tool `{}`, expected one of {}", shown(name), known.join(", ")),
        )
    }
}

/// Turns a panic of the tool `name` into an error.
fn without_panic<R>(
    name: &str,
    call: impl FnOnce() -> Result<R, FunctionCallError>,
) -> Result<R, FunctionCallError> {
    let outcome = catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(FunctionCallError::Fatal(format!("{name} panicked"))));
    outcome.map_err(|error| match error {
        FunctionCallError::RespondToModel(error) => error.shortened().into(),
        fatal @ FunctionCallError::Fatal(_) => fatal,
    })
}

/// A name from a model, shortened and on one line.
fn shown(name: &str) -> String {
    let name = crate::text::escape::text(name);
    crate::text::truncate::at_most(&name, 100).to_owned()
}
