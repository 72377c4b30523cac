//! A scan for a page of lines, at its place or at the end of the stream.

use crate::text::line_page::{LineScan, PageLines, PagePart, PageRequest};
use crate::text::tail_page::TailScan;

/// Reads a stream in pieces.
pub(crate) enum PageScan {
    FromOffset(LineScan),
    Tail(TailScan),
}

impl PageScan {
    pub(crate) fn new(page: PageRequest) -> Self {
        match page.part {
            PagePart::FromOffset => PageScan::FromOffset(LineScan::new(page)),
            PagePart::Tail => PageScan::Tail(TailScan::new(page)),
        }
    }

    /// Adds the next piece of the stream.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        match self {
            PageScan::FromOffset(scan) => scan.push(piece),
            PageScan::Tail(scan) => scan.push(piece),
        }
    }

    /// Ends the stream.
    pub(crate) fn finish(self) -> PageLines {
        match self {
            PageScan::FromOffset(scan) => scan.finish(),
            PageScan::Tail(scan) => scan.finish(),
        }
    }

    /// Ends before the stream does. None if no line of the page is known.
    pub(crate) fn finish_early(self) -> Option<PageLines> {
        match self {
            PageScan::FromOffset(scan) => (scan.lines_shown() > 0).then(|| scan.finish_early()),
            PageScan::Tail(_) => None,
        }
    }
}
