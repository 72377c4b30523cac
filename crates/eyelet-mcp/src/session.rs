//! One client's conversation with the server, as `rmcp` asks for it.

#![expect(deprecated, reason = "the protocol lets roots go one day; clients still name them")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use eyelet::{DefinitionFormat, ReplyBudget, ToolInvocation, TurnContext, render_definitions};
use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, ConstString as _, CustomRequest, CustomResult, ErrorCode, Implementation,
    InputRequest, InputRequiredResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesRequestMethod, ListResourceTemplatesResult, ListResourcesRequestMethod,
    ListResourcesResult, ListRootsRequest, ListRootsResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::Mutex;

use crate::message::RawArguments;
use crate::outbox::Outbox;
use crate::run::{self, Call};
use crate::{ReplyForm, Shared, client, roots};

/// How long a client may take to name its roots; then those of the server's start hold alone.
const ROOTS_TIME: Duration = Duration::from_secs(2);

/// The key under which the newest protocol asks for the roots.
const ROOTS_KEY: &str = "roots";

/// One client's conversation with the server. Clones are the same session.
#[derive(Clone)]
pub(crate) struct Session {
    shared: Arc<Shared>,
    /// The wire's way to the client, where there is a wire.
    outbox: Option<Arc<Outbox>>,
    /// The surroundings within the client's roots, once they are known.
    turn: Arc<Mutex<Option<TurnContext>>>,
}

/// The surroundings of a call, or the question that has to be answered first.
enum Surroundings {
    Known(Box<TurnContext>),
    Ask,
}

impl Session {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        Session { shared, outbox: None, turn: Arc::default() }
    }

    /// Calls are answered at first hand where they can be.
    pub(crate) fn with_outbox(self, outbox: Arc<Outbox>) -> Self {
        Session { outbox: Some(outbox), ..self }
    }

    async fn surroundings(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Surroundings {
        let mut turn = self.turn.lock().await;
        if let Some(turn) = &*turn {
            return Surroundings::Known(Box::new(turn.clone()));
        }
        let has_roots = context.client_capabilities().is_some_and(|can| can.roots.is_some());
        let uris = match &request.input_responses {
            _ if !has_roots => None,
            Some(answers) => answers.get(ROOTS_KEY).and_then(|answer| {
                serde_json::from_value::<ListRootsResult>(answer.clone()).ok().map(uris)
            }),
            None if has_no_requests(context) => return Surroundings::Ask,
            None => ask_for_roots(&context.peer).await,
        };
        let known = roots::turn(&self.shared.options, uris.as_deref());
        *turn = Some(known.clone());
        Surroundings::Known(Box::new(known))
    }

    fn budget(&self, context: &RequestContext<RoleServer>) -> ReplyBudget {
        let asked = self.shared.options.reply_bytes.map(ReplyBudget::new);
        asked.unwrap_or_else(|| client::budget(context))
    }

    /// The tools as this client gets them.
    fn tools(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        let definitions = render_definitions(&self.shared.tools, DefinitionFormat::Mcp);
        let mut tools: Vec<Tool> = serde_json::from_value(definitions).unwrap_or_default();
        let raised = self.shared.options.reply_bytes.filter(|bytes| {
            *bytes > client::CLAUDE_CODE_BYTES
                && client::name(context).as_deref() == Some(client::CLAUDE_CODE)
        });
        for tool in &mut tools {
            if let Some(bytes) = raised {
                let mut meta = MetaObject::new();
                meta.insert("anthropic/maxResultSizeChars".to_owned(), json!(bytes));
                tool.meta = Some(meta);
            }
            if self.shared.options.reply == ReplyForm::Structured {
                tool.output_schema = serde_json::from_value(output_schema()).ok().map(Arc::new);
            }
        }
        tools
    }

    fn instructions(&self) -> String {
        let turn = roots::turn(&self.shared.options, None);
        let mut text = String::from(
            "Bounded tools for files and commands. A reply says when it is not all there is, and \
             which offset, column or file goes on.",
        );
        if turn.roots().next().is_some() {
            text.push_str(&format!("\nWorking directory: {}", turn.cwd().display()));
        } else {
            text.push_str("\nNo root is set: paths are reached after a start with --root DIR.");
        }
        text
    }
}

async fn ask_for_roots(peer: &Peer<RoleServer>) -> Option<Vec<String>> {
    let asked = tokio::time::timeout(ROOTS_TIME, peer.list_roots()).await;
    asked.ok().and_then(Result::ok).map(uris)
}

fn uris(result: ListRootsResult) -> Vec<String> {
    result.roots.into_iter().map(|root| root.uri).collect()
}

/// The newest protocol has no requests from server to client.
fn has_no_requests(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The arguments as the client wrote them; over HTTP they came with the request's head.
fn written_arguments(context: &RequestContext<RoleServer>) -> Option<String> {
    let own = &context.extensions;
    let raw = own.get::<RawArguments>().or_else(|| own.get::<Parts>()?.extensions.get());
    raw.map(|raw| raw.0.clone())
}

/// The schema of an envelope.
fn output_schema() -> serde_json::Value {
    json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean" },
            "data": { "type": "object" },
            "error": {
                "type": "object",
                "properties": { "code": { "type": "string" }, "message": { "type": "string" } },
                "required": ["code", "message"]
            }
        },
        "required": ["ok"]
    })
}

fn not_offered(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("eyelet", env!("CARGO_PKG_VERSION")).with_title("eyelet");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(self.instructions())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult { tools: self.tools(&context), ..ListToolsResult::default() })
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.shared.tools.iter().find(|tool| tool.name == request.name) else {
            let call = ToolInvocation::new(&request.name, "{}", &self.shared.options.turn);
            let error = self.shared.router.call(&call).err().map(|error| error.to_string());
            return Err(ErrorData::invalid_params(error.unwrap_or_default(), None));
        };
        let turn = match self.surroundings(&request, &context).await {
            Surroundings::Known(turn) => *turn,
            Surroundings::Ask => {
                let ask = InputRequest::ListRoots(ListRootsRequest::default());
                let asks = BTreeMap::from([(ROOTS_KEY.to_owned(), ask)]);
                return Ok(InputRequiredResult::from_input_requests(asks).into());
            }
        };
        let turn = if run::is_budgeted(self.shared.options.reply) {
            turn.with_reply_budget(self.budget(&context))
        } else {
            turn
        };
        let written = written_arguments(&context).filter(|raw| raw != "null");
        let arguments = written.or_else(|| serde_json::to_string(&request.arguments?).ok());
        let call = Call {
            tool: tool.name,
            arguments: arguments.unwrap_or_else(|| "{}".to_owned()),
            turn,
            load: tool.load,
            counts: tool.counts,
        };
        // The newest protocol has more to add to a result.
        let outbox = self.outbox.as_ref().filter(|_| !has_no_requests(&context));
        // What waits for a call is large, and rmcp moves it about.
        Box::pin(run::run(&self.shared, call, &context, outbox)).await.map(Into::into)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // Asked for now, so that the first call does not wait.
        let mut turn = self.turn.lock().await;
        let has_roots =
            context.peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        if has_roots && turn.is_none() {
            let uris = ask_for_roots(&context.peer).await;
            *turn = Some(roots::turn(&self.shared.options, uris.as_deref()));
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        // The next call asks again.
        *self.turn.lock().await = None;
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        // A known method comes here when its parameters have the wrong shape.
        if request.method == "tools/call" {
            let message = "params must have the tool's name, and arguments as an object";
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(not_offered(&request.method))
    }

    // What is not offered is not answered: rmcp would, with nothing.

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(not_offered(CompleteRequestMethod::VALUE))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(not_offered(ListPromptsRequestMethod::VALUE))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(not_offered(ListResourcesRequestMethod::VALUE))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(not_offered(ListResourceTemplatesRequestMethod::VALUE))
    }
}
