//! An asynchronous host: each call runs on a blocking thread, with a deadline. If the host stops waiting
//! for a call, the call is cancelled and its command is killed.

#![allow(clippy::print_stdout, clippy::disallowed_methods, reason = "a program, not a library")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use eyelet::{
    CancelFlag, FunctionCallError, SandboxPolicy, ToolInvocation, ToolRouter, TurnContext,
};
use serde_json::json;

/// Runs one call. Dropping the future cancels it.
async fn call(
    router: &Arc<ToolRouter>,
    turn: &TurnContext,
    tool: &'static str,
    arguments: String,
) -> Result<String, FunctionCallError> {
    let cancel = CancelFlag::default();
    let turn = turn
        .clone()
        .with_cancel(cancel.clone())
        .with_deadline(Instant::now() + Duration::from_secs(60));
    let router = Arc::clone(router);
    let _guard = cancel.cancel_on_drop();
    let work = move || {
        let output = router.call(&ToolInvocation::new(tool, arguments, &turn))?;
        output.reply()
    };
    let ended = tokio::task::spawn_blocking(work).await;
    ended.unwrap_or_else(|error| Err(FunctionCallError::Fatal(error.to_string())))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let router = Arc::new(ToolRouter::new());
    // The policy `full` runs commands without a sandbox; see the example `sandboxed_commands`.
    let turn = TurnContext::new(std::env::temp_dir(), SandboxPolicy::Full)?;
    runtime.block_on(async {
        let hello = r#"{"command":"echo hello"}"#.to_owned();
        println!("{}", call(&router, &turn, "bash", hello).await?);

        let mark = std::env::temp_dir().join(format!("eyelet-tokio-host-{}", std::process::id()));
        let command = format!("sleep 2; touch '{}'", mark.display());
        let slow = json!({"command": command}).to_string();
        let waited = Duration::from_millis(200);
        if tokio::time::timeout(waited, call(&router, &turn, "bash", slow)).await.is_err() {
            println!("stopped waiting after {} ms", waited.as_millis());
        }
        tokio::time::sleep(Duration::from_secs(3)).await;
        println!("the command was killed: {}", !mark.exists());
        Ok(())
    })
}
