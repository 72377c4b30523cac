//! Calls a tool from a Rust program and prints the result in both dialects.

#![allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    reason = "a program, not a library"
)]

use eyelet::{AttachmentMode, Envelope, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turn = TurnContext::new(std::env::current_dir()?, SandboxPolicy::Off)?;
    let call = ToolInvocation::new("read", r#"{"path":"Cargo.toml","limit":3}"#, &turn);
    let outcome = ToolRouter::new().call(&call);
    if let Ok(output) = &outcome {
        println!("{}", output.function()?.content);
    }
    println!("{}", Envelope::new(&outcome, AttachmentMode::Omit).to_json());
    Ok(())
}
