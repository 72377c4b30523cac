//! One output stream of a command: reads its pipe, buffers the part to show, and saves all of it to a
//! file if it is too long to show.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::exec::command_spec::CommandSpec;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::progress::Progress;
use crate::saved_output::output_store::SavedFile;
use crate::text::command_reply::{SavedOutput, StreamReport};
use crate::text::head_tail::HeadTailBuffer;
use crate::text::removed_files::RemovedFiles;
use crate::text::reply_budget::{TextSize, split_between};

/// With a large pipe the command continues while eyelet writes to disk.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;
/// The most bytes of one read.
const READ_BYTES: usize = 256 * 1024;
/// The most reads in a row before the other stream and the time limit are checked.
const MAX_READS: usize = 16;

/// The reading end of one stream.
pub(crate) struct OutputStream {
    pipe: Option<OwnedFd>,
    buffer: Vec<u8>,
    head_tail: HeadTailBuffer,
    /// A longer stream may be truncated, so it is saved.
    save_above: u64,
    save_state: SaveState,
    progress: Progress,
    /// Saved files that were removed to free space for this one.
    removed: RemovedFiles,
}

/// The file that the stream is saved to. It is created before the first byte leaves the buffer.
enum SaveState {
    NotStarted(SaveTarget),
    Writing(SavedFile),
    Failed(String),
    Done,
}

impl OutputStream {
    pub(crate) fn new(pipe: Option<OwnedFd>, spec: &CommandSpec<'_>) -> Self {
        let (head_tail, save_above) = match spec.window {
            OutputWindow::Each(bytes) => (HeadTailBuffer::new(spec.keep, bytes), bytes),
            OutputWindow::Shared(room) => {
                (HeadTailBuffer::with_max(spec.keep, room.bytes), room.bytes / 2)
            }
        };
        OutputStream {
            buffer: vec![0; if pipe.is_some() { READ_BYTES } else { 0 }],
            pipe,
            head_tail,
            save_above: save_above as u64,
            save_state: SaveState::NotStarted(spec.save_to.clone()),
            progress: spec.progress.clone(),
            removed: RemovedFiles::default(),
        }
    }

    /// Makes reads non-blocking and enlarges the pipe.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if let Some(pipe) = &self.pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
            // Fails at the user's limit on pipe memory; the default size works too.
            #[cfg(target_os = "linux")]
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
        }
        Ok(())
    }

    /// The pipe, until its other end is closed.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// How many bytes were read.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.head_tail.total_bytes()
    }

    /// Reads what is in the pipe, at most [`MAX_READS`] times. Returns how many bytes it read.
    pub(crate) fn read(&mut self) -> io::Result<usize> {
        let mut total = 0;
        for _ in 0..MAX_READS {
            let count = self.read_once()?;
            total += count;
            if count < READ_BYTES {
                break;
            }
        }
        Ok(total)
    }

    fn read_once(&mut self) -> io::Result<usize> {
        let Some(pipe) = &self.pipe else { return Ok(0) };
        match rustix::io::read(pipe, self.buffer.as_mut_slice()) {
            Ok(0) => {
                self.pipe = None;
                Ok(0)
            }
            Ok(count) => {
                let buffer = std::mem::take(&mut self.buffer);
                self.add(buffer.get(..count).unwrap_or_default());
                self.buffer = buffer;
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            // If it continued, the report would present a part as the whole.
            Err(error) => Err(error.into()),
        }
    }

    fn add(&mut self, chunk: &[u8]) {
        self.progress.add(chunk.len() as u64);
        if self.total_bytes() + chunk.len() as u64 > self.save_above {
            self.start_saving();
            if let SaveState::Writing(file) = &mut self.save_state {
                if let Err(reason) = file.write(chunk, &mut self.removed) {
                    self.save_state = SaveState::Failed(reason);
                }
            }
        }
        self.head_tail.push(chunk);
    }

    /// Creates the file and writes everything that was read before.
    fn start_saving(&mut self) {
        let SaveState::NotStarted(save_to) = &self.save_state else { return };
        let removed = &mut self.removed;
        let mut start = || {
            let mut file = save_to.as_ref().map_err(|reason| *reason)?.create()?;
            let parts = self
                .head_tail
                .all_bytes()
                .ok_or("the start of the output is no longer in memory")?;
            for part in parts {
                file.write(part, removed)?;
            }
            Ok(file)
        };
        self.save_state = start().map_or_else(SaveState::Failed, SaveState::Writing);
    }

    /// Reports both streams after the last read.
    pub(crate) fn finish(
        streams: &mut [OutputStream; 2],
        window: OutputWindow,
    ) -> [StreamReport; 2] {
        let shares = match window {
            OutputWindow::Each(_) => [None, None],
            OutputWindow::Shared(room) => {
                let sizes = streams.each_ref().map(|stream| stream.head_tail.size());
                split_between(room, sizes).map(Some)
            }
        };
        let [first, second] = streams;
        let [first_share, second_share] = shares;
        [first.report(first_share), second.report(second_share)]
    }

    /// The saved files that were removed to free space for both streams.
    pub(crate) fn removed(streams: &mut [OutputStream; 2]) -> RemovedFiles {
        let mut removed = RemovedFiles::default();
        for stream in streams {
            removed.join(std::mem::take(&mut stream.removed));
        }
        removed
    }

    fn report(&mut self, share: Option<TextSize>) -> StreamReport {
        let mut report = StreamReport {
            shown: match share {
                Some(share) => self.head_tail.shown_within(share),
                None => self.head_tail.shown(),
            },
            total_bytes: self.total_bytes(),
            lines: self.head_tail.lines(),
            saved: None,
        };
        if !report.is_truncated() {
            // The file was created in case the other stream would fill the reply.
            self.save_state = SaveState::Done;
            return report;
        }
        // A short stream can still be too long as text: replaced bytes grow, and lines are limited.
        self.start_saving();
        report.saved = match std::mem::replace(&mut self.save_state, SaveState::Done) {
            SaveState::NotStarted(_) | SaveState::Done => None,
            SaveState::Failed(reason) => Some(SavedOutput::Failed { reason }),
            SaveState::Writing(file) => Some(match file.finish() {
                (file, None) => SavedOutput::Whole { file },
                (file, Some(bytes)) => SavedOutput::Start { file, bytes },
            }),
        };
        report
    }
}
