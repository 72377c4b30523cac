//! Reads a page of lines from a file and counts all its lines, and the bytes that are not UTF-8.
//!
//! A small file is read once, from start to end. Threads count the newlines of a large file in
//! blocks first; the counts say which block the page starts in, and which blocks are inside a long
//! line.

use std::io;
use std::sync::Mutex;

use crate::cancel::{Stop, StopCheck};
use crate::progress::Progress;
use crate::text::line_page::{LineScan, PageLines, PagePart, PageRequest};
use crate::text::page_scan::PageScan;
use crate::text::tail_page::TailScan;
use crate::text::utf8_check::Utf8Check;

use crate::cpu_count::cpu_count;
use crate::fs::regular_file::{CHUNK_BYTES, RegularFile};

/// Smaller files are faster on one thread.
const PARALLEL_FROM_BYTES: u64 = 8 * 1024 * 1024;

/// How much a thread counts at a time.
const BLOCK_BYTES: u64 = 4 * 1024 * 1024;

/// More threads do not read one file faster.
const MAX_THREADS: usize = 8;

/// A page, and whether the file was read to its end, so that the totals are exact.
pub(crate) struct LinePageResult {
    pub(crate) lines: PageLines,
    pub(crate) exact: bool,
    /// How many bytes of the file are not UTF-8.
    pub(crate) invalid_bytes: u64,
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
    let mut scan = PageScan::new(page);
    let mut utf8 = Utf8Check::new();
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut position = 0;
    while let Some(piece) = file.read_at(position, &mut buffer)? {
        position += piece.len() as u64;
        progress.add(piece.len() as u64);
        scan.push(piece);
        utf8.push(piece);
        if let Err(stop) = stop_check.check() {
            return stopped(stop, scan, utf8);
        }
    }
    Ok(LinePageResult { lines: scan.finish(), exact: true, invalid_bytes: utf8.finish() })
}

/// Returns the lines read so far after a timeout; fails if there are none or the call was
/// cancelled.
pub(super) fn stopped(
    stop: Stop,
    scan: PageScan,
    utf8: Utf8Check,
) -> Result<LinePageResult, ReadFailure> {
    let lines = match stop {
        Stop::TimedOut => scan.finish_early(),
        Stop::Cancelled => None,
    };
    let lines = lines.ok_or(ReadFailure::Stopped(stop))?;
    Ok(LinePageResult { lines, exact: false, invalid_bytes: utf8.finish() })
}

/// A range of data and what it contains.
struct Block {
    start: u64,
    end: u64,
    newlines: u64,
    utf8: Utf8Check,
}

fn read_in_parallel(
    file: &RegularFile,
    size: u64,
    page: PageRequest,
    stop_check: &StopCheck,
    progress: &Progress,
) -> Result<LinePageResult, ReadFailure> {
    let (mut blocks, stop) = count_blocks_in_parallel(file, stop_check, progress)?;
    let newlines = blocks.iter().map(|block| block.newlines).sum();
    let utf8 = join_checks(&mut blocks);
    if page.part == PagePart::Tail {
        if let Some(stop) = stop {
            return Err(ReadFailure::Stopped(stop));
        }
        let lines = read_tail(file, size, &blocks, newlines, page)?;
        return Ok(LinePageResult { lines, exact: true, invalid_bytes: utf8.finish() });
    }
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
        return stopped(stop, PageScan::FromOffset(scan), utf8);
    }
    let mut last = [0];
    // If the file was truncated meanwhile, there is no byte here.
    let is_open = file.read_at(size - 1, &mut last)?.is_some_and(|last| last != b"\n");
    let lines = scan.finish_with(newlines, is_open);
    Ok(LinePageResult { lines, exact: true, invalid_bytes: utf8.finish() })
}

/// Joins what the threads found out about the characters of each block.
fn join_checks(blocks: &mut [Block]) -> Utf8Check {
    let mut utf8 = Utf8Check::new();
    let mut position = 0;
    for block in blocks {
        if block.start > position {
            utf8.push_hole();
        }
        position = block.end;
        utf8.append(std::mem::take(&mut block.utf8));
    }
    utf8
}

/// Reads the last lines, from the last block that enough lines follow.
fn read_tail(
    file: &RegularFile,
    size: u64,
    blocks: &[Block],
    newlines: u64,
    page: PageRequest,
) -> io::Result<PageLines> {
    // One more line than the page has: the first one may start in an earlier block.
    let mut after = 0;
    let mut first = blocks.len();
    while let Some(block) = first.checked_sub(1).and_then(|first| blocks.get(first)) {
        if after > page.limit {
            break;
        }
        after += block.newlines;
        first -= 1;
    }
    let mut scan = TailScan::after(page, newlines - after);
    let mut buffer = vec![0; CHUNK_BYTES];
    let from_block = blocks.get(first).filter(|_| first > 0);
    let mut position = from_block.map_or(0, |block| block.start);
    for block in blocks.get(first..).unwrap_or_default() {
        scan.push_hole(block.start - position);
        position = block.start;
        while position < block.end {
            let Some(piece) = read_within(file, position, block.end, &mut buffer)? else {
                // The file was truncated meanwhile.
                return Ok(scan.finish());
            };
            position += piece.len() as u64;
            scan.push(piece);
        }
    }
    scan.push_hole(size - position);
    Ok(scan.finish())
}

/// Reads at `position`, at most up to `end`.
fn read_within<'b>(
    file: &RegularFile,
    position: u64,
    end: u64,
    buffer: &'b mut [u8],
) -> io::Result<Option<&'b [u8]>> {
    let most = usize::try_from(end - position).unwrap_or(CHUNK_BYTES).min(CHUNK_BYTES);
    file.read_at(position, buffer.get_mut(..most).unwrap_or_default())
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
            // The file was truncated meanwhile.
            let Some(piece) = read_within(file, position, block.end, &mut buffer)? else {
                return Ok(());
            };
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

/// Examines each block, in order; only the first blocks after a timeout.
fn count_blocks_in_parallel(
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
            let utf8 = Utf8Check::part();
            queue.blocks.push(Block { start, end, newlines: 0, utf8 });
            (queue.blocks.len() - 1, start, end)
        };
        let mut newlines = 0;
        let mut utf8 = Utf8Check::part();
        let mut position = start;
        while position < end {
            let Some(piece) = read_within(file, position, end, &mut buffer)? else { break };
            position += piece.len() as u64;
            progress.add(piece.len() as u64);
            newlines += memchr::memchr_iter(b'\n', piece).count() as u64;
            utf8.push(piece);
        }
        if let Some(block) = lock().blocks.get_mut(index) {
            block.newlines = newlines;
            block.utf8 = utf8;
        }
    }
}

#[cfg(test)]
#[path = "read_line_page_tests.rs"]
mod tests;
