//! Reads a page of lines from a file and counts all its lines.
//!
//! A small file is read once, from start to end. Threads count the newlines of a large file in
//! blocks first; the counts say which block the page starts in, and which blocks are inside a long
//! line.

use std::io;
use std::sync::Mutex;

use crate::cancel::{Stop, StopCheck};
use crate::progress::Progress;
use crate::text::line_page::{LineScan, PageLines, PageRequest};

use crate::cpu_count::cpu_count;
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};

/// Smaller files are faster on one thread.
const PARALLEL_FROM_BYTES: u64 = 8 * 1024 * 1024;

/// How much a thread counts at a time.
const BLOCK_BYTES: u64 = 4 * 1024 * 1024;

/// More threads do not read one file faster.
const MAX_THREADS: usize = 8;

/// A page, and whether the total is exact.
pub(crate) struct LinePageResult {
    pub(crate) lines: PageLines,
    pub(crate) exact: bool,
}

/// Why no page was read.
pub(crate) enum ReadFailure {
    Stopped(Stop),
    Io(io::Error),
}

impl From<io::Error> for ReadFailure {
    fn from(error: io::Error) -> Self {
        ReadFailure::Io(error)
    }
}

/// Reads the page. After a timeout it returns the lines it has, if any.
pub(crate) fn read_page(
    file: &RegularFile,
    page: PageRequest,
    stop_check: &StopCheck,
    progress: &Progress,
) -> Result<LinePageResult, ReadFailure> {
    match file.size() {
        Some(size) if size >= PARALLEL_FROM_BYTES => {
            read_in_parallel(file, size, page, stop_check, progress)
        }
        Some(_) | None => read_sequentially(file, page, stop_check, progress),
    }
}

fn read_sequentially(
    file: &RegularFile,
    page: PageRequest,
    stop_check: &StopCheck,
    progress: &Progress,
) -> Result<LinePageResult, ReadFailure> {
    let mut scan = LineScan::new(page);
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut position = 0;
    while let Some(piece) = file.read_at(position, &mut buffer)? {
        position += piece.len() as u64;
        progress.add(piece.len() as u64);
        scan.push(piece);
        if let Err(stop) = stop_check.check() {
            return stopped(stop, scan);
        }
    }
    Ok(LinePageResult { lines: scan.finish(), exact: true })
}

/// Returns the lines read so far after a timeout; fails if there are none or the call was
/// cancelled.
fn stopped(stop: Stop, scan: LineScan) -> Result<LinePageResult, ReadFailure> {
    match stop {
        Stop::TimedOut if scan.lines_shown() > 0 => {
            Ok(LinePageResult { lines: scan.finish_early(), exact: false })
        }
        Stop::TimedOut | Stop::Cancelled => Err(ReadFailure::Stopped(stop)),
    }
}

/// A range of data and its number of newlines.
#[derive(Clone, Copy)]
struct Block {
    start: u64,
    end: u64,
    newlines: u64,
}

fn read_in_parallel(
    file: &RegularFile,
    size: u64,
    page: PageRequest,
    stop_check: &StopCheck,
    progress: &Progress,
) -> Result<LinePageResult, ReadFailure> {
    let (blocks, stop) = count_newlines(file, stop_check, progress)?;
    let newlines = blocks.iter().map(|block| block.newlines).sum();
    // The page starts in the first block that does not end before it.
    let mut before = 0;
    let mut first = 0;
    for block in &blocks {
        if before + block.newlines >= page.offset - 1 {
            break;
        }
        before += block.newlines;
        first += 1;
    }
    let mut scan = LineScan::after(page, before);
    let end = if stop.is_some() { blocks.last().map_or(0, |block| block.end) } else { size };
    if first < blocks.len() || before == page.offset - 1 {
        read_blocks(file, blocks.get(first..).unwrap_or_default(), first == 0, end, &mut scan)?;
    }
    if let Some(stop) = stop {
        scan.raise_total(newlines);
        return stopped(stop, scan);
    }
    let mut last = [0];
    // If the file was truncated meanwhile, there is no byte here.
    let is_open = file.read_at(size - 1, &mut last)?.is_some_and(|last| last != b"\n");
    Ok(LinePageResult { lines: scan.finish_with(newlines, is_open), exact: true })
}

/// Reads blocks, and the holes between them, until the page is full.
fn read_blocks(
    file: &RegularFile,
    blocks: &[Block],
    from_start: bool,
    end: u64,
    scan: &mut LineScan,
) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut position = match blocks.first() {
        Some(block) if !from_start => block.start,
        Some(_) | None => 0,
    };
    for block in blocks {
        scan.push_hole(block.start - position);
        position = block.start;
        if block.newlines == 0 && scan.is_window_full() {
            // The middle of a long line: only its last byte matters.
            scan.skip_bytes(block.end - 1 - position);
            position = block.end - 1;
        }
        while position < block.end && !scan.is_page_full() {
            let most =
                usize::try_from(block.end - position).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let space = buffer.get_mut(..most).unwrap_or_default();
            // The file was truncated meanwhile.
            let Some(piece) = file.read_at(position, space)? else { return Ok(()) };
            position += piece.len() as u64;
            scan.push(piece);
        }
        if scan.is_page_full() {
            return Ok(());
        }
    }
    scan.push_hole(end - position);
    Ok(())
}

/// Counts the newlines of each block, in order; of the first blocks only after a timeout.
fn count_newlines(
    file: &RegularFile,
    stop_check: &StopCheck,
    progress: &Progress,
) -> io::Result<(Vec<Block>, Option<Stop>)> {
    let queue = Mutex::new(BlockQueue { position: 0, blocks: Vec::new(), stop: None });
    let threads = cpu_count().min(MAX_THREADS);
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .filter_map(|_| {
                // If a thread cannot be started, the others do its work.
                std::thread::Builder::new()
                    .spawn_scoped(scope, || count_blocks(file, &queue, stop_check, progress))
                    .ok()
            })
            .collect();
        let mut result = count_blocks(file, &queue, stop_check, progress);
        for other in others {
            result = result
                .and(other.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed"))));
        }
        result
    })?;
    let queue = queue.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    Ok((queue.blocks, queue.stop))
}

/// What the threads share: where the next block starts, and the blocks handed out so far.
struct BlockQueue {
    position: u64,
    blocks: Vec<Block>,
    stop: Option<Stop>,
}

fn count_blocks(
    file: &RegularFile,
    queue: &Mutex<BlockQueue>,
    stop_check: &StopCheck,
    progress: &Progress,
) -> io::Result<()> {
    let lock = || queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut buffer = vec![0; CHUNK_BYTES];
    loop {
        let (index, start, end) = {
            let mut queue = lock();
            if queue.stop.is_some() {
                return Ok(());
            }
            if let Err(stop) = stop_check.check() {
                queue.stop = Some(stop);
                return Ok(());
            }
            let Some((start, end)) = file.next_data(queue.position)? else { return Ok(()) };
            let end = end.min(start + BLOCK_BYTES);
            queue.position = end;
            queue.blocks.push(Block { start, end, newlines: 0 });
            (queue.blocks.len() - 1, start, end)
        };
        let mut newlines = 0;
        let mut position = start;
        while position < end {
            let most = usize::try_from(end - position).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
            let space = buffer.get_mut(..most).unwrap_or_default();
            let Some(piece) = file.read_at(position, space)? else { break };
            position += piece.len() as u64;
            progress.add(piece.len() as u64);
            newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
        }
        if let Some(block) = lock().blocks.get_mut(index) {
            block.newlines = newlines;
        }
    }
}

#[cfg(test)]
#[path = "read_line_page_tests.rs"]
mod tests;
