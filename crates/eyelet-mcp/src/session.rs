//! One client's session: the requests that `rmcp` dispatches, the client's roots and its reply limit.

#![expect(deprecated, reason = "rmcp deprecates roots, but clients still send them")]

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use eyelet::{
    DefinitionFormat, ReplyBudget, ToolInvocation, TurnContext, escape_name, render_definitions,
};
use hyper::http::request::Parts;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CompleteRequestMethod,
    CompleteRequestParams, CompleteResult, ConstString as _, CustomRequest, CustomResult,
    ErrorCode, Extensions, Implementation, InputRequest, InputRequiredResult,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListRootsRequest,
    ListRootsResult, ListToolsResult, MetaObject, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::call_log::CallLog;
use crate::call_task::{self, Call};
use crate::client_limits::{self, CLAUDE_CODE_BYTES};
use crate::fair_queue::{NO_SESSION, SessionNumber};
use crate::http_sessions::SessionJobs;
use crate::log;
use crate::message::RawArguments;
use crate::options::ReplyForm;
use crate::roots;
use crate::server::Server;

/// How long a client may take to list its roots; after that, the default root applies.
const ROOTS_TIMEOUT: Duration = Duration::from_secs(2);

/// The key of the roots among the input requests of the newest protocol.
const ROOTS_KEY: &str = "roots";

/// How long clients may cache the list of tools: until the server restarts with other flags, it is the same.
const TOOLS_TTL_MS: u64 = 60 * 60 * 1000;

/// The key of the caller's trace in `_meta` (W3C Trace Context).
const TRACE_KEY: &str = "traceparent";
/// How much of a client's name and version is logged.
const MAX_LOGGED_CHARS: usize = 100;

/// One client's session. Clones share it.
#[derive(Clone)]
pub(crate) struct Session {
    server: Arc<Server>,
    number: Arc<OnceLock<SessionNumber>>,
    own: Arc<OnceLock<OwnContext>>,
    /// The context for calls, once the client's roots are known.
    turn: Arc<Mutex<Option<TurnContext>>>,
}

/// A context with directories and jobs that end with the session.
struct OwnContext(TurnContext);

impl Drop for OwnContext {
    fn drop(&mut self) {
        self.0.end_session();
    }
}

impl Session {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Session { server, number: Arc::default(), own: Arc::default(), turn: Arc::default() }
    }

    /// The context without roots. Requests over HTTP that belong to no session share the server's.
    fn unconfined(&self, extensions: &Extensions) -> &TurnContext {
        let server = &self.server.options.turn;
        let of_session = extensions.get::<SessionJobs>();
        if is_alone(extensions) {
            return server;
        }
        let create = || {
            let jobs = Arc::new(self.server.jobs.for_another_session());
            of_session.into_iter().for_each(|of_session| of_session.set(&jobs));
            OwnContext(self.server.session_context(jobs))
        };
        &self.own.get_or_init(create).0
    }

    /// The number of the session to which a message belongs. The first message logs the session.
    fn number(
        &self,
        extensions: &Extensions,
        client: Option<Implementation>,
        protocol: Option<ProtocolVersion>,
    ) -> SessionNumber {
        if is_alone(extensions) {
            return NO_SESSION;
        }
        *self.number.get_or_init(|| {
            let number = self.server.next_session();
            let client = client.map(|client| format!("{} {}", client.name, client.version));
            let client: Option<String> =
                client.map(|client| client.chars().take(MAX_LOGGED_CHARS).collect());
            let protocol = protocol.as_ref().map_or("", ProtocolVersion::as_str);
            log::session(number, &client.unwrap_or_default(), protocol);
            number
        })
    }

    /// The context for a call, or `None` if the client must send its roots first.
    async fn context(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<TurnContext> {
        let mut turn = self.turn.lock().await;
        if turn.is_some() {
            return turn.clone();
        }
        let has_roots = context.client_capabilities().is_some_and(|can| can.roots.is_some());
        let uris = match &request.input_responses {
            _ if !has_roots || !roots::depend_on_client(&self.server.options) => None,
            Some(answers) => answers.get(ROOTS_KEY).and_then(|answer| {
                serde_json::from_value::<ListRootsResult>(answer.clone()).ok().map(uris)
            }),
            None if lacks_server_requests(context) => return None,
            None => request_roots(&context.peer).await,
        };
        let unconfined = self.unconfined(&context.extensions);
        *turn = Some(roots::turn_context(&self.server.options, unconfined, uris.as_deref()));
        turn.clone()
    }

    fn budget(&self, context: &RequestContext<RoleServer>) -> ReplyBudget {
        let configured = self.server.options.reply_bytes.map(ReplyBudget::new);
        configured.unwrap_or_else(|| client_limits::budget(context))
    }

    /// The tool definitions. They depend only on the server's options.
    fn tools(&self) -> Vec<Tool> {
        let definitions = render_definitions(&self.server.tools, DefinitionFormat::Mcp);
        let mut tools: Vec<Tool> = serde_json::from_value(definitions).unwrap_or_default();
        // For every client: the definitions may be cached and shared.
        let raised = self.server.options.reply_bytes.filter(|bytes| *bytes > CLAUDE_CODE_BYTES);
        for tool in &mut tools {
            if let Some(bytes) = raised {
                let mut meta = MetaObject::new();
                meta.insert("anthropic/maxResultSizeChars".to_owned(), json!(bytes));
                tool.meta = Some(meta);
            }
            if self.server.options.reply == ReplyForm::Structured {
                tool.output_schema = serde_json::from_value(output_schema()).ok().map(Arc::new);
            }
        }
        tools
    }

    fn instructions(&self) -> String {
        let options = &self.server.options;
        let turn = roots::turn_context(options, &options.turn, None);
        let mut text = String::from(
            "Tools to list, search and read files and to run commands. Every reply has a size limit. Truncated replies say so and \
             give the offset, column or file to continue from.",
        );
        if self.server.tools.iter().any(|tool| tool.name == "bash") {
            text.push_str(&format!("\n{}", turn.commands_in_words()));
        }
        if !roots::depend_on_client(options) {
            let cwd = escape_name(turn.cwd().as_os_str());
            text.push_str(&format!("\nWorking directory: {cwd}"));
        } else if turn.roots().next().is_none() {
            text.push_str(
                "\nNo roots are configured. No files are accessible unless the client sends roots or the \
                 server restarts with --root DIR.",
            );
        }
        text
    }
}

/// Whether a request over HTTP belongs to no session.
fn is_alone(extensions: &Extensions) -> bool {
    // A client may send the header without having a session.
    extensions.get::<Parts>().is_some() && extensions.get::<SessionJobs>().is_none()
}

async fn request_roots(peer: &Peer<RoleServer>) -> Option<Vec<String>> {
    let listed = tokio::time::timeout(ROOTS_TIMEOUT, peer.list_roots()).await;
    listed.ok().and_then(Result::ok).map(uris)
}

fn uris(result: ListRootsResult) -> Vec<String> {
    result.roots.into_iter().map(|root| root.uri).collect()
}

/// Since this protocol version, servers cannot send requests to clients.
fn lacks_server_requests(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// Takes the arguments as the client wrote them. Over HTTP they are attached to the request's head.
fn take_arguments(extensions: &mut Extensions) -> Option<RawArguments> {
    extensions.remove().or_else(|| extensions.get_mut::<Parts>()?.extensions.remove())
}

/// The JSON schema of an envelope.
fn output_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean" },
            "data": { "type": "object" },
            "error": {
                "type": "object",
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "hint": { "type": "string" },
                    "details": { "type": "string" }
                },
                "required": ["code", "message"]
            }
        },
        "required": ["ok"]
    })
}

fn server_info() -> Implementation {
    Implementation::new("eyelet", env!("CARGO_PKG_VERSION")).with_title("eyelet")
}

/// The metadata of a result: it names the server, as the protocol recommends since 2026-07-28.
fn server_meta() -> MetaObject {
    let mut meta = MetaObject::new();
    meta.insert("io.modelcontextprotocol/serverInfo".to_owned(), json!(server_info()));
    meta
}

fn not_supported(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("method not supported: {method}"), None)
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let server = server_info();
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut result = ListToolsResult::with_all_items(self.tools())
            .with_ttl_ms(TOOLS_TTL_MS)
            .with_cache_scope(CacheScope::Public);
        result.meta = Some(server_meta());
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        mut context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.server.tools.iter().find(|tool| tool.name == request.name) else {
            let call = ToolInvocation::new(&request.name, "{}", &self.server.options.turn);
            let error = self.server.router.call(&call).err().map(|error| error.to_string());
            return Err(ErrorData::invalid_params(error.unwrap_or_default(), None));
        };
        let Some(mut turn) = self.context(&request, &context).await else {
            let request = InputRequest::ListRoots(ListRootsRequest::default());
            let requests = BTreeMap::from([(ROOTS_KEY.to_owned(), request)]);
            let mut result = InputRequiredResult::from_input_requests(requests);
            result.meta = Some(server_meta());
            return Ok(result.into());
        };
        if let Some(deadline) = client_limits::deadline(&context) {
            turn = turn.with_deadline(deadline);
        }
        if self.server.options.reply == ReplyForm::Text {
            turn = turn.with_reply_budget(self.budget(&context));
        }
        let (client, protocol) = (context.client_info(), context.protocol_version());
        let session = self.number(&context.extensions, client, protocol);
        let arguments = take_arguments(&mut context.extensions);
        let arguments = arguments.map_or_else(|| "{}".to_owned(), |raw| raw.0);
        let trace_id = context.meta.get(TRACE_KEY).and_then(Value::as_str).and_then(log::trace_id);
        let trace_id = trace_id.map(str::to_owned);
        let log = CallLog::start(&self.server, session, tool, &arguments, &turn, trace_id);
        let call = Call {
            session,
            tool: tool.name,
            log: Arc::new(log),
            arguments,
            turn,
            load: tool.load,
            counts: tool.counts,
        };
        // Boxed, because `rmcp` moves this future around and it is large.
        let result = Box::pin(call_task::run(&self.server, call, &context)).await;
        Ok(result.with_meta(Some(server_meta())).into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let info = context.peer.peer_info();
        let client = info.as_ref().map(|info| info.client_info.clone());
        let protocol = info.as_ref().map(|info| info.protocol_version.clone());
        self.number(&context.extensions, client, protocol);
        // Request the roots now: then the first call does not have to wait for them.
        let mut turn = self.turn.lock().await;
        let has_roots =
            context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if has_roots && roots::depend_on_client(&self.server.options) && turn.is_none() {
            let uris = request_roots(&context.peer).await;
            let unconfined = self.unconfined(&context.extensions);
            *turn = Some(roots::turn_context(&self.server.options, unconfined, uris.as_deref()));
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        // The next call requests them again.
        *self.turn.lock().await = None;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method arrives here if its parameters have the wrong shape.
        if request.method == "tools/call" {
            let message =
                "invalid params: `name` must be a string and `arguments` must be an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(not_supported(&request.method))
    }

    // Methods that the server does not support. By default `rmcp` would answer them with empty lists.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_supported(CompleteRequestMethod::VALUE))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_supported(ListPromptsRequestMethod::VALUE))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_supported(ListResourcesRequestMethod::VALUE))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_supported(ListResourceTemplatesRequestMethod::VALUE))
    }
}
