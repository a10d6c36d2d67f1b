//! The files and folders of a server, by name.

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::ops::Range;

use hyperslab::{Error, vfs};

use super::http::ReadNext;

/// Files and folders. Names are paths without a slash at the start; the empty name is the root.
pub(super) trait Tree: Debug + Send + Sync {
    /// Finds a file or folder.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    fn find(&self, name: &str) -> Result<Found, Refusal>;

    /// The same for a name that was requested with a slash at the end. It is a folder, if there is one.
    ///
    /// # Errors
    /// The errors of [`Tree::find`].
    fn find_folder(&self, name: &str) -> Result<Found, Refusal> {
        self.find(name)
    }

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
    /// A tag that changes with the bytes, if the store has one.
    pub(super) etag: Option<String>,
    pub(super) source: Box<dyn Contents>,
}

/// The bytes of a file.
pub(super) trait Contents: Debug {
    /// Reads from the start of a range on, not beyond its end.
    ///
    /// # Errors
    /// The file cannot be read.
    fn within(self: Box<Self>, range: Range<u64>) -> Result<Box<dyn ReadNext>, Refusal>;
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

impl From<Error> for Refusal {
    fn from(error: Error) -> Self {
        let status = match error {
            Error::NotFound { .. } | Error::InvalidArgument(_) => 404,
            Error::LimitExceeded { .. } => 413,
            Error::Key { .. } => 403,
            _ => 500,
        };
        let why = vfs::redact(&error.to_string()).into_owned();
        Self { status, why }
    }
}
