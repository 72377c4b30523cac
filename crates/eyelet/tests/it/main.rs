//! What the tools promise, one test per rule.

mod bash;
mod bash_arguments;
mod bash_processes;
mod bash_spill;
