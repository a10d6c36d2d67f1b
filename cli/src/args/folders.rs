//! Arguments of the commands for groups and folders of arrays.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::time_args::{Moment, Span};

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
