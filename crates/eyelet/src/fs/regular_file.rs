//! Regular files by handle: reads large chunks without blocking.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use crate::paths::confined_path::{ConfinedPath, OpenFailure};

/// Large enough to make the system call cheap, small enough for the CPU cache.
pub(crate) const CHUNK_BYTES: usize = 256 * 1024;

/// A regular file with the size it had when it was opened.
pub(crate) struct RegularFile {
    file: File,
    /// Bytes appended later are ignored. Pseudo-files of the kernel report 0 and are read to the
    /// end.
    size: u64,
    has_holes: bool,
    /// Where the content starts: positions count from here.
    start: u64,
}

impl RegularFile {
    pub(crate) fn open(path: &ConfinedPath) -> Result<RegularFile, OpenFailure> {
        let file = path.open_regular()?;
        let metadata = file.metadata().map_err(OpenFailure::Io)?;
        let size = metadata.len();
        let has_holes = metadata.blocks().saturating_mul(512) < size;
        Ok(RegularFile { file, size, has_holes, start: 0 })
    }

    /// Leaves out the first `bytes` bytes, such as a byte-order mark.
    #[must_use]
    pub(crate) fn without_start(mut self, bytes: u64) -> RegularFile {
        self.start += bytes;
        self.size = self.size.saturating_sub(bytes);
        self
    }

    /// Whether bytes were appended after the file was opened. Pseudo-files of the kernel never grow.
    pub(crate) fn has_grown(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() > self.start + self.size)
    }

    /// The size, if known.
    pub(crate) fn size(&self) -> Option<u64> {
        (self.size > 0).then_some(self.size)
    }

    /// Reads at `position`. Returns none at the end of the file.
    ///
    /// # Errors
    /// The system's error, also if the read would block.
    pub(crate) fn read_at<'b>(
        &self,
        position: u64,
        buffer: &'b mut [u8],
    ) -> io::Result<Option<&'b [u8]>> {
        let left = self.size().map_or(u64::MAX, |size| size.saturating_sub(position));
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
        let space = buffer.get_mut(..most).unwrap_or_default();
        let length = loop {
            match self.file.read_at(space, position.saturating_add(self.start)) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        Ok(buffer.get(..length).filter(|piece| !piece.is_empty()))
    }

    /// The first bytes of the file, as many as fit. Of a file whose size is not known, as many as one
    /// system call returns: another one could block.
    pub(crate) fn read_start<'b>(&self, buffer: &'b mut [u8]) -> io::Result<&'b [u8]> {
        let mut length = 0;
        while let Some(space) = buffer.get_mut(length..).filter(|space| !space.is_empty()) {
            let Some(piece) = self.read_at(length as u64, space)? else { break };
            length += piece.len();
            if self.size().is_none() {
                break;
            }
        }
        Ok(buffer.get(..length).unwrap_or_default())
    }

    /// The start and end of the next data at or after `position`. The gap before it is a hole,
    /// which reads as NULs. None if only a hole is left.
    pub(crate) fn next_data(&self, position: u64) -> io::Result<Option<(u64, u64)>> {
        if position >= self.size {
            return Ok(None);
        }
        if !self.has_holes {
            return Ok(Some((position, self.size)));
        }
        let start = match rustix::fs::seek(&self.file, SeekFrom::Data(position + self.start)) {
            Ok(start) => start,
            Err(Errno::NXIO) => return Ok(None),
            // The file system cannot find holes.
            Err(Errno::INVAL | Errno::OPNOTSUPP) => return Ok(Some((position, self.size))),
            Err(error) => return Err(error.into()),
        };
        let end = rustix::fs::seek(&self.file, SeekFrom::Hole(start));
        let end = end.map_or(self.size, |end| end.saturating_sub(self.start));
        let start = start.saturating_sub(self.start);
        Ok((start < self.size).then_some((start, end.clamp(start, self.size))))
    }
}

/// The modification time in nanoseconds since 1970.
pub(crate) fn modified_nanos(stat: &rustix::fs::Stat) -> i128 {
    i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
}
