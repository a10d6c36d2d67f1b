//! The project's developer commands: `cargo xtask demo | program | site | test | bench | npm | setup`.

mod bench;
mod compare_files;
mod demo;
mod fuzz;
mod npm;
mod run;
mod setup;
mod site;
mod steps;
mod test;
mod viewer;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  demo     Mount sample arrays as a folder and show them in a browser
  program  Build the released program with the viewer inside, for `hyperslab view`, `serve` and `publish`
  site     Build the book in docs/, the npm reference and the viewer as a website, and check its links
  test     Run every check, after setting up what it needs: `test [STEP …]` or `test STEP FILTER`
  npm      Build the npm package `hyperslab` from the wasm crate
  bench    Run the benchmarks, write bench/results and print the table of ratios; `bench browser` compares the npm
           package with other libraries in Chromium, `bench mount` a mount with other ways to the same cells, `bench formats`
           imports and exports with other libraries
  fuzz     Run libFuzzer on every decoder and filter: `fuzz SECONDS [NAME …]`
  compare-files
           Compare imports of real files with the libraries of their formats, and write the table of
           docs/imported-files.md: `compare-files FOLDER [FORMAT …]`
  setup    Install what the other commands need, and name what could not be installed
  golden   Generate the sample arrays of old library versions again (downloads old wheels)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match args.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let outcome = match command {
        "demo" => demo::run(rest),
        "program" => viewer::program(),
        "site" => site::run(),
        "test" => test::run(rest),
        "npm" => npm::run(),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "compare-files" => compare_files::run(rest),
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
