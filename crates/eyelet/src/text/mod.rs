//! Truncating, paging, counting and escaping of text. Pure: nothing here accesses the system.

pub(crate) mod command_reply;
pub(crate) mod entry_tree;
pub(crate) mod escape;
pub(crate) mod head_tail;
pub(crate) mod image_type;
pub(crate) mod line_page;
pub(crate) mod listing_page;
pub(crate) mod newest_page;
pub(crate) mod removed_files;
pub(crate) mod reply_budget;
pub(crate) mod truncate;
