//! Which files of an array's folder count in a window of time: names in, choices out.
//!
//! Opening takes two rounds: list the five folders, then fetch what [`Listing::to_fetch`] names beside
//! the schema; [`visible`] needs both.

use std::ops::Range;

use bytes::Bytes;

use super::Window;
use crate::error::Result;
use crate::format::version::Version;
use crate::vfs::Entry;

/// The entries of the folders of an array; those that do not exist are empty.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// Of the array's own folder.
    pub root: Vec<Entry>,
    /// Of `__schema`.
    pub schema: Vec<Entry>,
    /// Of `__commits`.
    pub commits: Vec<Entry>,
    /// Of `__fragment_meta`.
    pub fragment_meta: Vec<Entry>,
    /// Of `__meta`.
    pub meta: Vec<Entry>,
}

/// What counts in a window. Paths are below the array.
#[derive(Debug, Clone, Default)]
pub struct Visible {
    /// The fragments, oldest first; of equal time the greater name counts as later.
    pub fragments: Vec<FragmentRef>,
    /// The delete commits, oldest first.
    pub deletes: Vec<DeleteRef>,
    /// Files of array metadata, oldest first.
    pub metadata: Vec<String>,
    /// Files of consolidated footers: where two name a fragment, the first counts.
    pub consolidated_metadata: Vec<String>,
}

/// A fragment by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FragmentRef {
    /// Its folder's name.
    pub name: String,
    /// Its folder.
    pub path: String,
    /// Its format version by its name: for names of versions 3 and 4 this is 4, for those of 1 and 2
    /// it is 2.
    pub version: Version,
    /// The time of its first write, in milliseconds since 1970.
    pub start_ms: u64,
    /// The time of its last write.
    pub end_ms: u64,
    /// Before version 5 nothing marks a fragment as committed but its metadata file: where that does
    /// not exist, the folder is what a failed write left.
    pub unmarked: bool,
}

/// A delete commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteRef {
    /// Its path, such as `__commits/…_22.del`: what the lists of processed conditions name.
    pub path: String,
    /// The time of the delete, in milliseconds since 1970.
    pub time_ms: u64,
    /// Where its bytes lie.
    pub source: DeleteSource,
}

/// Where the bytes of a delete commit lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeleteSource {
    /// In its own file.
    File,
    /// In this range of a consolidated file.
    Embedded {
        /// The consolidated file.
        path: String,
        /// Its bytes.
        range: Range<usize>,
    },
}

impl Listing {
    /// Whether there is an array at all.
    pub fn is_array(&self) -> bool {
        unimplemented!()
    }

    /// Every schema of the array, oldest first.
    pub fn schemas(&self) -> Vec<String> {
        unimplemented!()
    }

    /// The schema that results are read with: the last in the window, or the first of all if none
    /// is that old. `None` if there is no array.
    pub fn schema_at(&self, window: Window) -> Option<String> {
        let _ = window;
        unimplemented!()
    }

    /// The files that must be read to know what is visible: `.con`, `.ign` and `.vac`.
    pub fn to_fetch(&self) -> Vec<String> {
        unimplemented!()
    }
}

/// What counts in `window`. `fetched`: the files that [`Listing::to_fetch`] named, with their bytes.
/// `sparse`: the array's schema is sparse.
///
/// # Errors
/// [`crate::Error::Corrupt`] for a damaged list, [`crate::Error::UnsupportedVersion`] for a fragment
/// newer than this release.
pub fn visible(listing: &Listing, fetched: &[(String, Bytes)], window: Window, sparse: bool) -> Result<Visible> {
    let _ = (listing, fetched, window, sparse);
    unimplemented!()
}
