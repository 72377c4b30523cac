//! The library through its public door: one test per rule of SPEC.md.

mod arguments;
mod ask;
mod grep_differential;
mod list_dir;
mod models;
mod paths;
mod properties;
mod read;
mod router;
mod schemas;
