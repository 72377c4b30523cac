//! A table of numbers with one column of names, which comes last because it has no fixed width.

use unicode_width::UnicodeWidthStr as _;

/// Columns are dropped until the names have this width.
const MIN_NAME_WIDTH: usize = 24;
/// Columns that are never dropped.
const MIN_COLUMNS: usize = 2;
const GAP: usize = 2;
const ELLIPSIS: &str = "…";

/// Which part of a long name is shown.
#[derive(Clone, Copy, Debug)]
pub(super) enum Keep {
    Start,
    /// The end of a path says more than its start.
    End,
}

pub(super) struct Table {
    columns: Vec<&'static str>,
    name: &'static str,
    rows: Vec<Row>,
}

struct Row {
    cells: Vec<String>,
    name: String,
    keep: Keep,
}

impl Table {
    pub(super) fn new(columns: &[&'static str], name: &'static str) -> Self {
        Table { columns: columns.to_vec(), name, rows: Vec::new() }
    }

    pub(super) fn add(&mut self, cells: impl Into<Vec<String>>, name: String, keep: Keep) {
        self.rows.push(Row { cells: cells.into(), name, keep });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The header and the rows. With a `width`, the last columns are dropped and names are shortened if necessary.
    pub(super) fn lines(&self, width: Option<usize>) -> Vec<String> {
        let mut widths: Vec<_> = self.columns.iter().map(|column| column.width()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(&row.cells) {
                *width = cell.width().max(*width);
            }
        }
        let before_name = |widths: &[usize]| widths.iter().map(|width| width + GAP).sum::<usize>();
        let longest = self.rows.iter().map(|row| row.name.width()).max().unwrap_or_default();
        if let Some(width) = width {
            let needed = longest.min(MIN_NAME_WIDTH);
            while widths.len() > MIN_COLUMNS && before_name(&widths) + needed > width {
                widths.pop();
            }
        }
        let name_width = width.map(|width| width.saturating_sub(before_name(&widths)).max(1));
        let line = |cells: &mut dyn Iterator<Item = &str>, name: &str, keep: Keep| {
            let mut line = String::new();
            for (cell, width) in cells.zip(&widths) {
                line.push_str(&" ".repeat(width.saturating_sub(cell.width())));
                line.push_str(cell);
                line.push_str(&" ".repeat(GAP));
            }
            line + &name_width.map_or(name.to_owned(), |width| shorten(name, width, keep))
        };
        let header = line(&mut self.columns.iter().copied(), self.name, Keep::Start);
        let rows = self
            .rows
            .iter()
            .map(|row| line(&mut row.cells.iter().map(String::as_str), &row.name, row.keep));
        std::iter::once(header).chain(rows).collect()
    }
}

/// The start or the end of a text, in at most `width` columns of a terminal.
pub(super) fn shorten(text: &str, width: usize, keep: Keep) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(ELLIPSIS.width());
    let mut fits = |character: &char| {
        let wide = character.encode_utf8(&mut [0; 4]).width();
        let fits = wide <= room;
        room = if fits { room - wide } else { 0 };
        fits
    };
    match keep {
        Keep::Start => text.chars().take_while(|next| fits(next)).collect::<String>() + ELLIPSIS,
        Keep::End => {
            let end: Vec<_> = text.chars().rev().take_while(|next| fits(next)).collect();
            ELLIPSIS.chars().chain(end.into_iter().rev()).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortened_text_fits_into_its_width() {
        assert_eq!(shorten("/a/bc", 5, Keep::End), "/a/bc");
        assert_eq!(shorten("/a/bc", 4, Keep::End), "…/bc");
        assert_eq!(shorten("make all", 5, Keep::Start), "make…");
        // Wide characters take two columns.
        assert_eq!(shorten("漢字漢字", 6, Keep::End), "…漢字");
        assert_eq!(shorten("漢字漢字", 6, Keep::Start), "漢字…");
        assert_eq!(shorten("漢a漢", 3, Keep::End), "…漢");
        assert_eq!(shorten("abc", 0, Keep::Start), "…");
    }
}
