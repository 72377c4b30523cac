//! One typed report, two dialects. This is the only place that renders an answer.

use std::fmt;

use base64::Engine as _;
use serde::Serialize;

use crate::error::{ErrorCode, FunctionCallError, ToolError};
use crate::limits::MAX_ANSWER_BYTES;

/// What a tool found, before anyone has asked for a dialect.
///
/// Its `Serialize` form is the `data` of the envelope; its keys stand in the order of the fields.
pub trait Report: Serialize + Send + 'static {
    /// The text that the function dialect shows.
    fn content(&self) -> String;

    /// Whether the tool found what was asked. (That it ran is said by there being a report.)
    fn success(&self) -> bool;

    /// The text of a reply to a model. It keeps to the turn's [`ReplyBudget`](crate::ReplyBudget),
    /// and says how to go on even where the function dialect's text does not.
    fn reply(&self) -> String {
        self.content()
    }

    /// How many bytes the tool had and does not show, as far as it knows.
    fn withheld_bytes(&self) -> u64 {
        0
    }

    /// Where the next page starts, if there is more than this answer shows.
    fn next_offset(&self) -> Option<u64> {
        None
    }

    /// Bytes that belong to the answer and are not text.
    fn attachment(&self) -> Option<Attachment<'_>> {
        None
    }
}

/// Bytes beside the text of an answer: an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment<'a> {
    /// The type, such as `image/png`.
    pub mime_type: &'a str,
    /// The bytes, raw.
    pub bytes: &'a [u8],
}

/// Whether the envelope carries an answer's [`Attachment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttachmentMode {
    /// As `base64` in `data`.
    Inline,
    /// Left out: the door sends it in its own way, or not at all.
    Omit,
}

/// The answer of a call that ran.
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

    /// How many bytes the tool had and does not show, as far as it knows.
    pub fn withheld_bytes(&self) -> u64 {
        self.report.withheld_bytes()
    }

    /// Whether the tool found what was asked.
    pub fn success(&self) -> bool {
        self.report.success()
    }

    /// Where the next page starts, if there is more than this answer shows.
    pub fn next_offset(&self) -> Option<u64> {
        self.report.next_offset()
    }

    /// Bytes that belong to the answer and are not text.
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
    /// Whether the tool found what was asked.
    pub success: Option<bool>,
}

/// The envelope dialect of a call: `{"ok":true,"data":…}` or `{"ok":false,"error":…}`.
#[derive(Clone, Debug)]
pub struct Envelope {
    /// Whether the tool ran.
    pub ok: bool,
    /// What it found, as JSON text.
    pub data: Option<String>,
    /// Why it did not run.
    pub error: Option<ToolError>,
}

impl Envelope {
    /// The envelope of what the router returned. A `Fatal` is told as an `io_error`.
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

    /// The envelope as one line of JSON, without a newline at its end.
    pub fn to_json(&self) -> String {
        self.to_string()
    }
}

/// One line of JSON, without a newline at its end.
impl fmt::Display for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // By hand: an answer of megabytes is not to be parsed and written once more.
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

/// A report whose type the router need not know. The blanket below is its only implementer.
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

/// The `data` of a tool whose answer is its text.
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

/// The error for an answer above the last cap.
pub(crate) fn too_large_answer() -> ToolError {
    ToolError::new(
        ErrorCode::TooLarge,
        format!(
            "the answer is above {} MiB; ask for less with a smaller limit, and page with offset",
            MAX_ANSWER_BYTES / (1024 * 1024)
        ),
    )
}
