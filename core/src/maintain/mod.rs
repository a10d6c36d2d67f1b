//! Array maintenance: consolidation, vacuum, deletes and schema evolution.
//!
//! Every write adds a fragment. Many fragments make opening and reading slower, so merge them from time to time:
//!
//! ```text
//!              fragments                         commits
//! write ×3     [1000] [2000] [3000]              3 markers
//! consolidate  [1000] [2000] [3000] [1000-3000]  readers use the merged fragment
//! vacuum       [1000-3000]                       the past between 1000 and 3000 is gone
//! ```
//!
//! 1. [`consolidate`] with [`Mode::Fragments`] merges fragments. Reads return the same cells as before.
//! 2. [`vacuum`] removes the fragments that were merged. Until then, the past stays readable.
//! 3. [`consolidate`] with [`Mode::Commits`] and [`Mode::FragmentMetadata`] makes opening an array with many fragments
//!    take a few requests.
//!
//! [`delete`] hides the cells of a sparse array that meet a condition. Consolidation with
//! [`purge_deleted`](ConsolidateOptions::purge_deleted) and a vacuum then remove them for good. [`delete_fragments`]
//! removes all writes in a period. [`evolve`] adds and drops attributes and extends enumerations and the current domain.
//!
//! All of these may run while others read and write. They take the time and seed of a write; see
//! [`WriteOptions`](crate::WriteOptions).

pub(crate) mod catalog;
mod check_fill_value;
mod consolidate;
mod delete;
mod dense;
mod evolve;
mod exempt;
pub(crate) mod group;
mod lists;
mod options;
mod pending;
mod policy;
mod selection;
mod sparse;
mod tile_copy;
mod vacuum;

pub use consolidate::{consolidate, next_merge};
pub use delete::{count_deleted, delete, delete_fragments};
pub use evolve::{Evolution, evolve};
pub use options::{ConsolidateOptions, Consolidation, Steps};
pub use vacuum::vacuum;

/// Selects the files to consolidate or vacuum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Fragments: merges many fragments into one.
    Fragments,
    /// Fragment footers: opening the array reads one file instead of many.
    FragmentMetadata,
    /// Commit files: opening the array lists one file instead of many.
    Commits,
    /// The array's metadata: its keys and values.
    ArrayMetadata,
}

/// The lock held while an array is consolidated, since concurrent merges would duplicate work.
const CONSOLIDATING: &str = "consolidate";
/// The lock held while the set of commits in force changes. It keeps a vacuum from running between a merge and the list
/// of what it replaces, or while commits are consolidated.
const COMMITTING: &str = "commits";
/// The lock held while the schema changes, so that each change is applied to the schema of the one before.
const EVOLVING: &str = "schema";

/// The folder of consolidated footers. Older format versions keep them in the root.
fn fragment_meta_dir(array: &crate::array::Array) -> &'static str {
    let version = array.schema().version.for_new_fragments();
    if version.has_commit_folder() {
        crate::format::folders::FRAGMENT_META_DIR
    } else {
        ""
    }
}
