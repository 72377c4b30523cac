//! The sandbox and the supervisor, through the real binary and through the library.

// Makes the lints treat the helpers here as test code.
#![cfg(test)]

#[cfg(target_os = "linux")]
mod containers;
mod developer_tools;
mod files;
#[cfg(target_os = "linux")]
mod git;
#[cfg(target_os = "linux")]
mod load;
#[cfg(target_os = "linux")]
mod network;
mod processes;
#[cfg(target_os = "linux")]
mod removed_directories;
#[cfg(target_os = "linux")]
mod restore;
#[cfg(target_os = "linux")]
mod supervision;
