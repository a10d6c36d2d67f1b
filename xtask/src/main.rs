//! The project's developer commands: `cargo xtask demo | test | bench | npm | setup`.

mod bench;
mod demo;
mod fuzz;
mod npm;
mod run;
mod setup;
mod test;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo     real arrays as a mounted folder and in a browser
  test     every check, with what it needs set up first; `test NAME…` runs only the steps so named
  npm      builds the npm package `hyperslab` from the wasm crate
  bench    the benchmarks
  fuzz     libFuzzer over every decoder and filter: `fuzz SECONDS [NAME…]`
  setup    installs what the other commands need, and says what it cannot install
  golden   makes the sample arrays of old library versions anew (downloads old wheels)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let outcome = match command {
        "demo" => demo::run(rest),
        "test" => test::run(rest),
        "npm" => npm::run(),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "setup" => setup::run(),
        "golden" => test::golden(),
        "help" | "-h" | "--help" => {
            println!("{USAGE}");
            Ok(())
        }
        other => Err(format!("there is no command '{other}'\n{USAGE}")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::FAILURE
        }
    }
}
