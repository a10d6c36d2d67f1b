//! The command line as clap sees it.

mod cells;
mod folders;
mod upkeep;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};

pub(crate) use self::cells::{Create, Export, Import, Info, Order, Schema, Write};
pub(crate) use self::folders::{Copy, Group, Ls, Overviews, Serve};
pub(crate) use self::upkeep::{Consolidate, Delete, Evolve, Index, Meta, Mode, Vacuum, Verify};
use crate::formats::{Input, Output, endings};
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
    arg_required_else_help = true
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
    Create(Create),
    /// Print the schema as JSON
    Schema(Schema),
    /// Show fragments, times, domains, cells, bytes and compression
    Info(Info),
    /// Export cells to a file
    #[command(about = format!("Export cells to a file: {}", endings::<Output>()))]
    Export(Export),
    /// Write a file's cells into an array, as one fragment
    #[command(about = format!("Write a file's cells into an array, as one fragment: {}", endings::<Input>()))]
    Write(Write),
    /// Create an array from a file
    #[command(about = format!("Create an array from a file: {}", endings::<Input>()))]
    Import(Import),
    /// Show and change the metadata of an array or a group
    #[command(subcommand)]
    Meta(Meta),
    /// Delete the cells of a sparse array that meet a condition
    Delete(Delete),
    /// Change the schema: attributes, enumerations, current domain
    Evolve(Evolve),
    /// Merge fragments, or their metadata, commits or array metadata
    Consolidate(Consolidate),
    /// Remove files that consolidation has replaced
    Vacuum(Vacuum),
    /// Create groups, and add and remove members
    #[command(subcommand)]
    Group(Group),
    /// List the arrays and groups in a folder, with shapes and types
    Ls(Ls),
    /// List the arrays and groups in a folder and in its folders, as a tree
    Tree(Ls),
    /// Read and check every tile of every fragment
    Verify(Verify),
    /// Write `__manifest.json`, so that a host without listings can serve the array
    ///
    /// Commands that change the array update the file. Run this again after changes by other programs.
    Index(Index),
    /// Serve a folder over HTTP, with ranges, CORS and listings
    Serve(Serve),
    /// Copy an array, a group or a folder between stores
    Copy(Copy),
    /// Create smaller copies of a dense array next to it, for viewers
    Overviews(Overviews),
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
