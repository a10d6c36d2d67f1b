//! The life of an array beside reads and writes: consolidation, vacuum, deletes, new schemas, groups.

pub(crate) mod catalog;
mod choose;
mod consolidate;
mod delete;
mod deletes;
mod dense;
mod evolve;
mod fill;
mod group;
mod kept;
mod lists;
mod pending;
mod run;
mod source;
mod spare;
mod sparse;
mod vacuum;

pub use consolidate::{ConsolidateOptions, Consolidation, Steps, consolidate};
pub use delete::{count_deleted, delete, delete_fragments};
pub use evolve::{Evolution, evolve};
pub use group::{GroupChange, change_group, create_group, group_metadata_time, group_time, write_group_metadata};
pub use vacuum::vacuum;

/// What is consolidated or vacuumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Cells: many fragments become one.
    Fragments,
    /// Footers of fragments: one file to read instead of many when opening.
    FragmentMetadata,
    /// Commit markers: one file to list instead of many.
    Commits,
    /// The keys and values of the array.
    ArrayMetadata,
}

/// The lock held while an array is consolidated: of two concurrent merges, one would be wasted work.
const CONSOLIDATING: &str = "consolidate";
/// The lock held while the set of commits that count changes: no vacuum runs between a merge and the list of what it
/// replaces, or while commits are consolidated.
const COMMITTING: &str = "commits";

/// Where the array keeps consolidated footers: older versions have no folder for them.
fn fragment_meta_dir(array: &crate::array::Array) -> &'static str {
    let version = array.schema().version.for_new_fragments();
    if version.has_commit_folder() {
        crate::array::directory::FRAGMENT_META_DIR
    } else {
        ""
    }
}
