//! `hyperslab`: TileDB arrays on the command line. This is a library so that the fuzz targets and the mount can call its
//! readers.
//!
//! Each module has one command, or a few related ones. A command takes its options from `args`, opens its array with
//! `store`, calls the engine and prints. `errors` prints an error.

// `println!` and `eprintln!` panic if a pipe is closed. `show::line` and `show::styled` do not.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod append;
mod args;
mod batches;
mod build;
mod cells;
pub mod changes;
mod condition;
mod copy;
mod dictionaries;
mod download;
mod dry_run;
mod errors;
mod evolve;
mod export;
mod for_each_array;
mod formats;
pub mod fuzz;
mod group;
mod import;
mod info;
mod input;
mod leftovers;
mod lists;
mod ls;
mod maintain;
mod manual;
mod meta;
mod output_file;
mod overviews;
mod progress;
mod publish;
pub mod put;
mod schema;
mod serve;
mod show;
mod signals;
pub mod sizes;
mod snapshot;
mod store;
mod time_args;
mod verify;
mod viewer;
mod write;

use std::process::ExitCode;

use anyhow::Result;
use hyperslab::Window;

use args::{Cli, Command};

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    let cli = match Cli::read() {
        Ok(cli) => cli,
        Err(error) => return errors::report_usage(&error),
    };
    signals::install();
    if cli.quiet {
        progress::silence();
    }
    match pollster::block_on(run(&cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => errors::report(&error),
    }
}

async fn run(cli: &Cli) -> Result<()> {
    let env = store::Env::new(store::key(cli.key_file.as_deref())?);
    let done = command(&env, &cli.command).await;
    // A command may have changed something before it failed.
    let renewed = env.renew_manifests().await;
    done.and(renewed)
}

async fn command(env: &store::Env, command: &Command) -> Result<()> {
    match command {
        Command::Create(args) => {
            schema::create(env, args).await?;
            describe_new(env, &args.array, args.json).await
        }
        Command::Schema(args) => schema::schema(env, args).await,
        Command::Info(args) => info::info(env, args).await,
        Command::Export(args) => export::export(env, args).await,
        Command::Write(args) => write::write(env, args).await,
        Command::Import(args) => {
            import::import(env, args).await?;
            describe_new(env, args.array(), args.json && !args.dry_run).await
        }
        Command::Append(args) => append::append(env, args).await,
        Command::Meta(command) => meta::meta(env, command).await,
        Command::Delete(args) => maintain::delete(env, args).await,
        Command::Evolve(args) => evolve::evolve(env, args).await,
        Command::Consolidate(args) => maintain::consolidate(env, args).await,
        Command::Vacuum(args) => maintain::vacuum(env, args).await,
        Command::Group(command) => group::group(env, command).await,
        Command::Ls(args) => ls::ls(env, args, false).await,
        Command::Tree(args) => ls::ls(env, args, true).await,
        Command::Verify(args) => verify::verify(env, args).await,
        Command::Index(args) => verify::index(args).await,
        Command::Snapshot(args) => snapshot::snapshot(env, args).await,
        Command::Serve(args) => serve::serve(env, args),
        Command::View(args) => serve::view(env, args),
        Command::Publish(args) => publish::publish(env, args).await,
        Command::Copy(args) => copy::copy(env, args).await,
        Command::Overviews(args) => overviews::overviews(env, args).await,
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man { folder } => manual::man(folder),
    }
}

/// Prints JSON about the array that a command made, if it was asked for.
async fn describe_new(env: &store::Env, url: &str, json: bool) -> Result<()> {
    if json {
        info::print_json(&env.open(url, Window::ALL).await?, url).await?;
    }
    Ok(())
}
