//! Guesses the encoding of a file that is not UTF-8.

use std::io;
use std::ops::ControlFlow;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding};

use crate::cancel::StopCheck;
use crate::fs::decode_lines::TEXT_BYTES;
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};
use crate::text::encoding::superset;

/// Of larger files, no encoding is guessed: a hint is not worth reading them twice more.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// The guess is made from this many bytes, starting near the first one above ASCII.
const MAX_SAMPLE_BYTES: usize = 1024 * 1024;

/// The encoding that the file is likely to have: more than half of its bytes above ASCII are not UTF-8
/// (`invalid` bytes are not), and the whole file decodes without an error. None if there is no such encoding,
/// or after a timeout.
pub(crate) fn guess_encoding(
    file: &RegularFile,
    invalid: u64,
    stop_check: &StopCheck,
) -> io::Result<Option<&'static Encoding>> {
    if invalid == 0 || file.size().is_none_or(|size| size > MAX_BYTES) {
        return Ok(None);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    let mut above_ascii = 0;
    let mut sampled = 0;
    let read = each_piece(file, stop_check, |piece| {
        above_ascii += piece.iter().filter(|byte| !byte.is_ascii()).count() as u64;
        if above_ascii > 0 && sampled < MAX_SAMPLE_BYTES {
            detector.feed(piece, false);
            sampled += piece.len();
        }
        ControlFlow::Continue(())
    })?;
    if read.is_break() || invalid * 2 <= above_ascii {
        return Ok(None);
    }
    let encoding = superset(detector.guess(None, Utf8Detection::Deny));
    Ok(decodes(file, encoding, stop_check)?.then_some(encoding))
}

/// Whether the whole file decodes without an error.
fn decodes(
    file: &RegularFile,
    encoding: &'static Encoding,
    stop_check: &StopCheck,
) -> io::Result<bool> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = vec![0; TEXT_BYTES];
    let mut decode = |mut bytes: &[u8], is_last: bool| loop {
        let (result, read, _) =
            decoder.decode_to_utf8_without_replacement(bytes, &mut text, is_last);
        bytes = bytes.get(read..).unwrap_or_default();
        match result {
            DecoderResult::InputEmpty => return ControlFlow::Continue(()),
            DecoderResult::OutputFull => {}
            DecoderResult::Malformed(..) => return ControlFlow::Break(()),
        }
    };
    let read = each_piece(file, stop_check, |piece| decode(piece, false))?;
    Ok(read.is_continue() && decode(&[], true).is_continue())
}

/// Reads the file until `visit` stops or the call has to end.
fn each_piece(
    file: &RegularFile,
    stop_check: &StopCheck,
    mut visit: impl FnMut(&[u8]) -> ControlFlow<()>,
) -> io::Result<ControlFlow<()>> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut position = 0;
    while let Some(piece) = file.read_at(position, &mut buffer)? {
        position += piece.len() as u64;
        if visit(piece).is_break() || stop_check.check().is_err() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}
