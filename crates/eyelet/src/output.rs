//! Renders a typed report in two dialects. Only this module renders replies.

use std::fmt;

use base64::Engine as _;
use serde::Serialize;

use crate::error::{ErrorCode, FunctionCallError, ToolError};
use crate::limits::MAX_ANSWER_BYTES;

/// The result of a tool, before it is rendered.
///
/// Its `Serialize` form is the `data` of the envelope, with keys in the order of the fields.
pub trait Report: Serialize + Send + 'static {
    /// The text of the function dialect.
    fn content(&self) -> String;

    /// Whether the tool found what was requested. (A report exists only if the tool ran.)
    fn success(&self) -> bool;

    /// The text of a reply to a model. It stays within the turn's
    /// [`ReplyBudget`](crate::ReplyBudget) and says how to continue, even if the function dialect
    /// does not.
    fn reply(&self) -> String {
        self.content()
    }

    /// How many bytes are not shown, as far as the tool knows.
    fn withheld_bytes(&self) -> u64 {
        0
    }

    /// The offset of the next page, if there is one.
    fn next_offset(&self) -> Option<u64> {
        None
    }

    /// Binary data that belongs to the reply.
    fn attachment(&self) -> Option<Attachment<'_>> {
        None
    }
}

/// Binary data in addition to the text: an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// The type, such as `image/png`.
    pub mime_type: &'a str,
    /// The bytes, raw.
    pub bytes: &'a [u8],
}

/// Whether the envelope contains the [`Attachment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentMode {
    /// As `base64` in `data`.
    Inline,
    /// Omitted: the interface sends it in another form, or not at all.
    Omit,
}

/// The result of a call that ran.
pub struct ToolOutput {
    report: Box<dyn ErasedReport>,
}

impl ToolOutput {
    /// Wraps a tool's report.
    pub fn new(report: impl Report) -> Self {
        ToolOutput { report: Box::new(report) }
    }

    /// The function dialect: `content` and `success`.
    ///
    /// # Errors
    /// `too_large` above [`MAX_ANSWER_BYTES`].
    pub fn function(&self) -> Result<FunctionOutput, FunctionCallError> {
        let content = self.report.content();
        within_cap(content.len())?;
        Ok(FunctionOutput { content, success: Some(self.report.success()) })
    }

    /// The text of a reply to a model, within the turn's [`ReplyBudget`](crate::ReplyBudget).
    ///
    /// # Errors
    /// `too_large` above [`MAX_ANSWER_BYTES`].
    pub fn reply(&self) -> Result<String, FunctionCallError> {
        let reply = self.report.reply();
        within_cap(reply.len())?;
        Ok(reply)
    }

    /// How many bytes are not shown, as far as the tool knows.
    pub fn withheld_bytes(&self) -> u64 {
        self.report.withheld_bytes()
    }

    /// Whether the tool found what was requested.
    pub fn success(&self) -> bool {
        self.report.success()
    }

    /// The offset of the next page, if there is one.
    pub fn next_offset(&self) -> Option<u64> {
        self.report.next_offset()
    }

    /// Binary data that belongs to the reply.
    pub fn attachment(&self) -> Option<Attachment<'_>> {
        self.report.attachment()
    }

    /// The `data` of the envelope dialect as JSON text.
    ///
    /// # Errors
    /// `too_large` above [`MAX_ANSWER_BYTES`].
    pub fn data(&self, attached: AttachmentMode) -> Result<String, FunctionCallError> {
        let mut json = self.report.data().map_err(|error| {
            FunctionCallError::Fatal(format!("the report cannot be written as JSON: {error}"))
        })?;
        if let (AttachmentMode::Inline, Some(attachment)) = (attached, self.report.attachment()) {
            if json.pop() == Some('}') {
                json.push_str(",\"base64\":\"");
                base64::engine::general_purpose::STANDARD
                    .encode_string(attachment.bytes, &mut json);
                json.push_str("\"}");
            }
        }
        within_cap(json.len())?;
        Ok(json)
    }
}

impl fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolOutput").field("success", &self.success()).finish_non_exhaustive()
    }
}

/// The function dialect of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionOutput {
    /// The text for the model.
    pub content: String,
    /// Whether the tool found what was requested.
    pub success: Option<bool>,
}

/// The envelope dialect of a call: `{"ok":true,"data":…}` or `{"ok":false,"error":…}`.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Whether the tool ran.
    pub ok: bool,
    /// The result as JSON text.
    pub data: Option<String>,
    /// Why the call failed.
    pub error: Option<ToolError>,
}

impl Envelope {
    /// The envelope of a router result. A `Fatal` becomes an `io_error`.
    pub fn new(outcome: &Result<ToolOutput, FunctionCallError>, attached: AttachmentMode) -> Self {
        let data = match outcome {
            Ok(output) => output.data(attached),
            Err(error) => Err(error.clone()),
        };
        let error = match data {
            Ok(data) => return Envelope { ok: true, data: Some(data), error: None },
            Err(FunctionCallError::RespondToModel(error)) => error,
            Err(FunctionCallError::Fatal(message)) => {
                ToolError::new(ErrorCode::IoError, format!("internal failure: {message}"))
            }
        };
        Envelope { ok: false, data: None, error: Some(error) }
    }

    /// The envelope as one line of JSON, without a trailing newline.
    pub fn to_json(&self) -> String {
        self.to_string()
    }
}

/// One line of JSON, without a trailing newline.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Written by hand: a reply of megabytes must not be parsed and serialised again.
        if let Some(data) = &self.data {
            f.write_str("{\"ok\":true,\"data\":")?;
            f.write_str(data)?;
            return f.write_str("}");
        }
        // Strings cannot fail to serialise.
        let error = serde_json::to_string(&self.error).unwrap_or_default();
        write!(f, "{{\"ok\":false,\"error\":{error}}}")
    }
}

/// A report without its type. Only the blanket implementation below implements it.
trait ErasedReport: Send {
    fn content(&self) -> String;
    fn success(&self) -> bool;
    fn reply(&self) -> String;
    fn withheld_bytes(&self) -> u64;
    fn next_offset(&self) -> Option<u64>;
    fn attachment(&self) -> Option<Attachment<'_>>;
    fn data(&self) -> serde_json::Result<String>;
}

impl<R: Report> ErasedReport for R {
    fn content(&self) -> String {
        Report::content(self)
    }
    fn success(&self) -> bool {
        Report::success(self)
    }
    fn reply(&self) -> String {
        Report::reply(self)
    }
    fn withheld_bytes(&self) -> u64 {
        Report::withheld_bytes(self)
    }
    fn next_offset(&self) -> Option<u64> {
        Report::next_offset(self)
    }
    fn attachment(&self) -> Option<Attachment<'_>> {
        Report::attachment(self)
    }
    fn data(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// The `data` of a tool whose result is text.
#[derive(Serialize)]
pub(crate) struct TextData {
    content: String,
    success: bool,
}

impl TextData {
    pub(crate) fn new(report: &impl Report) -> Self {
        TextData { content: report.content(), success: report.success() }
    }
}

fn within_cap(bytes: usize) -> Result<(), FunctionCallError> {
    if bytes <= MAX_ANSWER_BYTES {
        return Ok(());
    }
    Err(too_large_answer().into())
}

/// The error of a reply above the hard limit.
pub(crate) fn too_large_answer() -> ToolError {
    ToolError::new(
        ErrorCode::TooLarge,
        format!(
            "the answer is above {} MiB; ask for less with a smaller limit, and page with offset",
            MAX_ANSWER_BYTES / (1024 * 1024)
        ),
    )
}
