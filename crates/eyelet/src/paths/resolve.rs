//! Resolves the path argument of a tool to a confined path.

use std::path::PathBuf;
use std::sync::Arc;

use crate::context::{PathScope, TurnContext};
use crate::error::{ErrorCode, Hint, ToolError};
use crate::paths::confined_path::{ConfinedPath, Location, RefusalErrors};
use crate::paths::open_beneath::PathBeneath;
use crate::paths::root::Root;
use crate::sandbox_policy::SandboxPolicy;
use crate::text::escape;

impl TurnContext {
    /// Resolves `text` to a path that this call may open. Relative paths start at the working
    /// directory.
    ///
    /// `argument` is the name of the argument, for error messages. If the call is confined to
    /// roots, the path must be in a root, in the saved output or in the session's private temp
    /// directory.
    ///
    /// # Errors
    /// `invalid_input` if the path contains a NUL, `outside_root` if it is outside the roots.
    pub fn resolve_path(&self, argument: &str, text: &str) -> Result<ConfinedPath, ToolError> {
        self.resolve(argument, text, Hint::LiftRoots)
    }

    /// Resolves `cwd`, the working directory of a command. `PathScope::Everything` does not lift the roots
    /// here.
    pub(crate) fn resolve_for_command(&self, cwd: &str) -> Result<ConfinedPath, ToolError> {
        let path_scope = if self.roots.is_empty() { self.path_scope } else { PathScope::Roots };
        let turn = self.clone().with_path_scope(path_scope);
        turn.resolve("cwd", cwd, Hint::AddRoot)
    }

    fn resolve(&self, argument: &str, text: &str, hint: Hint) -> Result<ConfinedPath, ToolError> {
        if text.contains('\0') {
            return Err(ToolError::invalid_input(format!(
                "{argument} must not contain a NUL character"
            )));
        }
        let subject = format!("{argument} `{}`", escape::text(text));
        self.resolve_absolute(&subject, self.absolute(text), hint).map_err(Arc::unwrap_or_clone)
    }

    /// Resolves an absolute path; `None` if it is outside the roots.
    pub(crate) fn confine(&self, shown: PathBuf) -> Option<ConfinedPath> {
        self.resolve_absolute("path", shown, Hint::AddRoot).ok()
    }

    fn resolve_absolute(
        &self,
        subject: &str,
        shown: PathBuf,
        hint: Hint,
    ) -> Result<ConfinedPath, Arc<ToolError>> {
        let outside = Arc::new(self.outside(subject, hint));
        let denied =
            format!("{subject} is denied: it may contain secrets or matches a deny glob").into();
        let removed =
            self.output_store.as_ref().and_then(|output_store| output_store.removed(&shown));
        let removed = removed.map(|what| format!("{subject} {what}").into());
        let errors = RefusalErrors { outside: Arc::clone(&outside), denied, removed };
        let mut allowed = Vec::new();
        match self.path_scope {
            PathScope::Everything if self.deny_list.is_empty() => {
                return Ok(ConfinedPath { shown, location: Location::Anywhere, errors });
            }
            // Every path is beneath `/`, and the walk from there checks the deny list. The roots come first,
            // because they may be in a directory that is denied.
            PathScope::Everything => {
                allowed.extend(self.roots.iter().cloned());
                allowed.extend(Root::open("/").ok().map(Arc::new));
            }
            PathScope::Roots => {
                allowed.extend(self.roots.iter().cloned());
                allowed.extend(
                    self.output_store.as_ref().and_then(|output_store| output_store.root()),
                );
                allowed.extend(self.private_temp());
            }
        }
        let beneath = PathBeneath::find(allowed.into(), &shown, &self.deny_list).ok_or(outside)?;
        Ok(ConfinedPath { shown, location: Location::BeneathRoot(beneath), errors })
    }

    /// The private temp directory of sandboxed commands, if it was created.
    fn private_temp(&self) -> Option<Arc<Root>> {
        if matches!(self.sandbox, SandboxPolicy::Full | SandboxPolicy::Off) {
            return None;
        }
        self.settings.as_ref()?.private_temp_root()
    }

    /// The error for a path outside the roots.
    fn outside(&self, subject: &str, hint: Hint) -> ToolError {
        let roots: Vec<_> =
            self.roots.iter().map(|root| escape::name(root.path().as_os_str())).collect();
        let message = match roots.is_empty() {
            true => {
                let reason = self.no_roots_reason.as_deref().unwrap_or("no roots are configured");
                format!("{subject} is not accessible: {reason}")
            }
            false => format!("{subject} is outside the roots ({})", roots.join(", ")),
        };
        ToolError::new(ErrorCode::OutsideRoot, message).with_hint(hint)
    }
}
