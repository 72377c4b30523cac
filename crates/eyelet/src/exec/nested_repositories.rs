//! Repositories that lie below the roots.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use eyelet_sandbox::{MAX_LOOKED_AT, MAX_REPOSITORIES};

/// What was found below the roots when they were first asked for. What a command makes later is its
/// own.
#[derive(Debug, Default)]
pub(crate) struct NestedRepositories {
    found: Mutex<Option<FoundRepositories>>,
}

#[derive(Debug)]
struct FoundRepositories {
    roots: Vec<PathBuf>,
    repositories: Vec<PathBuf>,
}

impl NestedRepositories {
    /// Every `.git` below the top of `roots`, as far as they are looked through.
    pub(crate) fn below(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = found.as_ref().filter(|found| found.roots == roots) {
            return found.repositories.clone();
        }
        let repositories = find(&roots);
        *found = Some(FoundRepositories { roots, repositories: repositories.clone() });
        repositories
    }
}

fn find(roots: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders: VecDeque<PathBuf> = roots.iter().cloned().collect();
    let mut repositories = Vec::new();
    // Those near the roots first: for all of a large tree a first command would have to wait.
    let mut left = MAX_LOOKED_AT;
    while let Some(folder) = folders.pop_front() {
        // What cannot be read here cannot be changed by the command either.
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            if left == 0 || repositories.len() >= MAX_REPOSITORIES {
                return repositories;
            }
            left -= 1;
            if entry.file_name() == ".git" {
                // That of a root itself is looked for anew with every command.
                if !roots.contains(&folder) {
                    repositories.push(entry.path());
                }
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push_back(entry.path());
            }
        }
    }
    repositories
}
