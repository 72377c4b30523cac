//! One output of a command: its pipe, what is shown of it, and the file that keeps it whole.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;

use crate::exec::command_spec::CommandSpec;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::exec::sink::Sink;
use crate::progress::Progress as Count;
use crate::saved_output::output_store::SavedFile;
use crate::text::command_reply::{SavedOutput, StreamReport};
use crate::text::head_tail::HeadTailBuffer;
use crate::text::removed_files::RemovedFiles;
use crate::text::reply_budget::{TextSize, split_between};
use crate::text::stream_counts::StreamCounts;

/// A command that has printed so much prints on and on.
pub(crate) const FLOOD_BYTES: u64 = 256 * 1024;
/// A larger pipe lets the command run on while a piece is written to disk.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;
/// How much is read at once.
const READ_BYTES: usize = 256 * 1024;
/// How much of a flood is taken in at once: to write many small pieces to a file takes twice as long.
const WRITE_BYTES: usize = 256 * 1024;
/// How many times in a row a pipe is read before anything else is looked at.
const MAX_READS: usize = 16;

/// The reading end of one output.
pub(crate) struct OutputStream {
    pipe: Option<OwnedFd>,
    buffer: Vec<u8>,
    /// So many bytes of the buffer were read and counted, and not yet taken in.
    waiting: usize,
    counts: StreamCounts,
    capture: HeadTailBuffer,
    /// From this byte on it may not be shown whole.
    certain: usize,
    save_state: SaveState,
    /// Whether all lines are counted, however much comes.
    counts_lines: bool,
    /// Takes what nobody needs.
    sink: Option<Sink>,
    count: Count,
    /// Files that went to make room for its own.
    removed: RemovedFiles,
}

/// The file that keeps the stream. It is begun before the first byte that is not shown is dropped.
enum SaveState {
    NotStarted(SaveTarget),
    Writing(SavedFile),
    Failed(String),
    Done,
}

/// What becomes of a piece of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Course {
    /// It may be shown, is counted in lines, and written to the file.
    Seen,
    /// It is written to the file.
    SavedOutput,
    /// Nothing.
    Dropped,
}

impl OutputStream {
    pub(crate) fn new(pipe: Option<OwnedFd>, spec: &CommandSpec<'_>) -> Self {
        let (capture, certain) = match spec.window {
            OutputWindow::Each(bytes) => (HeadTailBuffer::new(spec.keep, bytes), bytes),
            OutputWindow::Shared(room) => {
                (HeadTailBuffer::with_max(spec.keep, room.bytes), room.bytes / 2)
            }
        };
        OutputStream {
            buffer: vec![0; if pipe.is_some() { READ_BYTES + WRITE_BYTES } else { 0 }],
            waiting: 0,
            pipe,
            counts: StreamCounts::new(),
            capture,
            certain,
            save_state: SaveState::NotStarted(spec.keeping.clone()),
            counts_lines: spec.counts_lines,
            sink: None,
            count: spec.count.clone(),
            removed: RemovedFiles::default(),
        }
    }

    /// Makes reads return at once, whether or not there is something.
    pub(crate) fn prepare(&self) -> io::Result<()> {
        if let Some(pipe) = &self.pipe {
            rustix::io::ioctl_fionbio(pipe, true)?;
            // One user's pipes may have their limit; then it stays as small as it is.
            #[cfg(target_os = "linux")]
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
        }
        Ok(())
    }

    /// The pipe, until its other end is closed.
    pub(crate) fn pipe(&self) -> Option<BorrowedFd<'_>> {
        self.pipe.as_ref().map(|pipe| pipe.as_fd())
    }

    /// How much has come.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.counts.bytes()
    }

    /// Whether what comes is written to a file.
    pub(crate) fn is_keeping(&self) -> bool {
        matches!(&self.save_state, SaveState::Writing(file) if !file.is_full())
    }

    /// Reads what is in the pipe; of a flood so much that others are not kept waiting for long. Some of
    /// it may wait for more until it is [settled](OutputStream::settle). Tells when something last came.
    pub(crate) fn read(&mut self) -> io::Result<Option<Instant>> {
        let mut came = None;
        for _ in 0..MAX_READS {
            let count = self.read_once(&mut came)?;
            // Less than was asked for: it is empty by now, or nearly so.
            if count < READ_BYTES {
                break;
            }
        }
        Ok(came)
    }

    fn read_once(&mut self, came: &mut Option<Instant>) -> io::Result<usize> {
        let course = self.course();
        let Some(pipe) = &self.pipe else { return Ok(0) };
        let room = self.buffer.get_mut(self.waiting..self.waiting + READ_BYTES).unwrap_or_default();
        let read = match course {
            Course::Seen | Course::SavedOutput => rustix::io::read(pipe, &mut *room),
            Course::Dropped => {
                self.sink.get_or_insert_with(Sink::open).take(pipe.as_fd(), &mut *room)
            }
        };
        match read {
            Ok(0) => {
                self.pipe = None;
                self.settle();
            }
            Ok(count) => {
                *came = Some(Instant::now());
                self.count.add(count as u64);
                match course {
                    Course::Seen => self.counts.count(room.get(..count).unwrap_or_default()),
                    Course::SavedOutput | Course::Dropped => self.counts.skip(count as u64),
                }
                if course != Course::Dropped {
                    self.waiting += count;
                }
                if self.waiting >= WRITE_BYTES {
                    self.settle();
                }
                return Ok(count);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            // To go on would be to pass off a part for the whole.
            Err(error) => return Err(error.into()),
        }
        Ok(0)
    }

    /// What becomes of the next piece. That of a flood is not moved to its file unread: a command may
    /// change what it gave away by reference once that is out of the pipe.
    fn course(&self) -> Course {
        if self.counts_lines || self.total_bytes() < FLOOD_BYTES || !self.capture.is_full() {
            return Course::Seen;
        }
        match &self.save_state {
            SaveState::NotStarted(_) => Course::Seen,
            SaveState::Writing(_) | SaveState::Failed(_) | SaveState::Done => {
                let is_kept = self.is_keeping() || self.waiting > 0;
                if is_kept { Course::SavedOutput } else { Course::Dropped }
            }
        }
    }

    /// Takes in what waits for more.
    pub(crate) fn settle(&mut self) {
        let buffer = std::mem::take(&mut self.buffer);
        self.take(buffer.get(..self.waiting).unwrap_or_default());
        self.waiting = 0;
        self.buffer = buffer;
    }

    fn take(&mut self, chunk: &[u8]) {
        if self.capture.total_bytes() + chunk.len() as u64 > self.certain as u64 {
            self.keep();
            if let SaveState::Writing(file) = &mut self.save_state {
                if let Err(reason) = file.write(chunk, &mut self.removed) {
                    self.save_state = SaveState::Failed(reason);
                }
            }
        }
        self.capture.push(chunk);
    }

    /// Begins the file with all_bytes that came so far.
    fn keep(&mut self) {
        let SaveState::NotStarted(keeping) = &self.save_state else { return };
        let removed = &mut self.removed;
        let mut begin = || {
            let mut file = keeping.as_ref().map_err(|reason| *reason)?.create()?;
            let parts = self.capture.all_bytes().ok_or("its start is gone")?;
            for part in parts {
                file.write(part, removed)?;
            }
            Ok(file)
        };
        self.save_state = begin().map_or_else(SaveState::Failed, SaveState::Writing);
    }

    /// What there is to say of both once nothing more comes.
    pub(crate) fn finish(
        streams: &mut [OutputStream; 2],
        window: OutputWindow,
    ) -> [StreamReport; 2] {
        let shares = match window {
            OutputWindow::Each(_) => [None, None],
            OutputWindow::Shared(room) => {
                split_between(room, streams.each_ref().map(|stream| stream.capture.size()))
                    .map(Some)
            }
        };
        let [first, second] = streams;
        let [first_share, second_share] = shares;
        [first.report(first_share), second.report(second_share)]
    }

    /// What went to make room for the files of both.
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
                Some(share) => self.capture.shown_within(share),
                None => self.capture.shown(),
            },
            total_bytes: self.counts.bytes(),
            lines: self.counts.lines(),
            saved: None,
        };
        if !report.is_truncated() {
            // It was begun in case the other stream would leave no room.
            self.save_state = SaveState::Done;
            return report;
        }
        // Bytes that are not UTF-8, or many short lines, can make a text too long of a short stream.
        self.keep();
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
