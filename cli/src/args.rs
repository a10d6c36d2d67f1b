//! The command line as clap sees it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::formats::{Input, Output, endings};
use crate::lists::{split, split_names};
use crate::when::{Moment, Span};

/// Reads, writes and looks after TileDB arrays.
///
/// ARRAY is a path or a URL (file:, s3:, gs:, az:, http:, https:). `-` is standard input or output.
///
/// A time is ISO 8601, as in 2026, 2026-03, 2026-03-01 or 2026-03-01T12:30, in UTC unless it has an offset. Other
/// numbers are milliseconds since 1970; write 2000ms if the number looks like a year or a date. A year, a month or
/// a day includes all of itself: --at 2026-03-01 reads what was written until the end of that day, and --timestamp
/// 2026-03-01 writes at its start.
#[derive(Debug, Parser)]
#[command(
    name = "hyperslab",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// The key of an encrypted array: a file of 32 bytes or 64 hex digits
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    /// No progress bar
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Cli {
    /// The program's arguments. `meta ARRAY get KEY` is read as `meta get ARRAY KEY`.
    ///
    /// # Errors
    /// They are wrong, or ask for help.
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
    /// Make a new, empty array
    Create(Create),
    /// Print the schema as JSON
    Schema(Schema),
    /// Fragments, times, domains, cells, bytes, compression
    Info(Info),
    /// Cells to a file
    #[command(about = format!("Cells to a file: {}", endings::<Output>()))]
    Export(Export),
    /// Write a file's cells into an array, as one fragment
    #[command(about = format!("Write a file's cells into an array, as one fragment: {}", endings::<Input>()))]
    Write(Write),
    /// Make a new array from a file
    #[command(about = format!("Make a new array from a file: {}", endings::<Input>()))]
    Import(Import),
    /// Metadata of an array or a group
    #[command(subcommand)]
    Meta(Meta),
    /// Delete the cells of a sparse array that meet a condition
    Delete(Delete),
    /// Change the schema: attributes, enumerations, current domain
    Evolve(Evolve),
    /// Merge fragments, or their metadata, commits or array metadata
    Consolidate(Consolidate),
    /// Remove what consolidation has replaced
    Vacuum(Vacuum),
    /// Make groups, and change what they hold
    #[command(subcommand)]
    Group(Group),
    /// Arrays and groups in a folder, with shapes and types
    Ls(Ls),
    /// The same, all the way down
    Tree(Ls),
    /// Read and check every tile of every fragment
    Verify(Verify),
    /// Write `__manifest.json`, so that a host that cannot list can serve the array
    ///
    /// Commands that change the array write it again; after changes by other programs run this again.
    Index(Index),
    /// Serve a folder over HTTP, with ranges, CORS and listings
    Serve(Serve),
    /// Copy an array, a group or a folder between stores
    Copy(Copy),
    /// Make smaller copies of a dense array beside it, for viewers
    Overviews(Overviews),
}

impl Command {
    /// Splits the lists of the options at their commas. An option may be given several times.
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
    /// The schema: what `schema` prints
    #[arg(long, value_name = "FILE|-")]
    pub(crate) schema: PathBuf,
    /// The time of creation (default: now)
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
    #[arg(long)]
    pub(crate) json: bool,
    /// Read as of this time, or what was written in this window [default: all fragments, including future timestamps]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

/// Which cells and fields.
#[derive(Debug, Args)]
pub(crate) struct Pick {
    /// Cells, as in 0:100,5:20 or :,3 or lat=30.0:40.0 (default: what lies within the bounds of what is written, which
    /// `info` shows)
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Attributes, in this order; quote a name with a comma, as in '"a,b",c' (default: all)
    #[arg(long, value_name = "A,B")]
    pub(crate) attrs: Option<Vec<String>>,
    /// Only cells that meet this, as in "mag >= 4.5 and place != 'Alaska'"; the others of a dense array hold the fill
    /// value; names that are no plain words stand in backquotes, and data is the attribute without a name
    #[arg(long = "where", value_name = "COND", allow_hyphen_values = true)]
    pub(crate) condition: Option<String>,
    /// Read as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
    /// The order of cells (default: row for dense arrays, global for sparse ones)
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
    /// A file, or - for standard output
    pub(crate) out: String,
    #[command(flatten)]
    pub(crate) pick: Pick,
    /// Format to write [default: by the ending of OUT]. Non-finite floats are nan, inf and -inf in CSV, and "NaN",
    /// "Infinity" and "-Infinity" in JSON
    #[arg(long)]
    pub(crate) format: Option<Output>,
    /// Replace OUT if it exists. Its permissions stay, and its owner if you may set it; a link is written through
    #[arg(long)]
    pub(crate) force: bool,
    /// Bytes that the program may take, itself included, beside single tiles and the pixels of a .png;
    /// less than 64MiB counts as that
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Write {
    pub(crate) array: String,
    /// A file, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// The box the cells fill, where the file does not say
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Single cells of a dense array, with their coordinates; until all fragments are consolidated they
    /// lie over what is written as boxes, later too
    #[arg(long, conflicts_with = "select")]
    pub(crate) points: bool,
    /// The time of the write (default: now)
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// What to read (default: by the ending of IN)
    #[arg(long)]
    pub(crate) format: Option<Input>,
    /// Separator of CSV values: one character, or tab [default: comma, or the most frequent of ; tab | in a header without
    /// commas]
    #[arg(long, value_name = "CHAR", value_parser = crate::input::separator)]
    pub(crate) separator: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// A file, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    pub(crate) array: String,
    /// What to read (default: by the ending of IN)
    #[arg(long)]
    pub(crate) format: Option<Input>,
    /// Tile extents: one for each dimension in order, or by name as in lon=0.5,day=7d; of dates and times with a
    /// unit or as a number of the type's own (default: tiles of about 64 Ki cells)
    #[arg(long, value_name = "N,N|DIM=N")]
    pub(crate) tile: Option<Vec<String>>,
    /// Filters of attributes, as in byteshuffle,zstd:5 (default: byteshuffle and zstd)
    #[arg(long, value_name = "LIST")]
    pub(crate) filters: Option<String>,
    /// A sparse array, with the columns of --dims as coordinates
    #[arg(long, requires = "dims")]
    pub(crate) sparse: bool,
    /// Dimensions: columns of a table, or names for the axes of an .npy
    #[arg(long, value_name = "A,B")]
    pub(crate) dims: Option<Vec<String>>,
    /// Domains of sparse dimensions, as in lon=-180:180 (default: around the cells)
    #[arg(long, value_name = "DIM=LO:HI", allow_hyphen_values = true)]
    pub(crate) domain: Vec<String>,
    /// Columns to take, or a name for the values of an .npy (default: all, or data)
    #[arg(long, value_name = "A,B")]
    pub(crate) attrs: Option<Vec<String>>,
    /// Types of columns of a CSV, as in id=string_ascii,day=datetime_day (default: the narrowest that all cells fit)
    #[arg(long, value_name = "COLUMN=TYPE")]
    pub(crate) types: Vec<String>,
    /// Separator of CSV values: one character, or tab [default: comma, or the most frequent of ; tab | in a header without
    /// commas]
    #[arg(long, value_name = "CHAR", value_parser = crate::input::separator)]
    pub(crate) separator: Option<u8>,
    /// Refuse cells with the same coordinates (default: allowed in sparse arrays)
    #[arg(long)]
    pub(crate) unique: bool,
    /// Memory limit for CSV, .npy and .npz, the program included; single tiles and rows come on top. Values below 64MiB count
    /// as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// The time of the write (default: now)
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Meta {
    /// Keys, types and values, as they are stored
    Ls {
        /// An array or a group
        array: String,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Read as of this time, or what was written in this window [default: now]
        #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
        at: Option<Span>,
    },
    /// Print one value; a numpy array is printed flattened
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
        /// The type, as in int32 or float64 (default: string_utf8)
        #[arg(long = "type", value_name = "T")]
        datatype: Option<String>,
        /// The time of the write (default: now)
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Remove a key
    Rm {
        /// An array or a group
        array: String,
        key: String,
        /// The time of the write (default: now)
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// `meta ARRAY ls|get|set|rm …`, as earlier releases had it
    #[command(external_subcommand)]
    ArrayFirst(Vec<String>),
}

#[derive(Debug, Args)]
pub(crate) struct Delete {
    pub(crate) array: String,
    /// Which cells, as in "mag < 1 or status == 'deleted'": those that `export --where` shows
    #[arg(long = "where", value_name = "COND", allow_hyphen_values = true)]
    pub(crate) condition: String,
    /// The time of the deletion (default: now)
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
    /// An attribute: NAME:TYPE, or JSON as in a schema
    #[arg(long, value_name = "ATTR")]
    pub(crate) add_attr: Vec<String>,
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_attr: Vec<String>,
    /// The new current domain, as in 0:99,0:199 with both ends inside
    #[arg(long, value_name = "BOX", allow_hyphen_values = true)]
    pub(crate) expand_domain: Option<String>,
    /// Values at the end of an enumeration: NAME=A,B
    #[arg(long, value_name = "NAME=A,B")]
    pub(crate) extend_enum: Vec<String>,
    /// An enumeration: JSON as in a schema
    #[arg(long, value_name = "JSON")]
    pub(crate) add_enum: Vec<String>,
    #[arg(long, value_name = "NAME")]
    pub(crate) drop_enum: Vec<String>,
    /// The time of the change (default: now)
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
    /// An array, or a group: every array in it
    pub(crate) array: String,
    #[arg(long, default_value = "fragments")]
    pub(crate) mode: Mode,
    /// Bytes that the program may take, itself included
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Most cells in the box of merged dense fragments, for each cell of the tiles that these lie in
    #[arg(long, value_name = "N", default_value = "1", value_parser = amplification)]
    pub(crate) amplification: f32,
    /// The time of what is merged (default: until now)
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

fn amplification(text: &str) -> Result<f32, String> {
    let n: f32 = text.parse().map_err(|_| "this is no number".to_owned())?;
    if n >= 1.0 {
        Ok(n)
    } else {
        Err("give 1 or more".to_owned())
    }
}

#[derive(Debug, Args)]
pub(crate) struct Vacuum {
    /// An array, or a group: every array in it
    pub(crate) array: String,
    #[arg(long, default_value = "fragments")]
    pub(crate) mode: Mode,
    /// Print what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Make an empty group
    Create { path: String },
    /// Add an array or a group
    Add {
        path: String,
        /// Its path from the current folder (or, where nothing is there, in the group's), or its URL; what lies in
        /// the group's folder is named relative to that, so that both move together
        member: String,
        /// Its name in the group (default: the last part of its path)
        #[arg(long)]
        name: Option<String>,
        /// The time of the change (default: now)
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Take a member out; what it names stays where it is
    Rm {
        path: String,
        /// Its name, or its path where it has none
        member: String,
        /// The time of the change (default: now)
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// The members
    Ls {
        path: String,
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
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// An array, or a group: every array in it
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
    /// 0 takes a free one
    #[arg(long, default_value_t = 8000)]
    pub(crate) port: u16,
    /// The address to listen on; 0.0.0.0 for every network
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: std::net::IpAddr,
    /// Let web pages of this origin read the answers, such as https://example.org; * allows all [default: on loopback,
    /// pages of this machine; elsewhere, *]
    #[arg(long, value_name = "ORIGIN", value_parser = crate::serve::origin)]
    pub(crate) allow_origin: Vec<String>,
    /// Serve files and folders whose names begin with a dot, too
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
    /// How many cells of each axis become one
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "4,16")]
    pub(crate) factors: Vec<u64>,
}
