//! Runs commands in the sandbox: they can write to the root only, and have no network.
//!
//! The sandbox starts this program again as the supervisor of each command, so `main` begins with
//! `run_if_supervisor`.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program, not a library")]

use std::sync::Arc;

use eyelet::tools::{Bash, BashArgs};
use eyelet::{
    DenyList, Environment, OutputStore, PrivateTemp, Root, SandboxPolicy, SandboxSettings,
    Supervisor, Tool as _, ToolOutput, TurnContext, run_if_supervisor,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run_if_supervisor();

    let (directory, temp) = (std::env::current_dir()?, std::env::temp_dir());
    // One of each per session: later commands find what earlier ones left in the temp directory.
    let settings = SandboxSettings::new(Supervisor::this_program())
        .with_private_temp(Arc::new(PrivateTemp::session(&temp)));
    let environment: Environment = ["PATH", "HOME", "LANG"]
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .collect();
    // Some variables move secrets, so the list needs all of them.
    let deny_list =
        DenyList::empty().with_secrets(std::env::home_dir(), &std::env::vars_os().collect());
    let turn = TurnContext::new(&directory, SandboxPolicy::WorkspaceWrite)?
        .with_root(Root::open(&directory)?)
        .with_sandbox_settings(Arc::new(settings))
        .with_output_store(Arc::new(OutputStore::session(&temp)))
        .with_environment(environment)
        .with_deny_list(deny_list);

    for command in ["echo text > file && cat file", "echo text > /etc/eyelet-example"] {
        match Bash.run(BashArgs::new(command), &turn) {
            Ok(report) => println!("{}", ToolOutput::new(report).reply()?),
            // For example, the machine cannot enforce the policy.
            Err(error) => println!("error: {error}"),
        }
    }
    Ok(())
}
