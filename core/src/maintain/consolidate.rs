//! Consolidation.

use super::{Mode, lists};
use crate::array::Array;
use crate::error::Result;
use crate::limits;
use crate::write::WriteOptions;

/// What to consolidate, and within which bounds.
#[derive(Debug, Clone)]
pub struct ConsolidateOptions {
    /// What is consolidated.
    pub mode: Mode,
    /// Memory that may be used, in bytes.
    pub memory_bytes: u64,
    /// How fragments are chosen.
    pub steps: Steps,
    /// Names of the fragments to merge, instead of choosing by `steps`.
    pub fragments: Option<Vec<String>>,
    /// Leaves out the cells that deletes have removed, and with them their history.
    pub purge_deleted: bool,
    /// Bytes of data after which a new fragment is begun.
    pub fragment_bytes_max: u64,
}

/// How fragments are chosen: runs of neighbours in time, longest first, as libtiledb does.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// How often to choose and merge; fewer if nothing is left.
    pub count: u32,
    /// Fewest fragments in a run.
    pub fragments_min: usize,
    /// Most fragments in a run.
    pub fragments_max: usize,
    /// Least ratio of the sizes of neighbours in a run, smaller to larger.
    pub size_ratio: f32,
    /// Most cells in the box of a dense run, for each cell in its fragments.
    pub amplification: f32,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            count: u32::MAX,
            fragments_min: usize::MAX,
            fragments_max: usize::MAX,
            size_ratio: 0.0,
            amplification: 1.0,
        }
    }
}

impl ConsolidateOptions {
    /// Everything at once, under a budget of 512 MiB.
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            memory_bytes: limits::CONSOLIDATION_BYTES,
            steps: Steps::default(),
            fragments: None,
            purge_deleted: false,
            fragment_bytes_max: u64::MAX,
        }
    }
}

/// What a consolidation did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consolidation {
    /// Names of the files or fragments that were written.
    pub written: Vec<String>,
    /// How many were replaced; vacuum removes them.
    pub replaced: usize,
}

/// Merges what the array's window shows. The time in `write` is not used: what is written bears the
/// times of what it replaces.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] for a fragment that is not there or a choice that would change
/// what readers see; [`crate::Error::LimitExceeded`] if the memory does not suffice for one tile.
pub async fn consolidate(array: &Array, options: &ConsolidateOptions, write: &WriteOptions) -> Result<Consolidation> {
    match options.mode {
        Mode::Fragments => unimplemented!(),
        Mode::FragmentMetadata => lists::fragment_metadata(array, write).await,
        Mode::Commits => lists::commits(array, write).await,
        Mode::ArrayMetadata => lists::array_metadata(array, write).await,
    }
}
