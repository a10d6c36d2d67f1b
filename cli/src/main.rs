//! The program `hyperslab`.

use std::process::ExitCode;

fn main() -> ExitCode {
    hyperslab_cli::main()
}
