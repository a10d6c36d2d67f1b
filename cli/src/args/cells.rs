//! Arguments of the commands that make arrays, and read or write their cells.

use std::path::PathBuf;

use clap::Args;

use crate::formats::{ImportFormat, Input};
use crate::input::{DateOrder, Decimal};
use crate::time_args::{Moment, Span};

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Path or URL of the new array
    pub(crate) array: String,
    /// Read the schema from this file, in the format that `schema` prints
    #[arg(long, value_name = "FILE|-")]
    pub(crate) schema: PathBuf,
    /// Create the array at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// Print JSON about the new array, as `info --json` does
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// One array or several, with a document for each
    #[arg(required = true, value_name = "ARRAY")]
    pub(crate) arrays: Vec<String>,
    /// Read as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Info {
    /// One array or group, or several
    #[arg(required = true, value_name = "PATH")]
    pub(crate) arrays: Vec<String>,
    /// Print JSON, with a document for each path. `dataset` has axes, units, coordinates, levels, tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Read as of this time, or what was written in this window [default: all fragments, including future timestamps]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
    /// Open the array from this file of `hyperslab snapshot`, without listings
    #[arg(long, value_name = "FILE", conflicts_with = "at")]
    pub(crate) snapshot: Option<PathBuf>,
}

/// How text files are written.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct TextOptions {
    /// Separate CSV values at this character, or tab [default: comma, or the most frequent of ; tab | in a header
    /// without commas]
    #[arg(long, value_name = "CHAR", visible_alias = "delimiter", value_parser = crate::input::separator)]
    pub(crate) separator: Option<u8>,
    /// Read fractions of CSV numbers after this character: , or . [default: . unless ; or tab separates the values and
    /// all fractions have commas]
    #[arg(long, value_name = ",|.", value_parser = crate::input::decimal)]
    pub(crate) decimal: Option<Decimal>,
    /// Read dates with slashes as 31/01/2020 (dmy) or 01/31/2020 (mdy) [default: as all dates of the file allow]
    #[arg(long, value_name = "ORDER")]
    pub(crate) date_order: Option<DateOrder>,
}

#[derive(Debug, Args)]
pub(crate) struct Write {
    /// Path or URL of the array
    pub(crate) array: String,
    /// Path or URL of the input file, or - for standard input
    #[arg(value_name = "IN")]
    pub(crate) input: String,
    /// Fill this box, if the file has no coordinates
    #[arg(long, value_name = "SEL", allow_hyphen_values = true)]
    pub(crate) select: Option<String>,
    /// Write single cells of a dense array, with their coordinates. They hide cells that are written as boxes, even
    /// later, until all fragments are consolidated
    #[arg(long, conflicts_with = "select")]
    pub(crate) points: bool,
    /// Limit the memory of the program to this many bytes. Single tiles and rows come on top. A larger file takes room
    /// for a copy of its cells next to the array. Values below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Write at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// Read this format [default: by the extension of IN]
    #[arg(long)]
    pub(crate) format: Option<Input>,
    #[command(flatten)]
    pub(crate) text: TextOptions,
    /// Print the array and the new fragment as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct Import {
    /// Path or URL of the input file, or - for a table from standard input; last, the path or URL of the new array or
    /// group. Several input files need --along
    // One list, because options may stand between its parts.
    #[arg(value_name = "PATH", required = true, num_args = 1..)]
    pub(crate) paths: Vec<String>,
    /// Print JSON about the new array, as `info --json` does
    #[arg(long)]
    pub(crate) json: bool,
    /// Read this format [default: by the extension of IN]
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
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
    #[command(flatten)]
    pub(crate) text: TextOptions,
    /// Refuse cells with the same coordinates [default: allowed in sparse arrays]
    #[arg(long)]
    pub(crate) unique: bool,
    /// Limit the memory of the program to this many bytes. Single tiles and rows come on top.
    /// Values below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Join the input files along this axis, which must be the first one of its arrays. Other arrays and all metadata
    /// come from the first file
    #[arg(long, value_name = "AXIS")]
    pub(crate) along: Option<String>,
    /// Print the schemas that the import would use, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Use the schemas in FILE: the output of --dry-run --json, with edited tiles, domains or filters
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Store packed values of NetCDF, HDF5, GeoTIFF and NIfTI files as unpacked floats [default: keep the stored numbers,
    /// with scale and offset as metadata]
    #[arg(long)]
    pub(crate) unpack: bool,
    /// Write at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
}

#[derive(Debug, Args)]
pub(crate) struct Append {
    /// Paths or URLs of the input files; last, the path or URL of the array or group
    #[arg(value_name = "PATH", required = true, num_args = 1..)]
    pub(crate) paths: Vec<String>,
    /// Continue along this axis, which must be the first one of its arrays [default: the only one with room]
    #[arg(long, value_name = "AXIS")]
    pub(crate) along: Option<String>,
    /// Read this format [default: by the extension of IN]
    #[arg(long)]
    pub(crate) format: Option<ImportFormat>,
    /// Store packed values as unpacked floats, as the import did
    #[arg(long)]
    pub(crate) unpack: bool,
    /// Limit the memory of the program to this many bytes. Single tiles come on top. Values below 64MiB count as 64MiB
    #[arg(long, value_name = "BYTES", default_value = "512MiB", value_parser = crate::sizes::parse)]
    pub(crate) memory: u64,
    /// Write at this time [default: now]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) timestamp: Option<Moment>,
    /// Print the array and the new fragments as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Import {
    /// The input files.
    pub(crate) fn inputs(&self) -> &[String] {
        self.paths.split_last().map_or(&[], |(_, inputs)| inputs)
    }

    /// The first input file.
    pub(crate) fn input(&self) -> &str {
        self.inputs().first().map_or("-", String::as_str)
    }

    /// The new array.
    pub(crate) fn array(&self) -> &str {
        self.paths.last().map_or("", String::as_str)
    }
}
