//! The library's integration tests, one binary.

mod grep_differential;
