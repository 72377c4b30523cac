//! Renders a typed report in two dialects: function and envelope.

use std::fmt;

use base64::Engine as _;
use serde::Serialize;

use crate::error::{ErrorCode, FunctionCallError, Hint, ToolError};
use crate::facts::Facts;
use crate::limits::MAX_ANSWER_BYTES;
use crate::names::named;
use crate::text::reply_budget::ReplyBudget;

/// The result of a tool, before it is rendered.
///
/// The `Serialize` form of a report is the `data` of the [`Envelope`], with keys in the order of the
/// fields.
pub trait Report: ReportData + Send + 'static {
    /// The `content` of [`FunctionOutput`].
    fn content(&self) -> String;

    /// False for a search that found nothing and for a command that failed, otherwise true.
    fn success(&self) -> bool;

    /// The text that a model receives. The text should fit the [`ReplyBudget`] of the turn and say
    /// how to continue, even if `content` is longer. If the text does not fit, eyelet truncates it.
    fn reply(&self) -> String {
        self.content()
    }

    /// How many bytes of the result the reply does not show, as far as the tool knows.
    fn withheld_bytes(&self) -> u64 {
        0
    }

    /// The offset of the next page, if there is one.
    fn next_offset(&self) -> Option<u64> {
        None
    }

    /// Binary data to send with the reply, such as an image.
    fn attachment(&self) -> Option<Attachment<'_>> {
        None
    }

    /// The numbers of the result, for logs, records and metrics.
    fn facts(&self) -> Facts {
        Facts::default()
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
#[non_exhaustive]
pub enum AttachmentMode {
    /// The envelope contains the attachment as `base64` in `data`.
    Inline,
    /// The envelope does not contain the attachment: the interface sends the attachment in another
    /// form, or not at all.
    Omit,
}

named!(AttachmentMode, "attachment mode", { Inline = "inline", Omit = "omit" });

/// The result of a call that ran, in the form that its reader needs:
///
/// | form | for | size |
/// |---|---|---|
/// | [`ToolOutput::reply`] | a model | within the turn's [`ReplyBudget`] |
/// | [`ToolOutput::function`] | a host with a success flag beside the text | at most [`MAX_ANSWER_BYTES`] |
/// | [`Envelope`] | a program that parses JSON | at most [`MAX_ANSWER_BYTES`] |
/// | [`ToolOutput::attachment`] | a model that sees images | the limit of the tool |
pub struct ToolOutput {
    report: Box<dyn Report>,
    reply_budget: Option<ReplyBudget>,
}

impl ToolOutput {
    /// Wraps the report of a tool.
    pub fn new(report: impl Report) -> Self {
        ToolOutput { report: Box::new(report), reply_budget: None }
    }

    /// Limits the size of [`ToolOutput::reply`].
    #[must_use]
    pub(crate) fn within(mut self, budget: Option<ReplyBudget>) -> Self {
        self.reply_budget = budget;
        self
    }

    /// Renders the function dialect: `content` and `success`.
    ///
    /// # Errors
    /// Fails with `too_large` if the result exceeds [`MAX_ANSWER_BYTES`].
    pub fn function(&self) -> Result<FunctionOutput, FunctionCallError> {
        let content = self.report.content();
        within_cap(content.len())?;
        Ok(FunctionOutput { content, success: Some(self.report.success()) })
    }

    /// Renders this output as the text that the model receives, truncated to the [`ReplyBudget`] of
    /// the turn. The last line of a truncated text says how many bytes are missing.
    ///
    /// # Errors
    /// Fails with `too_large` if the text has more than [`MAX_ANSWER_BYTES`] before it is truncated.
    pub fn reply(&self) -> Result<String, FunctionCallError> {
        let reply = self.report.reply();
        within_cap(reply.len())?;
        Ok(match self.reply_budget {
            Some(budget) => budget.truncate(reply),
            None => reply,
        })
    }

    /// Returns how many bytes of the result the reply does not show, as far as the tool knows.
    pub fn withheld_bytes(&self) -> u64 {
        self.report.withheld_bytes()
    }

    /// Returns false for a search that found nothing and for a command that failed, otherwise true.
    pub fn success(&self) -> bool {
        self.report.success()
    }

    /// Returns the offset of the next page, if there is one.
    pub fn next_offset(&self) -> Option<u64> {
        self.report.next_offset()
    }

    /// Returns binary data to send with the reply, such as an image.
    pub fn attachment(&self) -> Option<Attachment<'_>> {
        self.report.attachment()
    }

    /// Returns the numbers of the result, for logs, records and metrics.
    pub fn facts(&self) -> Facts {
        self.report.facts()
    }

    /// Renders the `data` of the envelope as JSON text.
    ///
    /// # Errors
    /// Fails with `too_large` if the result exceeds [`MAX_ANSWER_BYTES`].
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
    /// False for a search that found nothing and for a command that failed, otherwise true.
    pub success: Option<bool>,
}

/// A result in the envelope dialect: `{"ok":true,"data":…}` or `{"ok":false,"error":…}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Envelope {
    /// The tool ran.
    Ok {
        /// The result of the tool as JSON text.
        data: String,
    },
    /// The call failed.
    Error {
        /// The reason.
        error: ToolError,
        /// The text of the error's hint.
        hint: Option<String>,
    },
}

impl Envelope {
    /// Creates the envelope for the result of [`ToolRouter::call`](crate::ToolRouter::call). A `Fatal`
    /// becomes an `io_error`.
    pub fn new(outcome: &Result<ToolOutput, FunctionCallError>, attached: AttachmentMode) -> Self {
        let data = match outcome {
            Ok(output) => output.data(attached),
            Err(error) => Err(error.clone()),
        };
        let error = match data {
            Ok(data) => return Envelope::Ok { data },
            Err(error) => error.into_tool_error(),
        };
        let hint = error.hint.as_ref().map(Hint::to_string);
        Envelope::Error { error, hint }
    }

    /// Returns whether the tool ran.
    pub fn is_ok(&self) -> bool {
        matches!(self, Envelope::Ok { .. })
    }

    /// Renders the hint with `render` instead of `Display`. An interface with command-line flags uses
    /// this method to name its flags.
    #[must_use]
    pub fn with_hint_text(mut self, render: impl FnOnce(&Hint) -> String) -> Self {
        if let Envelope::Error { error, hint } = &mut self {
            *hint = error.hint.as_ref().map(render);
        }
        self
    }

    /// Renders the envelope as one line of JSON, without a trailing newline.
    pub fn to_json(&self) -> String {
        self.to_string()
    }
}

/// Writes the envelope as one line of JSON, without a trailing newline.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // `data` can have megabytes: copy it instead of parsing and serializing it again.
            Envelope::Ok { data } => {
                f.write_str("{\"ok\":true,\"data\":")?;
                f.write_str(data)?;
                f.write_str("}")
            }
            Envelope::Error { error, hint } => {
                let hint = hint.as_deref();
                let is_fact = error.hint.as_ref().is_some_and(Hint::is_fact);
                let (hint, details) = if is_fact { (None, hint) } else { (hint, None) };
                let body = ErrorBody { code: error.code, message: &error.message, hint, details };
                // Serializing strings cannot fail.
                let body = serde_json::to_string(&body).unwrap_or_default();
                write!(f, "{{\"ok\":false,\"error\":{body}}}")
            }
        }
    }
}

/// The `error` of an envelope.
#[derive(Serialize)]
struct ErrorBody<'a> {
    code: ErrorCode,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
    /// A fact that the wording of the message leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
}

/// A report that renders itself as JSON. Every type that implements [`Serialize`] implements this
/// trait.
pub trait ReportData {
    /// The `data` of the envelope as JSON text.
    ///
    /// # Errors
    /// Returns the error of the type's `Serialize` implementation.
    fn to_json(&self) -> serde_json::Result<String>;
}

impl<T: Serialize> ReportData for T {
    fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(self)
    }
}

/// A report that is only text, for a host's own tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TextReport {
    /// The text for the model.
    pub content: String,
    /// Whether the tool found or did what the caller wanted.
    pub success: bool,
}

impl TextReport {
    /// Creates a report with this text and `success` true.
    pub fn new(content: impl Into<String>) -> Self {
        TextReport { content: content.into(), success: true }
    }

    /// Sets whether the tool found or did what the caller wanted.
    #[must_use]
    pub fn with_success(mut self, success: bool) -> Self {
        self.success = success;
        self
    }
}

impl Report for TextReport {
    fn content(&self) -> String {
        self.content.clone()
    }

    fn success(&self) -> bool {
        self.success
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
