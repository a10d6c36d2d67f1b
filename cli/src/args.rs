//! The command line as clap sees it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::formats::{Input, Output, endings};
use crate::lists::{split, split_names};
use crate::when::{Moment, Span};

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

#[derive(Debug, Args)]
pub(crate) struct Create {
    pub(crate) array: String,
    /// Read the schema from this file, in the format that `schema` prints
    #[arg(long, value_name = "FILE|-")]
    pub(crate) schema: PathBuf,
    /// Create the array at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    pub(crate) array: String,
    /// Read as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    pub(crate) array: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Read as of this time, or what was written in this window [default: all fragments, including future timestamps]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

/// Which cells and fields.
#[derive(Debug, Args)]
pub(crate) struct Pick {
    /// Select cells, as in 0:100,5:20 or :,3 or lat=30.0:40.0 [default: the non-empty domain, which `info` shows]
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Export these attributes, in this order; quote names with commas, as in '"a,b",c' [default: all]
    #[arg(long, value_name = "A,B")]
    pub(crate) attrs: Option<Vec<String>>,
    /// Export only cells that meet this condition, as in "mag >= 4.5 and place != 'Alaska'". The other cells of a dense
    /// array get the fill value. Quote unusual names with backquotes. The unnamed attribute is called data
    #[arg(long = "where", value_name = "COND", allow_hyphen_values = true)]
    pub(crate) condition: Option<String>,
    /// Read as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
    /// Export cells in this order [default: row for dense arrays, global for sparse ones]
    #[arg(long)]
    pub(crate) order: Option<Order>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    Row,
    Col,
    Global,
    Unordered,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    pub(crate) array: String,
    /// Output file, or - for standard output
    pub(crate) out: String,
    #[command(flatten)]
    pub(crate) pick: Pick,
    /// Write this format [default: by the extension of OUT]. Non-finite floats are nan, inf and -inf in CSV, and "NaN",
    /// "Infinity" and "-Infinity" in JSON
    #[arg(long)]
    pub(crate) format: Option<Output>,
    /// Replace OUT if it exists. Keeps its permissions, and its owner if possible. Follows links
    #[arg(long)]
    pub(crate) force: bool,
    /// Limit the memory of the program to this many bytes. Single tiles and the pixels of a .png come on top. Values
    /// below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Write {
    pub(crate) array: String,
    /// Input file, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// Fill this box, if the file has no coordinates
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write single cells of a dense array, with their coordinates. They hide cells that are written as boxes, even
    /// later, until all fragments are consolidated
    #[arg(long, conflicts_with = "select")]
    pub(crate) points: bool,
    /// Write at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// Read this format [default: by the extension of IN]
    #[arg(long)]
    pub(crate) format: Option<Input>,
    /// Separate CSV values at this character, or tab [default: comma, or the most frequent of ; tab | in a header
    /// without commas]
    #[arg(long, value_name = "CHAR", value_parser = crate::input::separator)]
    pub(crate) separator: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// Input file, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    pub(crate) array: String,
    /// Read this format [default: by the extension of IN]
    #[arg(long)]
    pub(crate) format: Option<Input>,
    /// Set tile extents in the order of the dimensions, or by name as in lon=0.5,day=7d. Extents of dates and times
    /// without a unit use the unit of the type [default: tiles of about 64 Ki cells]
    #[arg(long, value_name = "N,N|DIM=N")]
    pub(crate) tile: Option<Vec<String>>,
    /// Set the filters of attributes, as in byteshuffle,zstd:5 [default: byteshuffle and zstd]
    #[arg(long, value_name = "LIST")]
    pub(crate) filters: Option<String>,
    /// Create a sparse array, with the columns of --dims as coordinates
    #[arg(long, requires = "dims")]
    pub(crate) sparse: bool,
    /// Use these columns of a table as dimensions, or name the axes of an .npy
    #[arg(long, value_name = "A,B")]
    pub(crate) dims: Option<Vec<String>>,
    /// Set the domains of sparse dimensions, as in lon=-180:180 [default: around the cells]
    #[arg(long, value_name = "DIM=LO:HI", allow_hyphen_values = true)]
    pub(crate) domain: Vec<String>,
    /// Import these columns, or name the values of an .npy [default: all columns, or data]
    #[arg(long, value_name = "A,B")]
    pub(crate) attrs: Option<Vec<String>>,
    /// Set the types of CSV columns, as in id=string_ascii,day=datetime_day [default: the narrowest that all cells fit]
    #[arg(long, value_name = "COLUMN=TYPE")]
    pub(crate) types: Vec<String>,
    /// Separate CSV values at this character, or tab [default: comma, or the most frequent of ; tab | in a header
    /// without commas]
    #[arg(long, value_name = "CHAR", value_parser = crate::input::separator)]
    pub(crate) separator: Option<u8>,
    /// Refuse cells with the same coordinates [default: allowed in sparse arrays]
    #[arg(long)]
    pub(crate) unique: bool,
    /// Limit the memory of the program for CSV, .npy and .npz to this many bytes. Single tiles and rows come on top.
    /// Values below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Write at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Meta {
    /// List keys, types and values as they are stored
    Ls {
        /// An array or a group
        array: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Read as of this time, or what was written in this window [default: now]
        #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
        at: Option<Span>,
    },
    /// Print a value; a numpy array is printed flattened
    Get {
        /// An array or a group
        array: String,
        key: String,
        /// Read as of this time, or what was written in this window [default: now]
        #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
        at: Option<Span>,
    },
    /// Set a value: text, or numbers separated by commas with --type
    Set {
        /// An array or a group
        array: String,
        key: String,
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Store the value as this type, as in int32 or float64 [default: string_utf8]
        #[arg(long = "type", value_name = "T")]
        datatype: Option<String>,
        /// Write at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Remove a key
    Rm {
        /// An array or a group
        array: String,
        key: String,
        /// Write at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Accept `meta ARRAY ls|get|set|rm …`, the order of earlier releases
    #[command(external_subcommand)]
    ArrayFirst(Vec<String>),
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    pub(crate) array: String,
    /// Delete the cells that meet this condition, as in "mag < 1 or status == 'deleted'"; `export --where` shows them
    #[arg(long = "where", value_name = "COND", allow_hyphen_values = true)]
    pub(crate) condition: String,
    /// Delete at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// Count the cells of each fragment that would be deleted, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true).args(
    ["add_attr", "drop_attr", "expand_domain", "extend_enum", "add_enum", "drop_enum"]
)))]
pub(crate) struct Evolve {
    pub(crate) array: String,
    /// Add an attribute: NAME:TYPE, or JSON as in a schema
    #[arg(long, value_name = "ATTR")]
    pub(crate) add_attr: Vec<String>,
    /// Drop an attribute
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_attr: Vec<String>,
    /// Expand the current domain to this box, as in 0:99,0:199, which includes both ends
    #[arg(long, value_name = "BOX", allow_hyphen_values = true)]
    pub(crate) expand_domain: Option<String>,
    /// Append values to an enumeration: NAME=A,B
    #[arg(long, value_name = "NAME=A,B")]
    pub(crate) extend_enum: Vec<String>,
    /// Add an enumeration: JSON as in a schema
    #[arg(long, value_name = "JSON")]
    pub(crate) add_enum: Vec<String>,
    /// Drop an enumeration
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_enum: Vec<String>,
    /// Make the change at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Fragments,
    FragmentMeta,
    Commits,
    ArrayMeta,
}

#[derive(Debug, Args)]
pub(crate) struct Consolidate {
    /// An array, or a group for all of its arrays
    pub(crate) array: String,
    #[arg(long, default_value = "fragments")]
    pub(crate) mode: Mode,
    /// Limit the memory of the program to this many bytes
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Allow the box of merged dense fragments to have this many times the cells of their tiles
    #[arg(long, value_name = "N", default_value = "1", value_parser = amplification)]
    pub(crate) amplification: f32,
    /// Merge what was written until this time, or in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

fn amplification(text: &str) -> Result<f32, String> {
    let n: f32 = text.parse().map_err(|_| "this is not a number".to_owned())?;
    if n >= 1.0 {
        Ok(n)
    } else {
        Err("give 1 or more".to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct Vacuum {
    /// An array, or a group for all of its arrays
    pub(crate) array: String,
    #[arg(long, default_value = "fragments")]
    pub(crate) mode: Mode,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Create an empty group
    Create { path: String },
    /// Add an array or a group
    Add {
        path: String,
        /// Path from the current folder or, if nothing is there, from the group's, or URL. Members in the group's
        /// folder get a path relative to it, so that both can move together
        member: String,
        /// Give the member this name in the group [default: the last part of its path]
        #[arg(long)]
        name: Option<String>,
        /// Make the change at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Remove a member from a group; its files are not removed
    Rm {
        path: String,
        /// Name of the member, or its path if it has no name
        member: String,
        /// Make the change at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// List the members
    Ls {
        path: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Read as of this time, or what was written in this window [default: now]
        #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
        at: Option<Span>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Ls {
    pub(crate) path: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// An array, or a group for all of its arrays
    pub(crate) array: String,
    /// Read as of this time, or what was written in this window [default: all fragments, including future timestamps]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// An array or a group
    pub(crate) array: String,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    pub(crate) dir: PathBuf,
    /// Listen on this port; 0 picks a free one
    #[arg(long, default_value_t = 8000)]
    pub(crate) port: u16,
    /// Listen on this address; 0.0.0.0 is for every network
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    /// Let web pages of this origin read the answers, such as https://example.org; * allows all [default: on loopback,
    /// pages of this machine; elsewhere, *]
    #[arg(long, value_name = "ORIGIN", value_parser = crate::serve::origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Also serve files and folders whose names begin with a dot
    #[arg(long)]
    pub(crate) dotfiles: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Copy {
    pub(crate) src: String,
    pub(crate) dst: String,
}

#[derive(Debug, Args)]
pub(crate) struct Overviews {
    pub(crate) array: String,
    /// Shrink each axis by these factors, with one copy for each
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "4,16")]
    pub(crate) factors: Vec<u64>,
}
