//! Arguments of `export`.

use std::path::PathBuf;

use clap::builder::ArgPredicate;
use clap::{ArgGroup, Args, ValueEnum};

use crate::formats::Output;
use crate::time_args::Span;

/// Which cells and fields.
#[derive(Debug, Clone, Args)]
pub(crate) struct Pick {
    /// Select cells, as in 0:100,5:20 or :,3, by value as in lat=30.0:40.0, or by index as in lat=@0:10; lists as in
    /// 'time=@{0,5,9}' [default: the non-empty domain, which `info` shows]
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Export these attributes, in this order; quote names with commas, as in '"a,b",c' [default: all]
    #[arg(long, value_name = "A,B")]
    pub(crate) attrs: Option<Vec<String>>,
    /// Export only cells that meet this condition, as in "mag between 4.5 and 6 and place like '%Alaska'". Operators: <,
    /// <=, >, >=, ==, !=, in, between, like, is null, not, and, or. Packed numbers are unpacked for the test, and those
    /// that `info` calls missing fail. Cells of a dense array that fail get the fill value; --rows omits them. Quote unusual names with backquotes. The unnamed attribute is called data
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

/// How the coordinates of dense arrays are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Coordinates {
    Values,
    Index,
}

/// An aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Agg {
    Min,
    Max,
    Sum,
    Mean,
    Count,
    Nulls,
}

#[derive(Debug, Clone, Args)]
#[command(group(ArgGroup::new("summary").args(["count", "agg"])))]
#[command(group(ArgGroup::new("numbers").args(["agg", "condition"]).multiple(true)))]
pub(crate) struct Export {
    /// Path or URL of the array
    pub(crate) array: String,
    /// Output file, or - for standard output. Required, unless --count or --agg is given
    #[arg(
        required = false,
        required_unless_present_any = ["count", "agg"],
        default_value_ifs = [("count", ArgPredicate::IsPresent, "-"), ("agg", ArgPredicate::IsPresent, "-")],
        hide_default_value = true
    )]
    pub(crate) out: String,
    #[command(flatten)]
    pub(crate) pick: Pick,
    /// Write this format [default: by the extension of OUT]. Non-finite floats are nan, inf and -inf in CSV, and "NaN",
    /// "Infinity" and "-Infinity" in JSON
    #[arg(long)]
    pub(crate) format: Option<Output>,
    /// Export the cells of a dense array as rows with coordinates, and only those that meet --where
    #[arg(long, conflicts_with_all = ["count", "agg"])]
    pub(crate) rows: bool,
    /// Stop after N rows of a table
    #[arg(long, value_name = "N", conflicts_with_all = ["count", "agg"])]
    pub(crate) limit: Option<u64>,
    /// Write the position of each cell of a dense array as coordinate values, such as latitudes, or as indices [default:
    /// index in .arrow, values in other tables]
    #[arg(long, conflicts_with_all = ["count", "agg"])]
    pub(crate) coordinates: Option<Coordinates>,
    /// Color a .png with this map: viridis, magma, inferno, plasma, cividis, turbo, rdbu or gray
    #[arg(long, value_name = "NAME")]
    pub(crate) cmap: Option<String>,
    /// Show these values at the ends of the colors of a .png, as in 0:100 [default: the lowest and the highest value]
    #[arg(long, value_name = "LOW:HIGH", allow_hyphen_values = true)]
    pub(crate) range: Option<String>,
    /// Print the number of cells, including missing values, without writing a file
    #[arg(long, conflicts_with_all = ["cmap", "range", "format", "force", "order"])]
    pub(crate) count: bool,
    /// Print these aggregates of each attribute, without writing a file. Values are unpacked, and those that `info` calls
    /// missing are left out; `count` and `nulls` include them
    #[arg(long, value_name = "LIST", value_delimiter = ',', conflicts_with_all = ["count", "cmap", "range", "format", "force", "order"])]
    pub(crate) agg: Vec<Agg>,
    /// Test and aggregate the stored numbers in --where and --agg: not unpacked, and with missing values
    #[arg(long, requires = "numbers")]
    pub(crate) stored: bool,
    /// Print the result of --count or --agg as JSON
    #[arg(long, requires = "summary")]
    pub(crate) json: bool,
    /// Replace OUT if it exists. Keeps its permissions, and its owner if possible. Follows links
    #[arg(long)]
    pub(crate) force: bool,
    /// Open the array from this file of `hyperslab snapshot`, without listings
    #[arg(long, value_name = "FILE", conflicts_with = "at")]
    pub(crate) snapshot: Option<PathBuf>,
    /// Limit the memory of the program to this many bytes. Single tiles and the pixels of a .png come on top. Values
    /// below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
}

impl Export {
    /// Whether the export prints facts about the cells instead of the cells.
    pub(crate) fn is_summary(&self) -> bool {
        self.count || !self.agg.is_empty()
    }
}
