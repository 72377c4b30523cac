//! The sandbox and the supervisor, through the real binary and through the library.

// Makes the lints treat the helpers here as test code.
#![cfg(test)]

#[cfg(target_os = "linux")]
mod allowed_hosts;
#[cfg(target_os = "linux")]
mod blocked;
#[cfg(target_os = "linux")]
mod broken_places;
#[cfg(target_os = "linux")]
mod closed_directories;
#[cfg(target_os = "linux")]
mod closed_store;
#[cfg(target_os = "linux")]
mod containers;
#[cfg(target_os = "linux")]
mod crashes;
#[cfg(target_os = "linux")]
mod denied_files;
mod developer_tools;
#[cfg(target_os = "linux")]
mod everyday_work;
#[cfg(target_os = "linux")]
mod file_attributes;
mod files;
#[cfg(target_os = "linux")]
mod full_disk;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod linked_worktrees;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod nested_roots;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod package_caches;
#[cfg(target_os = "linux")]
mod package_managers;
#[cfg(target_os = "linux")]
mod planted_settings;
mod processes;
#[cfg(target_os = "linux")]
mod removed_directories;
#[cfg(target_os = "linux")]
mod restore;
#[cfg(target_os = "linux")]
mod secrets;
#[cfg(target_os = "linux")]
mod session_network;
#[cfg(target_os = "linux")]
mod shared_objects;
#[cfg(target_os = "linux")]
mod supervision;
#[cfg(target_os = "linux")]
mod users_edits;
#[cfg(target_os = "linux")]
mod while_commands_run;
#[cfg(target_os = "linux")]
mod writable;
