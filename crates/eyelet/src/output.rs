//! Renders a typed report in two dialects: function and envelope.

use std::fmt;

use base64::Engine as _;
use serde::Serialize;

use crate::error::{ErrorCode, FunctionCallError, Hint, ToolError};
use crate::limits::MAX_ANSWER_BYTES;

/// The result of a tool, before it is rendered.
///
/// Its `Serialize` form is the `data` of the envelope, with keys in the order of the fields.
pub trait Report: ReportData + Send + 'static {
    /// The `content` of the function dialect.
    fn content(&self) -> String;

    /// Whether the tool found what the caller wanted. (A report exists only if the tool ran.)
    fn success(&self) -> bool;

    /// The text of a reply to a model. It fits the turn's [`ReplyBudget`](crate::ReplyBudget) and
    /// says how to continue, even if the function dialect does not.
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

    /// Binary data to send with the reply.
    fn attachment(&self) -> Option<Attachment<'_>> {
        None
    }
}

/// Binary data in addition to the text: an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// The MIME type, such as `image/png`.
    pub mime_type: &'a str,
    /// The raw bytes.
    pub bytes: &'a [u8],
}

/// Whether the envelope contains the [`Attachment`] of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentMode {
    /// As `base64` in `data`.
    Inline,
    /// Not in the envelope: the interface sends it in another form, or not at all.
    Omit,
}

/// The result of a call that ran.
pub struct ToolOutput {
    report: Box<dyn Report>,
}

impl ToolOutput {
    /// Wraps the report of a tool.
    pub fn new(report: impl Report) -> Self {
        ToolOutput { report: Box::new(report) }
    }

    /// Renders the function dialect: `content` and `success`.
    ///
    /// # Errors
    /// `too_large` if it exceeds [`MAX_ANSWER_BYTES`].
    pub fn function(&self) -> Result<FunctionOutput, FunctionCallError> {
        let content = self.report.content();
        within_cap(content.len())?;
        Ok(FunctionOutput { content, success: Some(self.report.success()) })
    }

    /// Renders the text of a reply to a model, within the turn's
    /// [`ReplyBudget`](crate::ReplyBudget).
    ///
    /// # Errors
    /// `too_large` if it exceeds [`MAX_ANSWER_BYTES`].
    pub fn reply(&self) -> Result<String, FunctionCallError> {
        let reply = self.report.reply();
        within_cap(reply.len())?;
        Ok(reply)
    }

    /// How many bytes are not shown, as far as the tool knows.
    pub fn withheld_bytes(&self) -> u64 {
        self.report.withheld_bytes()
    }

    /// Whether the tool found what the caller wanted.
    pub fn success(&self) -> bool {
        self.report.success()
    }

    /// The offset of the next page, if there is one.
    pub fn next_offset(&self) -> Option<u64> {
        self.report.next_offset()
    }

    /// Binary data to send with the reply.
    pub fn attachment(&self) -> Option<Attachment<'_>> {
        self.report.attachment()
    }

    /// Renders the `data` of the envelope as JSON text.
    ///
    /// # Errors
    /// `too_large` if it exceeds [`MAX_ANSWER_BYTES`].
    pub fn data(&self, attached: AttachmentMode) -> Result<String, FunctionCallError> {
        let mut json = self.report.to_json().map_err(|error| {
            FunctionCallError::Fatal(format!("the report cannot be serialized as JSON: {error}"))
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

/// A result in the function dialect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FunctionOutput {
    /// The text for the model.
    pub content: String,
    /// Whether the tool found what the caller wanted.
    pub success: Option<bool>,
}

/// A result in the envelope dialect: `{"ok":true,"data":…}` or `{"ok":false,"error":…}`.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Whether the tool ran.
    pub ok: bool,
    /// The result as JSON text.
    pub data: Option<String>,
    /// Why the call failed.
    pub error: Option<ToolError>,
    /// The text of the error's hint.
    hint: Option<String>,
}

impl Envelope {
    /// Builds the envelope of a router result. A `Fatal` becomes an `io_error`.
    pub fn new(outcome: &Result<ToolOutput, FunctionCallError>, attached: AttachmentMode) -> Self {
        let data = match outcome {
            Ok(output) => output.data(attached),
            Err(error) => Err(error.clone()),
        };
        let error = match data {
            Ok(data) => return Envelope { ok: true, data: Some(data), error: None, hint: None },
            Err(FunctionCallError::RespondToModel(error)) => error,
            Err(FunctionCallError::Fatal(message)) => {
                ToolError::new(ErrorCode::IoError, format!("internal failure: {message}"))
            }
        };
        let hint = error.hint.as_ref().map(Hint::to_string);
        Envelope { ok: false, data: None, error: Some(error), hint }
    }

    /// Renders the hint with `render` instead of its `Display`: for interfaces that name their own
    /// flags.
    #[must_use]
    pub fn with_hint_text(mut self, render: impl FnOnce(&Hint) -> String) -> Self {
        self.hint = self.error.as_ref().and_then(|error| error.hint.as_ref()).map(render);
        self
    }

    /// The envelope as one line of JSON, without a trailing newline.
    pub fn to_json(&self) -> String {
        self.to_string()
    }
}

/// One line of JSON, without a trailing newline.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `data` can have megabytes: copy it instead of parsing and serializing it again.
        if let Some(data) = &self.data {
            f.write_str("{\"ok\":true,\"data\":")?;
            f.write_str(data)?;
            return f.write_str("}");
        }
        let error = self.error.as_ref().map(|error| ErrorBody {
            code: error.code,
            message: &error.message,
            hint: self.hint.as_deref(),
        });
        // Serializing strings cannot fail.
        let error = serde_json::to_string(&error).unwrap_or_default();
        write!(f, "{{\"ok\":false,\"error\":{error}}}")
    }
}

/// The `error` of an envelope.
#[derive(Serialize)]
struct ErrorBody<'a> {
    code: ErrorCode,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// A report as JSON. Every type that implements [`Serialize`] has it.
pub trait ReportData {
    /// The `data` of the envelope as JSON text.
    ///
    /// # Errors
    /// The error of the type's `Serialize` implementation.
    fn to_json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> ReportData for T {
    fn to_json(&self) -> serde_json::Result<String> {
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
            "the reply exceeds {} MiB; use a smaller limit and continue with offset",
            MAX_ANSWER_BYTES / (1024 * 1024)
        ),
    )
}
