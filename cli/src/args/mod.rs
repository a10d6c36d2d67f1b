//! The command line as clap sees it.

mod cells;
mod examples;
mod export;
mod folders;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;

pub(crate) use self::cells::{Append, Create, Import, Info, Schema, TextOptions, Write};
pub(crate) use self::export::{Agg, Coordinates, Export, Order};
pub(crate) use self::folders::{Copy, Group, Ls, Method, Overviews, Publish, Serve, View};
pub(crate) use self::upkeep::{Consolidate, Delete, Evolve, Index, Meta, Mode, Snapshot, Vacuum, Verify};
use crate::formats::{ImportFormat, Input, Output, endings};
use crate::lists::{split, split_names};

/// Reads, writes and maintains TileDB arrays.
///
/// ARRAY is a path or a URL (file:, s3:, gs:, az:, http:, https:). `-` is standard input or output.
///
/// A time is ISO 8601, as in 2026, 2026-03, 2026-03-01 or 2026-03-01T12:30, in UTC unless it has an offset. Other
/// numbers are milliseconds since 1970; write 2000ms if the number looks like a year or a date. A year, a month or
/// a day is a whole period: --at 2026-03-01 reads everything until the end of that day, and --timestamp 2026-03-01
/// writes at its start.
#[derive(Debug, Parser)]
#[command(
    name = "hyperslab",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = examples::PROGRAM
)]
pub(crate) struct Cli {
    /// Read the key of encrypted arrays from this file of 32 bytes or 64 hex digits
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// Show no progress bars
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// Parses the program's arguments. Treats `meta ARRAY get KEY` as `meta get ARRAY KEY`.
    ///
    /// # Errors
    /// The arguments are invalid, or ask for help.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        Self::read_from(std::env::args_os())
    }

    fn read_from(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut cli = Self::try_parse_from(words)?;
        cli.command
            .split_lists()
            .map_err(|why| Self::command().error(ErrorKind::ValueValidation, why))?;
        let Command::Meta(Meta::ArrayFirst(words)) = &cli.command else {
            return Ok(cli);
        };
        let array = words.first().map_or("", String::as_str);
        let Some(action) = words
            .get(1)
            .filter(|a| ["ls", "get", "set", "rm"].contains(&a.as_str()))
        else {
            let why = format!("meta has no command '{array}'; write `hyperslab meta ls ARRAY`, or get, set or rm");
            return Err(Self::command().error(ErrorKind::InvalidSubcommand, why));
        };
        let rest = words.iter().skip(2).map(String::as_str);
        let again = Self::try_parse_from(["hyperslab", "meta", action, array].into_iter().chain(rest))?;
        Ok(Self {
            key_file: again.key_file.or(cli.key_file),
            quiet: again.quiet || cli.quiet,
            command: again.command,
        })
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Create an empty array
    #[command(after_help = examples::CREATE)]
    Create(Create),
    /// Print the schema as JSON
    #[command(after_help = examples::SCHEMA)]
    Schema(Schema),
    /// Show what an array or a group holds, and the fragments, times and sizes of an array
    #[command(after_help = examples::INFO)]
    Info(Info),
    /// Export cells to a file
    #[command(about = format!("Export cells to a file: {}", endings::<Output>()), after_help = examples::EXPORT)]
    Export(Export),
    /// Write a file's cells into an array, as one fragment
    #[command(about = format!("Write a file's cells into an array, as one fragment: {}", endings::<Input>()), after_help = examples::WRITE)]
    Write(Write),
    /// Create an array from a file
    #[command(about = format!("Create an array or a group from a file: {}", endings::<ImportFormat>()), after_help = examples::IMPORT, override_usage = "hyperslab import [OPTIONS] <IN>... <ARRAY>")]
    Import(Import),
    /// Add the cells of the next files along the first axis of what `import` made of a file
    #[command(after_help = examples::APPEND, override_usage = "hyperslab append [OPTIONS] <IN>... <ARRAY>")]
    Append(Append),
    /// Show and change the metadata of an array or a group
    #[command(subcommand, after_help = examples::META)]
    Meta(Meta),
    /// Delete the cells of a sparse array that meet a condition
    #[command(after_help = examples::DELETE)]
    Delete(Delete),
    /// Change the schema: attributes, enumerations, current domain
    #[command(after_help = examples::EVOLVE)]
    Evolve(Evolve),
    /// Merge fragments, or their metadata, commits or array metadata
    #[command(after_help = examples::CONSOLIDATE)]
    Consolidate(Consolidate),
    /// Remove files that consolidation has replaced
    #[command(after_help = examples::VACUUM)]
    Vacuum(Vacuum),
    /// Create groups, and add and remove members
    #[command(subcommand, after_help = examples::GROUP)]
    Group(Group),
    /// List the arrays and groups in a folder, with shapes and types
    #[command(after_help = examples::LS)]
    Ls(Ls),
    /// List the arrays and groups in a folder and in its folders, as a tree
    #[command(after_help = examples::TREE)]
    Tree(Ls),
    /// Read and check every tile of every fragment
    #[command(after_help = examples::VERIFY)]
    Verify(Verify),
    /// Write `__manifest.json`, so that a host without listings can serve the array
    ///
    /// Commands that change the array update the file. Run this again after changes by other programs.
    #[command(after_help = examples::INDEX)]
    Index(Index),
    /// Print a snapshot of an array: bytes from which other processes open it without listings and metadata
    ///
    /// `export` and `info` take it as --snapshot.
    #[command(after_help = examples::SNAPSHOT)]
    Snapshot(Snapshot),
    /// Serve a folder over HTTP, with ranges, CORS and listings
    #[command(after_help = examples::SERVE)]
    Serve(Serve),
    /// Show an array, a group or a folder of arrays in a browser
    ///
    /// The page can be opened only on this machine. Its address has a secret part, and other pages cannot read it. Nothing
    /// but what is shown can be read. The browser is started with the address, so other users of this machine may see it
    /// in the list of processes: use --no-open, and open the address that is printed. Ends with Ctrl-C.
    #[command(after_help = examples::VIEW)]
    View(View),
    /// Write a folder with the viewer and an array or a group, which any static host serves
    #[command(after_help = examples::PUBLISH)]
    Publish(Publish),
    /// Copy an array, a group or a folder between stores
    #[command(after_help = examples::COPY)]
    Copy(Copy),
    /// Create smaller copies of a dense array next to it, for viewers
    #[command(after_help = examples::OVERVIEWS)]
    Overviews(Overviews),
    /// Print a script with which a shell completes the arguments of this program
    #[command(after_help = examples::COMPLETIONS)]
    Completions { shell: Shell },
    /// Write a man page for each command into a folder
    #[command(hide = true)]
    Man { folder: PathBuf },
}

impl Command {
    /// Splits the options that are lists at commas. An option may be given several times.
    fn split_lists(&mut self) -> Result<(), String> {
        match self {
            Self::Export(args) => split_names("--attrs", args.pick.attrs.as_mut()),
            Self::Import(args) => {
                split_names("--attrs", args.attrs.as_mut())?;
                split_names("--dims", args.dims.as_mut())?;
                split("--tile", args.tile.as_mut())?;
                split("--domain", Some(&mut args.domain))?;
                split("--types", Some(&mut args.types))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Command as Page;

    use super::*;

    /// The pages of the commands below `page`, with the words that lead to each.
    fn pages(page: &Page, path: &str, out: &mut Vec<(String, Page)>) {
        out.push((path.to_owned(), page.clone()));
        for inner in page.get_subcommands().filter(|c| !c.is_hide_set()) {
            pages(inner, &format!("{path} {}", inner.get_name()), out);
        }
    }

    /// Splits a line as a shell does, up to a redirection.
    fn words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quote = None;
        for c in line.chars() {
            match (quote, c) {
                (None, '>') if words.last().is_some_and(String::is_empty) => break,
                (None, '"' | '\'') => quote = Some(c),
                (Some(q), c) if c == q => quote = None,
                (None, ' ') => words.push(String::new()),
                _ => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn every_page_has_examples_that_parse() {
        let mut all = Vec::new();
        pages(&Cli::command(), "hyperslab", &mut all);
        assert!(all.len() > 20, "{}", all.len());
        for (path, page) in all {
            let text = page.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples: Vec<&str> = text.lines().filter(|l| l.starts_with("  hyperslab ")).collect();
            assert!(!examples.is_empty(), "{path} has no example");
            for example in &examples {
                let read = Cli::read_from(words(example).into_iter().map(OsString::from));
                assert!(read.is_ok(), "{path}: {example}: {}", read.unwrap_err());
            }
            let shows = |example: &&str| example.trim_start().starts_with(&path);
            assert!(examples.iter().any(shows), "{path}: {examples:?}");
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }
}
