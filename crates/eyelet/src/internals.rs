//! Internal functions for eyelet's own property tests. They are not part of the public API and may
//! change in any release.

use crate::text::head_tail::{HeadTailBuffer, Keep, Shown};
use crate::text::stream_buffer::StreamBuffer;

/// An output stream of a command, as `bash` shows it.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamView {
    /// The part of the stream that fits the limit for shown output.
    pub shown: Shown,
    /// The length of the stream in bytes.
    pub total_bytes: u64,
    /// The number of lines in the stream.
    pub lines: u64,
    /// The whole stream, if no byte of it was dropped.
    pub held: Option<Vec<u8>>,
}

impl StreamView {
    fn of(buffer: &HeadTailBuffer) -> Self {
        StreamView {
            shown: buffer.shown(),
            total_bytes: buffer.total_bytes(),
            lines: buffer.lines(),
            held: buffer.all_bytes().map(|parts| parts.concat()),
        }
    }
}

/// Returns the raw stream. If the stream contains redraws or escape sequences, also returns the
/// text that a terminal would show, and the number of redraws.
pub fn view_stream<'c>(
    chunks: impl IntoIterator<Item = &'c [u8]>,
    keep: Keep,
    window: usize,
) -> (StreamView, Option<(StreamView, u64)>) {
    let mut buffer = StreamBuffer::new(HeadTailBuffer::new(keep, window));
    chunks.into_iter().for_each(|chunk| buffer.push(chunk));
    buffer.finish();
    let folded = buffer.folded().map(|(folded, redraws)| (StreamView::of(&folded), redraws));
    (StreamView::of(buffer.raw()), folded)
}
