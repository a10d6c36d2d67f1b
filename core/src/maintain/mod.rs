//! Array maintenance: consolidation, vacuum, deletes, schema evolution, groups.

pub(crate) mod catalog;
mod check_fill_value;
mod consolidate;
mod delete;
mod deletes;
mod dense;
mod evolve;
mod exempt;
pub(crate) mod group;
mod lists;
mod options;
mod pending;
mod policy;
mod selection;
mod source;
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
        crate::array::directory::FRAGMENT_META_DIR
    } else {
        ""
    }
}
