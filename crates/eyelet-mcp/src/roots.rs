//! The roots of a session: the server's roots, narrowed by the client's roots.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eyelet::{Root, TurnContext};

use crate::options::{Options, WorkingDirectory};

/// The context for calls of a session. `uris` are the client's roots, if it sent any.
pub(crate) fn turn_context(options: &Options, uris: Option<&[String]>) -> TurnContext {
    let named: Vec<_> =
        uris.unwrap_or_default().iter().filter_map(|uri| path_from_uri(uri)).collect();
    let roots = if named.is_empty() {
        options.roots.clone()
    } else {
        let opened = named.iter().filter_map(|path| Root::open(path).ok()).map(Arc::new);
        intersect(&options.roots, opened.collect())
    };
    let cwd = options.turn.cwd();
    let elsewhere = roots.first().filter(|_| {
        options.working_directory == WorkingDirectory::Inherited
            && !roots.iter().any(|root| contains(root, cwd))
    });
    let turn = options.turn.clone();
    let turn = match elsewhere.map(|root| turn.clone().with_cwd(root.path())) {
        Some(Ok(moved)) => moved,
        Some(Err(_)) | None => turn,
    };
    turn.confined_to(roots).with_path_scope(options.path_scope)
}

/// The intersection of both. If the server has no roots, the client's roots apply unchanged.
fn intersect(configured: &[Arc<Root>], named: Vec<Arc<Root>>) -> Vec<Arc<Root>> {
    if configured.is_empty() {
        return named;
    }
    let mut both = Vec::new();
    for root in &named {
        for limit in configured {
            if root.real_path().starts_with(limit.real_path()) {
                both.push(Arc::clone(root));
                break;
            }
            if limit.real_path().starts_with(root.real_path()) {
                both.push(Arc::clone(limit));
            }
        }
    }
    both
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
