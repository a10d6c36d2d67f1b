//! Arguments of the commands that change, merge and check existing arrays.

use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use crate::time_args::{Moment, Span};

#[derive(Debug, Subcommand)]
pub(crate) enum Meta {
    /// List keys, types and values as they are stored
    #[command(after_help = examples::META_LS)]
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
    #[command(after_help = examples::META_GET)]
    Get {
        /// An array or a group
        array: String,
        /// Name of the value
        key: String,
        /// Print JSON: the type and the value
        #[arg(long)]
        json: bool,
        /// Read as of this time, or what was written in this window [default: now]
        #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
        at: Option<Span>,
    },
    /// Set a value: text, or numbers separated by commas with --type
    #[command(after_help = examples::META_SET)]
    Set {
        /// An array or a group
        array: String,
        /// Name of the value
        key: String,
        /// The value
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Store the value as this type, as in int32 or float64 [default: string_utf8]
        #[arg(long = "type", value_name = "T")]
        datatype: Option<String>,
        /// Write at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
        /// Check the change, and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove a key
    #[command(after_help = examples::META_RM)]
    Rm {
        /// An array or a group
        array: String,
        /// Name of the value
        key: String,
        /// Print what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
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
    /// Path or URL of the array
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
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("change").required(true).multiple(true).args(
    ["add_attr", "drop_attr", "expand_domain", "extend_enum", "add_enum", "drop_enum"]
)))]
pub(crate) struct Evolve {
    /// Path or URL of the array
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
    /// Print the schema that the array would have, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON about the changed array, as `info --json` does
    #[arg(long)]
    pub(crate) json: bool,
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
    /// Print which fragments would be merged first, or which file would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON, with a document for each array
    #[arg(long)]
    pub(crate) json: bool,
}

fn amplification(text: &str) -> Result<f32, String> {
    let n: f32 = text.parse().map_err(|_| "this is not a number".to_owned())?;
    if n >= 1.0 {
        Ok(n)
    } else {
        Err("it is below 1; give 1 or more".to_owned())
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
    /// Print JSON, with a document for each array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Arrays, or groups for all of their arrays
    #[arg(required = true, value_name = "ARRAY")]
    pub(crate) arrays: Vec<String>,
    /// Print JSON, with a document for each array
    #[arg(long)]
    pub(crate) json: bool,
    /// Read as of this time, or what was written in this window [default: all fragments, including future timestamps]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Snapshot {
    /// Path or URL of the array
    pub(crate) array: String,
    /// Read as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
    /// Include at most this many bytes of indexes; readers request the rest when they need it [default: 4MiB]
    #[arg(long, value_name = "BYTES", value_parser = crate::sizes::parse)]
    pub(crate) index_bytes: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Index {
    /// An array or a group
    pub(crate) array: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
