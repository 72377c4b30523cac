//! Calls a tool from a Rust program: with typed arguments, and by name with JSON arguments.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program, not a library")]

use eyelet::tools::{Read, ReadArgs, ReadReport};
use eyelet::{
    AttachmentMode, Envelope, SandboxPolicy, Tool as _, ToolInvocation, ToolRouter, TurnContext,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turn = TurnContext::new(std::env::current_dir()?, SandboxPolicy::Off)?;

    let report = Read.run(ReadArgs { limit: Some(3), ..ReadArgs::new("Cargo.toml") }, &turn)?;
    if let ReadReport::Text(page) = report {
        println!("{}", page.content);
    }

    let call = ToolInvocation::new("read", r#"{"path":"Cargo.toml","limit":3}"#, &turn);
    let outcome = ToolRouter::new().call(&call);
    println!("{}", Envelope::new(&outcome, AttachmentMode::Omit).to_json());
    Ok(())
}
