//! The program `eyelet`.

use std::process::ExitCode;

fn main() -> ExitCode {
    eyelet_cli::main()
}
