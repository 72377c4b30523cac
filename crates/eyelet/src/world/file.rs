//! Regular files by handle: read in large pieces, never blocking, in bounded memory.

use std::fs::File;
use std::io::{self, Read as _};

use super::confine::{ConfinedPath, OpenFailure};

/// How much is read at once: large enough that the system call does not count, small enough for
/// the cache.
const PIECE: usize = 256 * 1024;

/// A regular file that is read once, from its start.
pub(crate) struct FileReader {
    file: File,
    /// What was there when it was opened; what is appended meanwhile is not chased.
    left: u64,
    buffer: Vec<u8>,
}

impl FileReader {
    pub(crate) fn open(path: &ConfinedPath) -> Result<FileReader, OpenFailure> {
        let file = path.open_file()?;
        let size = file.metadata().map_err(OpenFailure::Io)?.len();
        // The pseudo-files of the kernel say 0 and are read to their end.
        let left = if size == 0 { u64::MAX } else { size };
        Ok(FileReader { file, left, buffer: vec![0; PIECE] })
    }

    /// How many bytes are left as far as is known; a pseudo-file's are not.
    pub(crate) fn left(&self) -> u64 {
        self.left
    }

    /// The next piece; an empty one at the end.
    ///
    /// # Errors
    /// The system's error; a file whose read would block is one.
    pub(crate) fn piece(&mut self) -> io::Result<&[u8]> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(self.buffer.len());
        let space = self.buffer.get_mut(..most).unwrap_or_default();
        let length = loop {
            match self.file.read(space) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.left -= length as u64;
        Ok(self.buffer.get(..length).unwrap_or_default())
    }
}
