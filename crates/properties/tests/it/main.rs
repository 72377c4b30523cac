//! Runs each target for about a second. `fuzz/` runs them for longer.

#![allow(missing_docs, reason = "tests")]

mod targets;
