//! The files and folders of a server, by name.

use std::fmt::Debug;
use std::io::{self, ErrorKind};

use super::http::ReadNext;

/// Files and folders. Names are paths without a slash at the start; the empty name is the root.
pub(super) trait Tree: Debug + Send + Sync {
    /// Finds a file or folder.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    fn find(&self, name: &str) -> Result<Found, Refusal>;

    /// The children of a folder, in any order.
    ///
    /// # Errors
    /// It cannot be read.
    fn entries(&self, folder: &str) -> Result<Vec<Entry>, Refusal>;
}

/// A file or folder.
#[derive(Debug)]
pub(super) enum Found {
    Folder,
    File(OpenFile),
}

/// A file that can be sent.
#[derive(Debug)]
pub(super) struct OpenFile {
    pub(super) size: u64,
    /// A tag that changes with the bytes.
    pub(super) etag: String,
    pub(super) source: Box<dyn Contents>,
}

/// The bytes of a file.
pub(super) trait Contents: Debug {
    /// Reads from this byte on.
    ///
    /// # Errors
    /// The file cannot be read.
    fn from(self: Box<Self>, start: u64) -> io::Result<Box<dyn ReadNext>>;
}

/// A child of a folder.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    pub(super) name: String,
    /// Bytes; `None` for folders.
    pub(super) size: Option<u64>,
}

/// Why there is no file or folder.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The status of HTTP.
    pub(super) status: u16,
    pub(super) why: String,
}

impl Refusal {
    pub(super) fn absent() -> Self {
        let why = "there is no such file".to_owned();
        Self { status: 404, why }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::PermissionDenied => Self {
                status: 403,
                why: "not allowed".to_owned(),
            },
            _ => Self::absent(),
        }
    }
}
