//! Arguments of the commands for groups and folders of arrays.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};

use super::examples;
use crate::time_args::{Moment, Span};

#[derive(Debug, Subcommand)]
pub(crate) enum Group {
    /// Create an empty group
    #[command(after_help = examples::GROUP_CREATE)]
    Create {
        /// Path or URL of the new group
        path: String,
    },
    /// Add an array or a group
    #[command(after_help = examples::GROUP_ADD)]
    Add {
        /// Path or URL of the group
        path: String,
        /// Path or URL of the member; a path is relative to the current folder or, if nothing is there, to the group.
        /// Members in the group's folder are stored as relative paths, so that the folder can be moved
        member: String,
        /// Give the member this name in the group [default: the last part of its path]
        #[arg(long)]
        name: Option<String>,
        /// Make the change at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// Remove a member from a group; its files are not removed
    #[command(after_help = examples::GROUP_RM)]
    Rm {
        /// Path or URL of the group
        path: String,
        /// Name of the member, or its path if it has no name
        member: String,
        /// Print what would be removed, and remove nothing
        #[arg(long)]
        dry_run: bool,
        /// Make the change at this time [default: now]
        #[arg(long, value_name = "T", allow_negative_numbers = true)]
        timestamp: Option<Moment>,
    },
    /// List the members
    #[command(after_help = examples::GROUP_LS)]
    Ls {
        /// Path or URL of the group
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
    /// One folder, group or array, or several
    #[arg(required = true, value_name = "PATH")]
    pub(crate) paths: Vec<String>,
    /// Print JSON, with a document for each path
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The folder; with --view, the path or URL of an array, a group or a folder of arrays
    pub(crate) dir: PathBuf,
    /// Serve slices of arrays as files, in the tree that fuse-mount shows
    #[arg(long)]
    pub(crate) view: bool,
    /// With --view: show the arrays as of this time, or what was written in this window [default: now]
    #[arg(long, value_name = "T|T0..T1", requires = "view", allow_negative_numbers = true)]
    pub(crate) at: Option<Span>,
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
    /// Do not send browsers from / to the viewer; show a listing
    #[arg(long, conflicts_with = "viewer")]
    pub(crate) no_viewer: bool,
    /// Use the built viewer in this folder [default: the one inside this program, if it has one]
    #[arg(long, value_name = "FOLDER", conflicts_with = "view")]
    pub(crate) viewer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct View {
    /// What to show: the path or URL of an array, a group or a folder of arrays
    #[arg(value_name = "ARRAY|GROUP|FOLDER")]
    pub(crate) place: String,
    /// Print the address, and do not open a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    /// Listen on this port [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    pub(crate) port: u16,
    /// Use the built viewer in this folder [default: the one inside this program, if it has one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) viewer: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// The path or URL of the array or group
    #[arg(value_name = "ARRAY|GROUP")]
    pub(crate) source: String,
    /// The folder to write
    pub(crate) site: PathBuf,
    /// Replace a folder that `publish` wrote, if it has nothing else
    #[arg(long)]
    pub(crate) force: bool,
    /// Do not copy the data; let the page read it from its URL, which must be http: or https:
    #[arg(long)]
    pub(crate) link: bool,
    /// Use the built viewer in this folder [default: the one inside this program, if it has one]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) viewer: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Copy {
    /// Array, group or folder to copy: a path or URL
    pub(crate) src: String,
    /// Where to copy it: a path or URL
    pub(crate) dst: String,
    /// Print which files would be copied, and copy nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Overviews {
    /// Path or URL of a dense array, or of the group of a GDAL raster or a BioImaging image
    #[arg(value_name = "ARRAY|GROUP")]
    pub(crate) array: String,
    /// Create an overview that is smaller by this factor along x and y (along all axes, if x and y are unknown), or by one
    /// factor for each axis, as in 1,4,4. Repeat the option for more overviews [default: --factors 4 --factors 16]
    #[arg(long, value_name = "N|N,N", default_values = ["4", "16"], hide_default_value = true)]
    pub(crate) factors: Vec<Factors>,
    /// Combine cells by their mean, or by their mode (most frequent value) [default: mode for booleans, enumerations and
    /// classes; mean otherwise]
    #[arg(long)]
    pub(crate) method: Option<Method>,
    /// Print the overviews and their factors as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The factors of one overview.
#[derive(Debug, Clone)]
pub(crate) struct Factors(pub(crate) Vec<u64>);

impl FromStr for Factors {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let one = |f: &str| {
            f.trim()
                .parse::<u64>()
                .map_err(|_| format!("'{f}' is not a whole number"))
        };
        Ok(Self(text.split(',').map(one).collect::<Result<_, _>>()?))
    }
}

/// How cells of an array become one cell of an overview.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    Mean,
    Mode,
}

impl Method {
    /// The name in metadata.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Mode => "mode",
        }
    }
}
