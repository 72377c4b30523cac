//! Where bytes go that nobody looks at.
//!
//! Moved to the null device, they are neither copied nor fetched from the caches of the processor that
//! wrote them, which is what reading a flood costs most.

use std::os::fd::BorrowedFd;

use rustix::io::Result;

/// Takes bytes out of a pipe, unseen.
pub(crate) struct Sink {
    #[cfg(target_os = "linux")]
    null: Option<std::os::fd::OwnedFd>,
}

impl Sink {
    #[cfg(target_os = "linux")]
    pub(crate) fn open() -> Self {
        use rustix::fs::{FileType, Mode, OFlags, fstat, makedev, open};
        let null = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).ok();
        // Whatever else has that name would be filled.
        let is_null = |stat: rustix::fs::Stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::CharacterDevice
                && stat.st_rdev == makedev(1, 3)
        };
        Sink { null: null.filter(|null| fstat(null).is_ok_and(is_null)) }
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn open() -> Self {
        Sink {}
    }

    /// Takes up to `buffer.len()` bytes that are there; none where the other end is closed. What is
    /// in the buffer afterwards does not matter.
    pub(crate) fn take(&mut self, pipe: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<usize> {
        #[cfg(target_os = "linux")]
        if let Some(null) = &self.null {
            use rustix::io::Errno;
            use rustix::pipe::{SpliceFlags, splice};
            match splice(pipe, None, null, None, buffer.len(), SpliceFlags::NONBLOCK) {
                Err(error) if !matches!(error, Errno::AGAIN | Errno::INTR) => {}
                moved => return moved,
            }
            // Someone around this process forbids it.
            self.null = None;
        }
        rustix::io::read(pipe, buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::io::Errno;

    use super::*;

    fn empties(mut sink: Sink) {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        rustix::io::ioctl_fionbio(&reader, true).expect("its end that does not wait");
        let mut buffer = vec![0; 8192];
        let mut take = || sink.take(reader.as_fd(), &mut buffer);
        assert_eq!(take(), Err(Errno::AGAIN));
        rustix::io::write(&writer, &[b'x'; 20_000]).expect("room in the pipe");
        let mut sum = 0;
        while sum < 20_000 {
            sum += take().expect("bytes that are there");
        }
        assert_eq!((sum, take()), (20_000, Err(Errno::AGAIN)));
        drop(writer);
        assert_eq!(take(), Ok(0));
    }

    #[test]
    fn a_pipe_is_emptied_and_its_end_is_seen() {
        empties(Sink::open());
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_null_device_is_used_and_not_needed() {
        assert!(Sink::open().null.is_some());
        empties(Sink { null: None });
        // Nothing can be moved to what is open for reading.
        let unwritable = std::fs::File::open("/dev/null").expect("on every system");
        empties(Sink { null: Some(unwritable.into()) });
    }
}
