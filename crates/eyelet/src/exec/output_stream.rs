//! One output stream of a command: reads its pipe, buffers the part to show, and saves all of it to a
//! file if it is too long to show.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::io::Errno;

use crate::exec::command_spec::CommandSpec;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::progress::Progress;
use crate::saved_output::output_store::SavedFile;
use crate::text::command_reply::{FoldedOutput, SavedOutput, StreamReport};
use crate::text::head_tail::HeadTailBuffer;
use crate::text::removed_files::RemovedFiles;
use crate::text::reply_budget::{TextSize, split_between};
use crate::text::stream_buffer::StreamBuffer;

/// With a large pipe the command continues while eyelet writes to disk.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 1024 * 1024;
/// The most bytes of one read.
const READ_BYTES: usize = 128 * 1024;
/// The most reads in a row before the other stream and the time limit are checked.
const MAX_READS: usize = 32;

/// The reading end of one stream.
pub(crate) struct OutputStream {
    pipe: Option<OwnedFd>,
    buffer: Vec<u8>,
    buffered: StreamBuffer,
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
            buffered: StreamBuffer::new(head_tail),
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
        self.buffered.raw().total_bytes()
    }

    /// Reads until the pipe is empty, at most [`MAX_READS`] times, and once if the stream is folded,
    /// which takes longer. Returns how many bytes it read.
    pub(crate) fn read(&mut self) -> io::Result<usize> {
        let mut total = 0;
        let most = if self.buffered.is_folding() { 1 } else { MAX_READS };
        for _ in 0..most {
            let count = self.read_once()?;
            total += count;
            // A short read does not end the loop: the command has often written more meanwhile, and
            // another read costs less than a poll.
            if count == 0 {
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
        self.buffered.push(chunk);
    }

    /// Creates the file and writes everything that was read before.
    fn start_saving(&mut self) {
        let SaveState::NotStarted(save_to) = &self.save_state else { return };
        let removed = &mut self.removed;
        let mut start = || {
            let mut file = save_to.as_ref().map_err(|reason| *reason)?.create()?;
            let parts = self
                .buffered
                .raw()
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
        streams.iter_mut().for_each(|stream| stream.buffered.finish());
        let is_folded = streams.iter().any(|stream| stream.buffered.folded().is_some());
        let shares = |buffer: fn(&OutputStream) -> &HeadTailBuffer| match window {
            OutputWindow::Each(_) => [None, None],
            OutputWindow::Shared(room) => {
                let sizes = streams.each_ref().map(|stream| buffer(stream).size());
                split_between(room, sizes).map(Some)
            }
        };
        let raw = shares(|stream| stream.buffered.raw());
        // What one folded stream does not need is for the other one.
        let text = is_folded.then(|| shares(OutputStream::text_form));
        let [first, second] = streams;
        let ([first_raw, second_raw], text) =
            (raw, text.map_or([None, None], |text| text.map(Some)));
        let [first_text, second_text] = text;
        [first.report(first_raw, first_text), second.report(second_raw, second_text)]
    }

    /// What the text form shows a part of.
    fn text_form(&self) -> &HeadTailBuffer {
        self.buffered.folded().map_or(self.buffered.raw(), |(folded, _)| folded)
    }

    /// The saved files that were removed to free space for both streams.
    pub(crate) fn removed(streams: &mut [OutputStream; 2]) -> RemovedFiles {
        let mut removed = RemovedFiles::default();
        for stream in streams {
            removed.join(std::mem::take(&mut stream.removed));
        }
        removed
    }

    /// `share` is that of the raw stream, and `text_share` that of the text form, if a stream is folded.
    fn report(
        &mut self,
        share: Option<TextSize>,
        text_share: Option<Option<TextSize>>,
    ) -> StreamReport {
        let select = |buffer: &HeadTailBuffer, share: Option<TextSize>| match share {
            Some(share) => buffer.shown_within(share),
            None => buffer.shown(),
        };
        let raw = self.buffered.raw();
        let text = self.text_form();
        let mut report = StreamReport {
            shown: select(raw, share),
            total_bytes: raw.total_bytes(),
            lines: raw.lines(),
            saved: None,
            folded: text_share.map(|share| FoldedOutput {
                shown: select(text, share),
                total_bytes: text.total_bytes(),
                lines: text.lines(),
                redraws: self.buffered.folded().map_or(0, |(_, redraws)| redraws),
            }),
        };
        if !report.needs_file() {
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
