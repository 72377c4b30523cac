//! A naive model of how a stream is truncated.

use eyelet::tools::{Keep, Piece, Shown};

/// The part of a stream that is shown, from the whole stream.
pub(crate) fn naive_shown(stream: &[u8], keep: Keep, window: usize) -> Shown {
    let text = String::from_utf8_lossy(stream);
    if text.len() <= window {
        return Shown::Whole(text.into_owned());
    }
    // Each character of the text, with the number of bytes it replaces.
    let mut units: Vec<(char, u64)> = Vec::new();
    for chunk in stream.utf8_chunks() {
        units.extend(chunk.valid().chars().map(|c| (c, c.len_utf8() as u64)));
        if !chunk.invalid().is_empty() {
            units.push(('\u{fffd}', chunk.invalid().len() as u64));
        }
    }
    let take = |units: &mut dyn Iterator<Item = (char, u64)>, window: usize| {
        let mut taken = Vec::new();
        let mut room = window;
        for (unit, bytes) in units {
            if unit.len_utf8() > room {
                break;
            }
            room -= unit.len_utf8();
            taken.push((unit, bytes));
        }
        taken
    };
    let join = |units: Vec<(char, u64)>| {
        let mut piece = Piece::default();
        piece.bytes = units.iter().map(|unit| unit.1).sum();
        piece.text = units.into_iter().map(|unit| unit.0).collect();
        piece
    };
    let head = |window| join(take(&mut units.iter().copied(), window));
    let tail = |window| {
        let mut taken = take(&mut units.iter().rev().copied(), window);
        taken.reverse();
        join(taken)
    };
    match keep {
        Keep::Head => Shown::Head(head(window)),
        Keep::Tail => Shown::Tail(tail(window)),
        Keep::Both => Shown::Both { head: head(window - window / 2), tail: tail(window / 2) },
        other => panic!("{other} has no model"),
    }
}
