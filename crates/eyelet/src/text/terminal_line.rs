//! One line of a terminal: text, and a cursor that returns and overwrites it.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthChar as _;

/// The number of columns in which text is folded. Text in later columns is not folded.
pub(crate) const MAX_COLUMNS: usize = 64 * 1024;
/// The distance of tab stops.
const TAB_COLUMNS: usize = 8;

/// A column without text. Not a character.
const BLANK: u32 = u32::MAX;
/// A further column of a wide character or a tab. Not a character.
const REST: u32 = u32::MAX - 1;

/// A line of text and the cursor in it.
#[derive(Clone, Default)]
pub(crate) struct TerminalLine {
    /// A character, [`BLANK`] or [`REST`] for each column.
    columns: Vec<u32>,
    /// Characters without a width, such as accents, by the column before which they are.
    marks: BTreeMap<usize, String>,
    mark_bytes: usize,
    cursor: usize,
    /// Whether text was overwritten or erased since the cursor last returned.
    is_redrawn: bool,
    redraws: u64,
}

/// Where a character was printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Place {
    /// In the line.
    Line,
    /// Beyond [`MAX_COLUMNS`].
    Beyond,
}

impl TerminalLine {
    /// How often text was redrawn, in all lines.
    pub(crate) fn redraws(&self) -> u64 {
        self.redraws
    }

    /// Whether the next character is beyond [`MAX_COLUMNS`].
    pub(crate) fn is_beyond(&self) -> bool {
        self.cursor >= MAX_COLUMNS
    }

    /// Prints a character at the cursor.
    pub(crate) fn print(&mut self, character: char) -> Place {
        // Control characters have no width.
        let width = character.width().unwrap_or(0);
        let end = self.cursor + width;
        if self.is_beyond() || end > MAX_COLUMNS {
            self.cursor = end;
            return Place::Beyond;
        }
        if width == 0 {
            return self.mark(character);
        }
        self.fill_to_cursor();
        self.clear(self.cursor, end);
        if self.columns.len() < end {
            self.columns.resize(end, BLANK);
        }
        let mut content = u32::from(character);
        for column in self.columns.get_mut(self.cursor..end).unwrap_or_default() {
            *column = content;
            content = REST;
        }
        self.cursor = end;
        Place::Line
    }

    /// Adds a character without a width.
    fn mark(&mut self, character: char) -> Place {
        if self.mark_bytes + character.len_utf8() > MAX_COLUMNS {
            return Place::Beyond;
        }
        self.fill_to_cursor();
        self.mark_bytes += character.len_utf8();
        self.marks.entry(self.cursor).or_default().push(character);
        Place::Line
    }

    /// Moves the cursor to the next tab stop. Text that is there stays.
    pub(crate) fn tab(&mut self) -> Place {
        if self.is_beyond() {
            self.cursor += 1;
            return Place::Beyond;
        }
        let stop = (self.cursor / TAB_COLUMNS + 1) * TAB_COLUMNS;
        self.fill_to_cursor();
        if self.columns.len() < stop {
            self.columns.push(u32::from('\t'));
            self.columns.resize(stop, REST);
        }
        self.cursor = stop;
        Place::Line
    }

    /// Moves the cursor to the first column.
    pub(crate) fn carriage_return(&mut self) {
        self.end_stretch();
        self.cursor = 0;
    }

    /// Moves the cursor back by a column.
    pub(crate) fn backspace(&mut self) {
        self.end_stretch();
        self.cursor = self.cursor.saturating_sub(1);
    }

    /// Moves the cursor to a column, counting from 0.
    pub(crate) fn move_to(&mut self, column: usize) {
        self.cursor = column;
    }

    /// Erases the text from the cursor to the end.
    pub(crate) fn erase_to_end(&mut self) {
        self.clear(self.cursor, self.columns.len());
        self.remove_marks(self.cursor + 1, usize::MAX - 1);
        self.columns.truncate(self.cursor);
    }

    /// Erases the text from the start to the cursor, and the column of the cursor.
    pub(crate) fn erase_to_start(&mut self) {
        self.remove_marks(0, 0);
        self.clear(0, self.cursor.saturating_add(1));
    }

    /// Erases all text.
    pub(crate) fn erase_all(&mut self) {
        self.remove_marks(0, 0);
        self.clear(0, self.columns.len());
        self.columns.clear();
    }

    /// Ends the line: appends its text to `text`, and starts an empty one.
    pub(crate) fn finish(&mut self, text: &mut String) {
        self.end_stretch();
        let last = self.columns.iter().rposition(|column| *column != BLANK);
        let last_mark = self.marks.last_key_value().map_or(0, |(column, _)| *column);
        let end = last.map_or(0, |last| last + 1).max(last_mark);
        let mut marks = std::mem::take(&mut self.marks).into_iter().peekable();
        for (column, content) in self.columns.iter().take(end).enumerate() {
            if let Some((_, characters)) = marks.next_if(|(before, _)| *before == column) {
                text.push_str(&characters);
            }
            match *content {
                BLANK => text.push(' '),
                REST => {}
                character => text.extend(char::from_u32(character)),
            }
        }
        text.extend(marks.map(|(_, characters)| characters));
        self.columns.clear();
        self.mark_bytes = 0;
        self.cursor = 0;
    }

    /// The cursor returns, or the line ends.
    fn end_stretch(&mut self) {
        self.redraws += u64::from(std::mem::take(&mut self.is_redrawn));
    }

    fn fill_to_cursor(&mut self) {
        if self.columns.len() < self.cursor {
            self.columns.resize(self.cursor, BLANK);
        }
    }

    /// Makes columns blank. A wide character or tab that is partly in them disappears.
    fn clear(&mut self, start: usize, end: usize) {
        let end = end.min(self.columns.len());
        let Some(cleared) = self.columns.get(start..end).filter(|cleared| !cleared.is_empty())
        else {
            return;
        };
        if cleared.iter().all(|column| *column == BLANK) {
            return;
        }
        self.is_redrawn = true;
        let is_rest = |column: &&u32| **column == REST;
        let (before, after) = self.columns.split_at(end);
        let after = after.iter().take_while(is_rest).count();
        let before = before.iter().take(start + 1).rev().take_while(is_rest).count();
        let start = start.saturating_sub(before);
        self.columns.get_mut(start..end + after).unwrap_or_default().fill(BLANK);
        self.remove_marks(start + 1, end);
    }

    /// Removes the marks before these columns.
    fn remove_marks(&mut self, first: usize, last: usize) {
        if self.marks.is_empty() || first > last {
            return;
        }
        let mut removed = self.marks.split_off(&first);
        self.marks.extend(removed.split_off(&(last + 1)));
        self.mark_bytes -= removed.values().map(String::len).sum::<usize>();
    }
}

#[cfg(test)]
#[path = "terminal_line_tests.rs"]
mod tests;
