//! A second pipe, through which a flood goes to a file without being copied into this process.
//!
//! Straight from the command's pipe to the file it would go slowly: while a file is written from a
//! pipe, nobody can write to that pipe. To move what it holds to another one takes next to no time.

use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

#[cfg(target_os = "linux")]
use super::stream::PIPE_BYTES;

/// Where bytes are on their way from a pipe to a file.
pub(super) struct Hall {
    #[cfg(target_os = "linux")]
    exit: File,
    #[cfg(target_os = "linux")]
    entry: std::os::fd::OwnedFd,
}

#[cfg(target_os = "linux")]
impl Hall {
    /// One behind the pipe. None where either of the two cannot be large: it takes its time to fill.
    pub(super) fn behind(pipe: BorrowedFd<'_>) -> Option<Self> {
        use rustix::pipe::{PipeFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with};
        let (exit, entry) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let sizes = [fcntl_getpipe_size(pipe), fcntl_setpipe_size(&entry, PIPE_BYTES)];
        let are_large = sizes.iter().all(|size| size.is_ok_and(|size| size >= PIPE_BYTES));
        are_large.then(|| Hall { exit: exit.into(), entry })
    }

    /// Takes what is in the pipe; nothing where its other end is closed.
    pub(super) fn fill(&self, pipe: BorrowedFd<'_>) -> rustix::io::Result<usize> {
        use rustix::pipe::{SpliceFlags, splice};
        splice(pipe, None, &self.entry, None, PIPE_BYTES, SpliceFlags::NONBLOCK)
    }

    /// Writes the first `bytes` of what is in it to the file.
    pub(super) fn empty_into(&self, file: &mut File, bytes: usize) -> io::Result<()> {
        use rustix::io::Errno;
        use rustix::pipe::{SpliceFlags, splice};
        use std::io::Read as _;
        let mut left = bytes;
        while left > 0 {
            match splice(&self.exit, None, &*file, None, left, SpliceFlags::empty()) {
                Ok(moved @ 1..) => left = left.saturating_sub(moved),
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => break,
            }
        }
        // What cannot be moved to this file is copied; if that cannot be either, this tells why.
        let copied = io::copy(&mut (&self.exit).take(left as u64), file)?;
        if copied == left as u64 { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

#[cfg(not(target_os = "linux"))]
impl Hall {
    /// Nothing can be moved here.
    pub(super) fn behind(_pipe: BorrowedFd<'_>) -> Option<Self> {
        None
    }

    pub(super) fn fill(&self, _pipe: BorrowedFd<'_>) -> rustix::io::Result<usize> {
        Err(rustix::io::Errno::NOTSUP)
    }

    pub(super) fn empty_into(&self, _file: &mut File, _bytes: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::io::Errno;
    use rustix::pipe::fcntl_setpipe_size;

    use super::*;

    #[test]
    fn bytes_reach_the_file_in_order_and_the_end_is_seen() {
        let folder = testkit::TempTree::new("");
        let open = |name: &str, appends: bool| {
            let mut options = File::options();
            options.create(true).write(true).append(appends);
            options.open(folder.path().join(name)).expect("ours")
        };
        // Nothing can be moved to a file that is only appended to: it is copied.
        for (name, appends) in [("moved", false), ("copied", true)] {
            let (reader, writer) = io::pipe().expect("a pipe");
            fcntl_setpipe_size(&reader, PIPE_BYTES).expect("room for one");
            let hall = Hall::behind(reader.as_fd()).expect("room for another");
            let mut file = open(name, appends);
            assert_eq!(hall.fill(reader.as_fd()), Err(Errno::AGAIN));
            let mut all = Vec::new();
            for size in [1, 4096, 4097, 300_000, 10, 1_000_000] {
                let piece: Vec<u8> = (0..size).map(|at| (at * 7 + size) as u8).collect();
                rustix::io::write(&writer, &piece).expect("room in the pipe");
                assert_eq!(hall.fill(reader.as_fd()), Ok(piece.len()));
                hall.empty_into(&mut file, piece.len() / 2).expect("it is written");
                hall.empty_into(&mut file, piece.len() - piece.len() / 2).expect("the rest, too");
                all.extend(piece);
            }
            drop(writer);
            assert_eq!(hall.fill(reader.as_fd()), Ok(0));
            let written = std::fs::read(folder.path().join(name)).expect("readable");
            assert!(written == all, "{name}");
        }
    }

    #[test]
    fn behind_a_small_pipe_there_is_none() {
        let (reader, _writer) = io::pipe().expect("a pipe");
        assert!(Hall::behind(reader.as_fd()).is_none());
        let (_, socket) = std::os::unix::net::UnixStream::pair().expect("sockets");
        assert!(Hall::behind(socket.as_fd()).is_none());
    }
}
