//! The server's configuration: flags, then `EYELET_*` variables, then the user's file. eyelet reads no
//! file of the project: such a file could grant itself permissions.
//!
//! The values of lower layers are turned into flags and parsed together with the command line, which
//! means that valid values are defined once, with the flag.

mod layers;
mod settings;

pub(crate) use layers::{
    EffectiveSetting, Source, effective, flag_before_command, variable_flags, with_layers,
};
pub(crate) use settings::{Kind, SERVER_POLICY, is_list, kind};
