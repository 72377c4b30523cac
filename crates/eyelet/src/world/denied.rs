//! What globs deny to commands: the paths in the roots that they match now.

use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Each is a mount of its own for every command.
const MAX_MATCHES: usize = 1000;
/// A larger tree takes too long to look through.
const MAX_ENTRIES: usize = 1_000_000;

/// The paths below `roots` that `globs` match. Links are not followed: what they lead to is found
/// where it is.
pub(super) fn paths<'r>(
    globs: &[String],
    roots: impl Iterator<Item = &'r Path>,
) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut seen = 0;
    for root in roots {
        let globs = below(globs, root)?;
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            // What cannot be read here cannot be read by the command either.
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.filter_map(Result::ok) {
                seen += 1;
                let path = entry.path();
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if globs.is_match(&path) {
                    found.push(path);
                } else if is_folder {
                    folders.push(path);
                }
            }
            if seen > MAX_ENTRIES || found.len() > MAX_MATCHES {
                return Err(format!(
                    "--deny matches more than {MAX_MATCHES} paths, or the roots hold more than \
                     {MAX_ENTRIES} files"
                ));
            }
        }
    }
    Ok(found)
}

fn below(globs: &[String], root: &Path) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let absolute = if glob.starts_with('/') {
            glob.clone()
        } else {
            format!("{}/{glob}", globset::escape(&root.to_string_lossy()))
        };
        let glob = GlobBuilder::new(&absolute)
            .case_insensitive(true)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("--deny: {error}"))?;
        set.add(glob);
    }
    set.build().map_err(|error| format!("--deny: {error}"))
}
