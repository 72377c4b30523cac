//! Regular files by handle: read in large pieces, never blocking, in bounded memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::paths::confined_path::{ConfinedPath, OpenFailure};

/// How much is read at once: large enough that the system call does not count, small enough for
/// the cache.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// A regular file as it was when it was opened.
pub(crate) struct RegularFile {
    file: File,
    /// What is appended later is not chased. The pseudo-files of the kernel say 0 and are read to
    /// their end.
    size: u64,
    has_holes: bool,
}

impl RegularFile {
    pub(crate) fn open(path: &ConfinedPath) -> Result<RegularFile, OpenFailure> {
        let file = path.open_file()?;
        let metadata = file.metadata().map_err(OpenFailure::Io)?;
        let size = metadata.len();
        Ok(RegularFile { file, size, has_holes: metadata.blocks().saturating_mul(512) < size })
    }

    /// The size, where it is known.
    pub(crate) fn size(&self) -> Option<u64> {
        (self.size > 0).then_some(self.size)
    }

    /// Reads at `position` into as much of `buffer` as the file has for it. None at the end.
    ///
    /// # Errors
    /// The system's error; a file whose read would block is one.
    pub(crate) fn read_at<'b>(
        &self,
        position: u64,
        buffer: &'b mut [u8],
    ) -> io::Result<Option<&'b [u8]>> {
        let left = self.size().map_or(u64::MAX, |size| size.saturating_sub(position));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let space = buffer.get_mut(..most).unwrap_or_default();
        let length = loop {
            match self.file.read_at(space, position) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        Ok(buffer.get(..length).filter(|piece| !piece.is_empty()))
    }

    /// The next stretch of data at or after `position`: where it starts and ends. What lies before
    /// it is a hole and reads as NULs. None where nothing but a hole is left.
    pub(crate) fn next_data(&self, position: u64) -> io::Result<Option<(u64, u64)>> {
        if position >= self.size {
            return Ok(None);
        }
        if !self.has_holes {
            return Ok(Some((position, self.size)));
        }
        let start = match rustix::fs::seek(&self.file, SeekFrom::Data(position)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(None),
            // A file system that does not tell.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((position, self.size))),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&self.file, SeekFrom::Hole(start)).unwrap_or(self.size);
        Ok((start < self.size).then_some((start, end.clamp(start, self.size))))
    }
}

/// When a file was changed last, in nanoseconds since 1970.
pub(crate) fn modified_nanos(stat: &rustix::fs::Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}
