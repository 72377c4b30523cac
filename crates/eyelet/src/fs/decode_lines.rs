//! Reads a page of lines from a file that is not UTF-8: decodes it in pieces, from start to end.

use encoding_rs::{CoderResult, Decoder, Encoding};

use crate::cancel::StopCheck;
use crate::fs::read_line_page::{LinePageResult, ReadFailure, stopped};
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};
use crate::progress::Progress;
use crate::text::line_page::PageRequest;
use crate::text::page_scan::PageScan;
use crate::text::utf8_check::Utf8Check;

/// How much decoded text is held at a time.
pub(super) const TEXT_BYTES: usize = 64 * 1024;

/// Reads the page. Lines and columns are those of the decoded text, which has no byte-order mark.
/// Malformed bytes become U+FFFD. After a timeout it returns the lines it has, if any.
pub(crate) fn read_page(
    file: &RegularFile,
    encoding: &'static Encoding,
    page: PageRequest,
    stop_check: &StopCheck,
    progress: &Progress,
) -> Result<LinePageResult, ReadFailure> {
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut scan = PageScan::new(page);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut text = vec![0; TEXT_BYTES];
    let mut position = 0;
    while let Some(piece) = file.read_at(position, &mut buffer)? {
        position += piece.len() as u64;
        progress.add(piece.len() as u64);
        decode(&mut decoder, piece, Piece::Middle, &mut text, &mut scan);
        if let Err(stop) = stop_check.check() {
            return stopped(stop, scan, Utf8Check::new());
        }
    }
    decode(&mut decoder, &[], Piece::Last, &mut text, &mut scan);
    Ok(LinePageResult { lines: scan.finish(), exact: true, invalid_bytes: 0 })
}

/// Which piece of a stream is decoded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Piece {
    Middle,
    /// A character that is incomplete after it is malformed.
    Last,
}

fn decode(
    decoder: &mut Decoder,
    mut bytes: &[u8],
    piece: Piece,
    text: &mut [u8],
    scan: &mut PageScan,
) {
    loop {
        let (result, read, written, _) = decoder.decode_to_utf8(bytes, text, piece == Piece::Last);
        scan.push(text.get(..written).unwrap_or_default());
        bytes = bytes.get(read..).unwrap_or_default();
        match result {
            CoderResult::InputEmpty => return,
            CoderResult::OutputFull => {}
        }
    }
}
