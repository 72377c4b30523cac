//! The server's configuration: flags, then `EYELET_*` variables, then the user's file. eyelet reads no
//! file of the project, so that none can widen the permissions.
//!
//! The values of lower layers are turned into flags and parsed together with the command line. So the
//! valid values are defined once, with the flag.

mod layers;
mod settings;

pub(crate) use layers::{EffectiveSetting, Source, effective, flag_before_command, with_layers};
pub(crate) use settings::{Kind, is_list, kind};
