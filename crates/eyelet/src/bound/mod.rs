//! Cutting, paging and counting. Pure: nothing here touches the system.

pub(crate) mod budget;
pub(crate) mod capture;
pub(crate) mod cut;
pub(crate) mod image;
pub(crate) mod lines;
pub(crate) mod listing;
pub(crate) mod names;
pub(crate) mod newest;
pub(crate) mod removed;
pub(crate) mod stream_text;
pub(crate) mod tally;
pub(crate) mod tree;
