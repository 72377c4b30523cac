//! The roots of a session: the operator's roots, else the client's, else the default root.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eyelet::{Root, TurnContext, escape_name};

use crate::options::{Options, WorkingDirectory};

/// How many of the client's roots an error names.
const MAX_NAMED: usize = 3;

/// Whether the roots of a session depend on those that the client sends.
pub(crate) fn depend_on_client(options: &Options) -> bool {
    options.roots.is_empty()
}

/// The context for calls of a session: `turn`, confined to its roots. `uris` are the client's roots, if it
/// sent any.
pub(crate) fn turn_context(
    options: &Options,
    turn: &TurnContext,
    uris: Option<&[String]>,
) -> TurnContext {
    let named: Vec<_> =
        uris.unwrap_or_default().iter().filter_map(|uri| path_from_uri(uri)).collect();
    let roots = if !depend_on_client(options) {
        Ok(options.roots.clone())
    } else if named.is_empty() {
        default_root(options, turn)
    } else {
        client_roots(&named)
    };
    let confined = roots.and_then(|roots| {
        let folders: Vec<_> = roots.iter().map(|root| root.path()).collect();
        Ok(in_roots(options, denying(options, turn, &folders)?, roots))
    });
    let confined = confined.unwrap_or_else(|reason| {
        let turn = denying(options, turn, &[turn.cwd()]).unwrap_or_else(|_| turn.clone());
        turn.without_roots(reason)
    });
    confined.with_path_scope(options.path_scope)
}

/// The error is the reason why there are no roots.
fn default_root(options: &Options, turn: &TurnContext) -> Result<Vec<Arc<Root>>, String> {
    let root = options.default_root.as_ref().ok_or_else(|| {
        format!(
            "the server was started in `{}` without --root, and the client sent no roots",
            escape_name(turn.cwd().as_os_str())
        )
    })?;
    Ok(vec![Arc::clone(root)])
}

/// The error is the reason why there are no roots.
fn client_roots(named: &[PathBuf]) -> Result<Vec<Arc<Root>>, String> {
    let mut roots = Vec::new();
    let mut failures = Vec::new();
    for path in named {
        match Root::open(path) {
            Ok(root) => roots.push(Arc::new(root)),
            Err(error) => failures.push(format!("`{}`: {error}", escape_name(path.as_os_str()))),
        }
    }
    if roots.is_empty() {
        failures.truncate(MAX_NAMED);
        return Err(format!(
            "the server was started without --root, and the client's roots cannot be opened ({})",
            failures.join("; ")
        ));
    }
    Ok(roots)
}

/// Adds the relative deny globs to the deny list. The error is the reason why a glob is invalid there.
fn denying(
    options: &Options,
    turn: &TurnContext,
    folders: &[&Path],
) -> Result<TurnContext, String> {
    let list = options.turn.deny_list().clone();
    let list = options
        .relative_deny_globs
        .iter()
        .try_fold(list, |list, glob| list.with_glob(glob, folders));
    Ok(turn.clone().with_deny_list(list.map_err(|error| error.message)?))
}

/// Confines the context to the roots. Moves an inherited working directory into them.
fn in_roots(options: &Options, turn: TurnContext, roots: Vec<Arc<Root>>) -> TurnContext {
    let elsewhere = roots.first().filter(|_| {
        options.working_directory == WorkingDirectory::Inherited
            && !roots.iter().any(|root| contains(root, turn.cwd()))
    });
    let turn = match elsewhere.map(|root| turn.clone().with_cwd(root.path())) {
        Some(Ok(moved)) => moved,
        Some(Err(_)) | None => turn,
    };
    turn.confined_to(roots)
}

fn contains(root: &Root, path: &Path) -> bool {
    path.starts_with(root.path()) || path.starts_with(root.real_path())
}

/// The percent-decoded path of a `file://` URL on this machine.
fn path_from_uri(uri: &str) -> Option<PathBuf> {
    let scheme = uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://"))?;
    let rest = uri.strip_prefix(scheme)?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') || rest.contains(['?', '#']) {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        if byte == b'%' {
            let digit = |byte: u8| char::from(byte).to_digit(16);
            let (high, low) = (digit(left.next()?)?, digit(left.next()?)?);
            bytes.push(u8::try_from(high * 16 + low).ok().filter(|byte| *byte != 0)?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
#[path = "roots_tests.rs"]
mod tests;
