//! Naive versions of the tools without limits on memory. eyelet must return the same results.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The reply of `list_dir`, or the error message. Collects the whole tree first.
pub fn naive_list(directory: &Path, offset: usize, limit: usize, depth: usize) -> String {
    let mut found: Vec<Vec<OsString>> = Vec::new();
    let mut level: Vec<Vec<OsString>> = vec![Vec::new()];
    for _ in 0..depth {
        let mut next = Vec::new();
        for parent in level {
            let path = directory.join(parent.iter().collect::<std::path::PathBuf>());
            let mut names: Vec<OsString> = match fs::read_dir(&path) {
                Ok(entries) => entries.map(|entry| entry.expect("stable").file_name()).collect(),
                Err(_) => continue,
            };
            names.sort_by_key(|name| (shown(name), name.clone()));
            for name in names {
                let is_dir = fs::symlink_metadata(path.join(&name)).is_ok_and(|data| data.is_dir());
                let mut entry = parent.clone();
                entry.push(name);
                if is_dir {
                    next.push(entry.clone());
                }
                found.push(entry);
            }
        }
        level = next;
    }
    let header = format!("Absolute path: {}", directory.display());
    if found.is_empty() {
        return header;
    }
    if offset > found.len() {
        return "offset exceeds directory entry count".to_owned();
    }
    let mut page: Vec<_> = found.iter().skip(offset - 1).take(limit).collect();
    page.sort_by_key(|entry| {
        entry.iter().map(|name| (shown(name), name.clone())).collect::<Vec<_>>()
    });
    let mut lines = vec![header];
    for entry in &page {
        let path = directory.join(entry.iter().collect::<std::path::PathBuf>());
        let kind = fs::symlink_metadata(path).expect("stable").file_type();
        let suffix = if kind.is_dir() {
            "/"
        } else if kind.is_symlink() {
            "@"
        } else if kind.is_file() {
            ""
        } else {
            "?"
        };
        let mut name = shown(entry.last().expect("not the top"));
        while name.len() > 500 {
            name.pop();
        }
        lines.push(format!("{}{name}{suffix}", "  ".repeat(entry.len() - 1)));
    }
    if offset - 1 + page.len() < found.len() {
        lines.push(format!("More than {} entries found", page.len()));
    }
    lines.join("\n")
}

fn shown(name: &OsString) -> String {
    let mut shown = String::new();
    for character in String::from_utf8_lossy(name.as_bytes()).chars() {
        let code = u32::from(character);
        match character {
            '\n' => shown += "\\n",
            '\t' => shown += "\\t",
            '\r' => shown += "\\r",
            _ if code < 0x20
                || (0x7f..0xa0).contains(&code)
                || [0x2028, 0x2029].contains(&code)
                || (0x202a..=0x202e).contains(&code)
                || (0x2066..=0x2069).contains(&code) =>
            {
                shown += &format!("\\u{{{code:x}}}");
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// The result of `read`.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "SPEC.md explains the fields")]
pub struct NaivePage {
    pub content: String,
    pub lines_shown: u64,
    pub total_lines: u64,
    pub truncated: bool,
}

/// A page of a file that is completely in memory.
pub fn naive_read(file: &[u8], offset: usize, limit: usize, column: usize) -> NaivePage {
    let lines: Vec<&[u8]> = file.split_inclusive(|byte| *byte == b'\n').collect();
    let page: Vec<&[u8]> = lines.iter().copied().skip(offset - 1).take(limit).collect();
    let mut content = String::new();
    for line in &page {
        let body = line.strip_suffix(b"\n").unwrap_or(line);
        let ended = body.len() < line.len();
        let body = if ended { body.strip_suffix(b"\r").unwrap_or(body) } else { body };
        content.extend(String::from_utf8_lossy(body).chars().skip(column - 1).take(500));
        content += std::str::from_utf8(&line[body.len()..]).expect("line endings are ASCII");
    }
    NaivePage {
        content,
        lines_shown: page.len() as u64,
        total_lines: lines.len() as u64,
        truncated: !page.is_empty() && offset - 1 + page.len() < lines.len(),
    }
}
