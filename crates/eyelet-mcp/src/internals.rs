//! Internal functions for eyelet's own property tests. They are not part of the public API and may
//! change in any release.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use eyelet::ToolRouter;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage};
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::message::{self, Incoming, Line, LineDecoder};
use crate::options::Options;
use crate::serve_stdio::run_sessions;
use crate::server::Server;
use crate::session::Session;
use crate::stdio_transport::StdioTransport;
use crate::thread_pool::Sharing;

/// A request that has no answer after this time gets none.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// Splits a stream that arrives in chunks into lines. A line above the size limit becomes `None`.
pub fn lines<'c>(chunks: impl IntoIterator<Item = &'c [u8]>) -> Vec<Option<Vec<u8>>> {
    let mut lines = Vec::new();
    let mut take = |line: Line<'_>| match line {
        Line::Whole(line) => lines.push(Some(line.to_owned())),
        Line::TooLong => lines.push(None),
    };
    let mut decoder = LineDecoder::default();
    chunks.into_iter().for_each(|chunk| decoder.push(chunk, &mut take));
    decoder.finish(take);
    lines
}

/// The result of parsing a line.
#[derive(Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A request: its id as JSON and, if it is a `tools/call`, the text of its arguments.
    Request(String, Option<String>),
    /// A valid message that is not a request.
    Message,
    /// The line is not a valid message. The server answers with this text.
    Refused(String),
    /// The line needs no answer.
    Nothing,
}

/// Parses a line. `None` stands for a line above the size limit.
pub fn parse(line: Option<&[u8]>) -> Parsed {
    match message::parse(line.map_or(Line::TooLong, Line::Whole)) {
        Incoming::Message(message) => parsed(*message),
        Incoming::Refused(answer) => Parsed::Refused(answer),
        Incoming::Nothing => Parsed::Nothing,
    }
}

fn parsed(mut message: ClientJsonRpcMessage) -> Parsed {
    let arguments = message::take_arguments(&mut message).map(|raw| raw.0);
    match message {
        JsonRpcMessage::Request(request) => {
            Parsed::Request(serde_json::json!(request.id).to_string(), arguments)
        }
        JsonRpcMessage::Response(_)
        | JsonRpcMessage::Notification(_)
        | JsonRpcMessage::Error(_) => Parsed::Message,
    }
}

/// A server that serves one client after another, over files instead of stdin and stdout.
pub struct FileServer {
    server: Arc<Server>,
}

impl FileServer {
    /// Creates a server with these options and tools.
    pub fn new(options: Options, router: ToolRouter) -> Self {
        FileServer { server: Arc::new(Server::new(options, router, Sharing::ManySessions)) }
    }

    /// Serves a client until its input has ended and every request is answered. Returns false if a
    /// request gets no answer.
    ///
    /// # Errors
    /// Fails if the runtime cannot be created.
    pub fn serve(&self, input: File, output: File) -> io::Result<bool> {
        // Dropping the runtime ends the session and closes the files.
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(async {
            let (end_sender, mut end) = mpsc::unbounded_channel();
            let transport = StdioTransport::start(input, output, end_sender);
            let session = Session::new(Arc::clone(&self.server));
            tokio::spawn(run_sessions(session, transport.clone()));
            end.recv().await;
            timeout(ANSWER_TIMEOUT, transport.all_answered()).await.is_ok()
        }))
    }
}
