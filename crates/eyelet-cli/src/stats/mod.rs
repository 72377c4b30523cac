//! The context report of `eyelet stats`: what recorded calls put into the contexts of models.
//!
//! `record_file` reads the lines of a record. `collector` adds them up in bounded memory, with a `ledger` for each
//! kind of row and a `timeline`, and returns a `ContextReport`. `text` renders the report for a terminal or a pipe,
//! and `page` as HTML; both use the words of `words`. The JSON form is the report itself.

mod collector;
mod ledger;
mod page;
mod page_charts;
mod page_tables;
mod record_file;
mod report;
mod text;
mod text_table;
mod timeline;
mod words;

pub(crate) use collector::Collector;
pub(crate) use page::page;
pub(crate) use record_file::{Unreadable, add_file};
pub(crate) use text::{Screen, text};
