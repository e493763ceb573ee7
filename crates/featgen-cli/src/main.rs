//! The program `featgen`.

use std::process::ExitCode;

fn main() -> ExitCode {
    featgen_cli::run(std::env::args_os()).into()
}
