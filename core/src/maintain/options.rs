//! The options and the result of a consolidation, and what its merges share.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Mode;
use crate::array::Fragment;
use crate::limits;

/// Options of [`super::consolidate`].
#[derive(Debug, Clone)]
pub struct ConsolidateOptions {
    /// The files to consolidate.
    pub mode: Mode,
    /// Memory budget in bytes.
    pub memory_bytes: u64,
    /// How to choose the fragments to merge.
    pub steps: Steps,
    /// Names of the fragments to merge. `steps` is ignored if set.
    pub fragments: Option<Vec<String>>,
    /// Whether to drop deleted cells, including their history.
    pub purge_deleted: bool,
    /// Start a new fragment after this many bytes of data.
    pub fragment_bytes_max: u64,
}

/// How fragments are chosen: the longest runs of neighbours in time first, as in libtiledb.
#[derive(Debug, Clone, PartialEq)]
pub struct Steps {
    /// The maximum number of merges. Stops earlier if nothing is left to merge.
    pub count: u32,
    /// The fewest fragments in a run.
    pub fragments_min: usize,
    /// The most fragments in a run.
    pub fragments_max: usize,
    /// The lowest size ratio of neighbours in a run, smaller to larger.
    pub size_ratio: f32,
    /// The most cells in the bounding box of a dense run, per cell of the tiles that its fragments cover.
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
    /// Merges everything at once, with a memory budget of 512 MiB.
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

/// The result of a consolidation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Consolidation {
    /// Names of the files or fragments that were written.
    pub written: Vec<String>,
    /// The number of replaced fragments or files. Vacuum removes them.
    pub replaced: usize,
    /// Names of the attributes that merged fragments had and the latest schema lacks, or has with a type of another
    /// size. Reads of earlier moments show their fill values from now on.
    pub dropped: BTreeSet<String>,
}

/// The options of one merge.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    pub(super) memory_bytes: u64,
    pub(super) purge: bool,
    pub(super) fragment_bytes_max: u64,
    pub(super) sync: bool,
}

/// The timestamps of the oldest and the newest write of a run.
pub(super) fn times(run: &[Arc<Fragment>]) -> (u64, u64) {
    let first = run.iter().map(|f| f.start_ms).min().unwrap_or(0);
    (first, run.iter().map(|f| f.end_ms).max().unwrap_or(first))
}
