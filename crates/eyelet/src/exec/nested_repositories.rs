//! Finds git repositories below the roots.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use eyelet_sandbox::{MAX_LOOKED_AT, MAX_REPOSITORIES};

/// The repositories found by the first command. Repositories created later are not protected.
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
    /// Every `.git` below `roots`, except in a root itself, within the limits of the scan.
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
    // Breadth first, with a limit: scanning all of a large tree would delay the first command.
    let mut left = MAX_LOOKED_AT;
    while let Some(folder) = folders.pop_front() {
        // If eyelet cannot read it, the command cannot change it either.
        for entry in fs::read_dir(&folder).into_iter().flatten().filter_map(Result::ok) {
            if left == 0 || repositories.len() >= MAX_REPOSITORIES {
                return repositories;
            }
            left -= 1;
            if entry.file_name() == ".git" {
                // The supervisor looks for the repository of a root with every command.
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
