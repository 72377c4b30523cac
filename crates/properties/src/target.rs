//! What a target is.

use testkit::Choices;

/// Checks the property for one input.
pub type Check = Box<dyn FnMut(&mut Choices<'_>)>;

/// One target.
#[derive(Debug)]
pub struct Target {
    /// The name of the target, of its module and of its directories of inputs.
    pub name: &'static str,
    /// Creates the check, and the objects that all inputs share, such as a directory.
    pub start: fn() -> Check,
}

/// Splits a stream into chunks of chosen sizes.
pub(crate) fn chunks<'s>(mut stream: &'s [u8], choices: &mut Choices<'_>) -> Vec<&'s [u8]> {
    let most = *choices.pick(&[1, 7, 300, 70_000, usize::MAX]);
    let mut chunks = Vec::new();
    while !stream.is_empty() {
        let most = most.min(stream.len());
        // Without choices that are left, the rest is one chunk.
        let size = if choices.is_used_up() { stream.len() } else { choices.usize(1..=most) };
        let (chunk, rest) = stream.split_at(size);
        chunks.push(chunk);
        stream = rest;
    }
    chunks
}
