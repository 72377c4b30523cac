//! The command `eyelet`.
fn main() {}
