//! One output stream of a command: reads its pipe, buffers the part to show, and saves all of it to a
//! file if it is too long to show.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::io::Errno;

use crate::exec::command_spec::CommandSpec;
use crate::exec::output_window::{OutputWindow, SaveTarget};
use crate::live_output::{LiveOutput, OutputKind};
use crate::progress::Progress;
use crate::saved_output::output_store::SavedFile;
use crate::text::command_reply::{FoldedOutput, SavedOutput, StreamReport};
use crate::text::head_tail::{HeadTailBuffer, Keep, Shown};
use crate::text::removed_files::RemovedFiles;
use crate::text::reply_budget::split_between;
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
    /// The stream of a job has a file, whatever its length.
    is_for_job: bool,
    save_state: SaveState,
    progress: Progress,
    live_output: Option<(OutputKind, LiveOutput)>,
    /// The part of `buffer` that live output has yet to take. Nothing is read before.
    untaken: Range<usize>,
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
    pub(crate) fn new(kind: OutputKind, pipe: Option<OwnedFd>, spec: &CommandSpec) -> Self {
        OutputStream {
            buffer: vec![0; if pipe.is_some() { READ_BYTES } else { 0 }],
            pipe,
            buffered: StreamBuffer::new(spec.buffer()),
            save_above: spec.window.save_above(),
            is_for_job: false,
            save_state: SaveState::NotStarted(spec.save_to.clone()),
            progress: spec.progress.clone(),
            live_output: spec.live_output.clone().map(|live| (kind, live)),
            untaken: 0..0,
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
        self.offer_untaken();
        if self.is_stalled() {
            return Ok(0);
        }
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
                if self.live_output.is_some() {
                    self.untaken = 0..count;
                    self.offer_untaken();
                }
                Ok(count)
            }
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            // If it continued, the report would present a part as the whole.
            Err(error) => Err(error.into()),
        }
    }

    fn offer_untaken(&mut self) {
        let Some((kind, live)) = self.live_output.as_ref().filter(|_| self.is_stalled()) else {
            return;
        };
        let bytes = self.buffer.get(self.untaken.clone()).unwrap_or_default();
        self.untaken.start += live.offer(*kind, bytes);
    }

    /// Whether live output has not yet taken all bytes that were read.
    pub(crate) fn is_stalled(&self) -> bool {
        !self.untaken.is_empty()
    }

    fn add(&mut self, chunk: &[u8]) {
        self.progress.add_output(chunk);
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

    /// Saves the stream to a file from now on, and names the file in every report. Returns its path.
    pub(crate) fn save_for_job(&mut self) -> Option<PathBuf> {
        self.start_saving();
        self.is_for_job = true;
        match &self.save_state {
            SaveState::Writing(file) => Some(file.so_far().0),
            SaveState::NotStarted(_) | SaveState::Failed(_) | SaveState::Done => None,
        }
    }

    /// Reports both streams after the last read.
    pub(crate) fn finish(
        streams: &mut [OutputStream; 2],
        window: OutputWindow,
        keep: Keep,
    ) -> [StreamReport; 2] {
        streams.iter_mut().for_each(|stream| stream.buffered.finish());
        let mut reports = reports(streams, window, keep);
        for (stream, report) in streams.iter_mut().zip(&mut reports) {
            report.saved = stream.finish_saving(report.needs_file());
        }
        reports
    }

    /// Reports both streams of a job while it runs.
    pub(crate) fn so_far(streams: &[OutputStream; 2], window: OutputWindow) -> [StreamReport; 2] {
        let mut reports = reports(streams, window, Keep::Tail);
        for (stream, report) in streams.iter().zip(&mut reports) {
            report.saved = stream.saved_so_far();
        }
        reports
    }

    /// The saved files that were removed to free space for both streams.
    pub(crate) fn removed(streams: &[OutputStream; 2]) -> RemovedFiles {
        let mut removed = RemovedFiles::default();
        streams.iter().for_each(|stream| removed.join(stream.removed.clone()));
        removed
    }

    fn saved_so_far(&self) -> Option<SavedOutput> {
        match &self.save_state {
            SaveState::NotStarted(_) | SaveState::Done => None,
            SaveState::Failed(reason) => Some(SavedOutput::Failed { reason: reason.clone() }),
            SaveState::Writing(file) => Some(match file.so_far() {
                (file, None) => SavedOutput::Whole { file },
                (file, Some(bytes)) => SavedOutput::Start { file, bytes },
            }),
        }
    }

    fn finish_saving(&mut self, is_needed: bool) -> Option<SavedOutput> {
        if !is_needed && !self.is_for_job {
            // The file was created in case the other stream would fill the reply.
            self.save_state = SaveState::Done;
            return None;
        }
        // A short stream can still be too long as text: replaced bytes grow, and lines are limited.
        self.start_saving();
        let saved = self.saved_so_far();
        if let SaveState::Writing(file) = std::mem::replace(&mut self.save_state, SaveState::Done) {
            file.finish();
        }
        saved
    }
}

/// The shown part of both streams, without their files.
fn reports(streams: &[OutputStream; 2], window: OutputWindow, keep: Keep) -> [StreamReport; 2] {
    let shape = window.buffer(keep);
    let raw = streams.each_ref().map(|stream| stream.buffered.raw().shaped_as(&shape));
    let [stdout, stderr] = &raw;
    let [stdout_shown, stderr_shown] = show([stdout, stderr], window);
    let mut reports = [report(stdout_shown, stdout), report(stderr_shown, stderr)];
    if streams.iter().any(|stream| stream.buffered.is_folding()) {
        let texts = streams.each_ref().map(|stream| {
            let folded = stream.buffered.folded();
            let (text, redraws) = folded.unwrap_or_else(|| (stream.buffered.raw().clone(), 0));
            (text.shaped_as(&shape), redraws)
        });
        let shown = show(texts.each_ref().map(|(text, _)| text), window);
        for ((report, shown), (text, redraws)) in reports.iter_mut().zip(shown).zip(texts) {
            let (total_bytes, lines) = (text.total_bytes(), text.lines());
            report.folded = Some(FoldedOutput { shown, total_bytes, lines, redraws });
        }
    }
    reports
}

fn report(shown: Shown, stream: &HeadTailBuffer) -> StreamReport {
    let (total_bytes, lines) = (stream.total_bytes(), stream.lines());
    StreamReport { shown, total_bytes, lines, saved: None, folded: None }
}

/// The shown part of both streams. In a shared window, one stream can use the space that the other
/// stream does not need.
fn show(streams: [&HeadTailBuffer; 2], window: OutputWindow) -> [Shown; 2] {
    match window {
        OutputWindow::Each(_) => streams.map(HeadTailBuffer::shown),
        OutputWindow::Shared(room) => {
            let [first, second] = streams;
            let [first_share, second_share] =
                split_between(room, streams.map(HeadTailBuffer::size));
            [first.shown_within(first_share), second.shown_within(second_share)]
        }
    }
}
