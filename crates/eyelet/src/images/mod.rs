//! Makes images safe to send: checks that they are complete, scales down large ones, shows parts.
//! Pure: nothing here accesses the system.

pub(crate) mod container;
pub(crate) mod decode;
pub(crate) mod image_type;
pub(crate) mod prepare;
pub(crate) mod region;
