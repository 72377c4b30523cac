use eyelet::{SandboxPolicy, ToolInvocation, ToolRouter, TurnContext};

use super::*;

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(test);
}

/// Jobs of which one runs.
fn running() -> (Arc<Jobs>, TurnContext) {
    let jobs = Arc::new(Jobs::new());
    let environment = [("PATH", "/usr/bin:/bin")].into_iter().collect();
    let turn = TurnContext::new("/", SandboxPolicy::Full).unwrap().with_environment(environment);
    let turn = turn.with_jobs(Arc::clone(&jobs));
    let arguments = r#"{"command":"exec sleep 1000","on_timeout":"background","timeout_secs":1}"#;
    ToolRouter::new().call(&ToolInvocation::new("bash", arguments, &turn)).unwrap();
    assert_eq!(jobs.running(), 1);
    (jobs, turn)
}

fn stop(jobs: &Jobs) {
    jobs.stop_all();
    while jobs.running() > 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_stream_of_notifications_has_no_answers() {
    run(async {
        let event =
            |message: &str| ServerSseMessage::from_message(serde_json::from_str(message).unwrap());
        let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
        let events = [
            ServerSseMessage::retry(Duration::from_secs(3)),
            event(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            event(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"failed"}}"#),
            event(changed),
        ];
        let left: Vec<_> = without_answers(tokio_stream::iter(events)).collect().await;
        assert!(left[0].message.is_none());
        let left: Vec<_> = left.iter().filter_map(|event| event.message.as_deref()).collect();
        assert_eq!(serde_json::to_value(&left).unwrap().to_string(), format!("[{changed}]"));
    });
}

#[test]
fn a_session_without_requests_and_jobs_ends_after_a_day() {
    run(async {
        let sessions = HttpSessions::new();
        let (id, _transport) = sessions.create_session().await.unwrap();
        let (waiting, _transport) = sessions.create_session().await.unwrap();
        let now = Instant::now();
        sessions.end_idle(now).await;
        let mut headers = HeaderMap::new();
        headers.insert(HEADER_SESSION_ID, waiting.parse().unwrap());
        let request = sessions.record_use(&headers).await.unwrap();
        let almost = now + MAX_IDLE - Duration::from_secs(1);
        sessions.end_idle(almost).await;
        assert_eq!(sessions.existing().await.len(), 2);
        let later = Instant::now() + MAX_IDLE;
        sessions.end_idle(later).await;
        assert!(!sessions.has_session(&id).await.unwrap());
        assert!(sessions.has_session(&waiting).await.unwrap());
        // It is idle since the end of its request.
        drop(request);
        sessions.end_idle(later + MAX_IDLE / 2).await;
        assert!(sessions.has_session(&waiting).await.unwrap());
        sessions.end_idle(later + MAX_IDLE).await;
        assert!(!sessions.has_session(&waiting).await.unwrap());
        sessions.end_idle(later + MAX_IDLE).await;
        assert!(sessions.uses().is_empty());
    });
}

#[test]
fn a_session_with_a_running_job_does_not_expire() {
    run(async {
        let sessions = HttpSessions::new();
        let (id, _transport) = sessions.create_session().await.unwrap();
        let (jobs, _turn) = running();
        let later = Instant::now() + 3 * MAX_IDLE;
        sessions.uses().entry(id.clone()).or_insert_with(LastUse::new).jobs.set(&jobs);
        sessions.end_idle(later).await;
        assert!(sessions.has_session(&id).await.unwrap());
        // It is idle since the end of its job.
        stop(&jobs);
        sessions.end_idle(later + MAX_IDLE / 2).await;
        assert!(sessions.has_session(&id).await.unwrap());
        sessions.end_idle(later + MAX_IDLE).await;
        assert!(!sessions.has_session(&id).await.unwrap());
    });
}
