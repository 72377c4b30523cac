//! A peer of `list_dir` that uses only the standard library: it walks the whole tree breadth first,
//! sorts each directory, then takes the page.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs::{self, FileType};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::Result;
use crate::options::io_error;

/// A page of a directory.
pub(crate) struct Page {
    pub(crate) directory: PathBuf,
    pub(crate) depth: usize,
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

struct Found {
    /// Relative to the listed directory.
    path: PathBuf,
    kind: FileType,
}

/// Prints the page in the format of `list_dir`.
pub(crate) fn print(page: &Page) -> Result<()> {
    let all = collect(&page.directory, page.depth)?;
    let start = page.offset.saturating_sub(1).min(all.len());
    let end = start.saturating_add(page.limit).min(all.len());
    let mut shown: Vec<&Found> = all[start..end].iter().collect();
    shown.sort_by(|one, other| one.path.cmp(&other.path));

    let mut text = format!("Absolute path: {}\n", page.directory.display());
    for found in shown {
        let indentation = 2 * (found.path.components().count() - 1);
        let name = found.path.file_name().unwrap_or_default().to_string_lossy();
        let _ = writeln!(text, "{:indentation$}{name}{}", "", suffix(found.kind));
    }
    if end < all.len() {
        let _ = writeln!(text, "More than {} entries found", end - start);
    }
    std::io::stdout().write_all(text.as_bytes()).map_err(io_error)
}

fn suffix(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "/"
    } else if kind.is_symlink() {
        "@"
    } else if kind.is_file() {
        ""
    } else {
        "?"
    }
}

fn collect(top: &Path, depth: usize) -> Result<Vec<Found>> {
    let mut all = Vec::new();
    let mut queue = VecDeque::from([(PathBuf::new(), depth)]);
    while let Some((directory, levels)) = queue.pop_front() {
        let mut entries = fs::read_dir(top.join(&directory))
            .map_err(io_error)?
            .collect::<std::io::Result<Vec<_>>>()
            .map_err(io_error)?;
        entries.sort_by_cached_key(|entry| entry.file_name());
        for entry in entries {
            let path = directory.join(entry.file_name());
            let kind = entry.file_type().map_err(io_error)?;
            if kind.is_dir() && levels > 1 {
                queue.push_back((path.clone(), levels - 1));
            }
            all.push(Found { path, kind });
        }
    }
    Ok(all)
}
