//! Consolidation.

use std::sync::Arc;

use super::{Mode, dense, fill, lists, run, sparse};
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::limits;
use crate::vfs::join;
use crate::write::WriteOptions;
use crate::write::commit::{Draft, put};
use crate::write::identity::Ids;

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
    /// Most cells in the box of a dense run, for each cell of the tiles that its fragments lie in.
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

/// Merges what the array's window shows. What is written bears the times of what it replaces, and has the schema of the
/// time in `write`, or that of the window's end if it ends later.
///
/// Readers see either what is replaced or what replaces it, never a mixture; vacuum removes the former.
///
/// # Errors
/// [`Error::InvalidArgument`] for a fragment that is not there or a choice that would change
/// what readers see; [`Error::LimitExceeded`] if the memory does not suffice for one tile.
pub async fn consolidate(array: &Array, options: &ConsolidateOptions, write: &WriteOptions) -> Result<Consolidation> {
    match options.mode {
        Mode::Fragments => fragments(array, options, write).await,
        Mode::FragmentMetadata => lists::fragment_metadata(array, write).await,
        Mode::Commits => lists::commits(array, write).await,
        Mode::ArrayMetadata => lists::array_metadata(array, write).await,
    }
}

/// How a run is merged.
#[derive(Debug, Clone, Copy)]
pub(super) struct Merge {
    pub(super) memory_bytes: u64,
    pub(super) purge: bool,
    pub(super) fragment_bytes_max: u64,
    pub(super) sync: bool,
}

async fn fragments(array: &Array, options: &ConsolidateOptions, write: &WriteOptions) -> Result<Consolidation> {
    let merge = Merge {
        memory_bytes: options.memory_bytes,
        purge: options.purge_deleted,
        fragment_bytes_max: options.fragment_bytes_max,
        sync: write.sync,
    };
    let mut ids = Ids::new(write.seed);
    let mut done = Consolidation::default();
    let mut current = array.with_schema_of(write.timestamp_ms).await?;
    for _ in 0..options.steps.count {
        let run = match &options.fragments {
            Some(names) => run::of_names(&current, names).await?,
            None => match run::next(&current, options).await {
                Ok(Some(run)) => run,
                Ok(None) => break,
                // Those that the memory suffices for are merged.
                Err(Error::LimitExceeded { .. }) if !done.written.is_empty() => break,
                Err(e) => return Err(e),
            },
        };
        fill::check_absent(current.schema(), &run)?;
        let written = if current.schema().is_dense() {
            dense::merge(&current, &run, &merge, &mut ids).await?
        } else {
            sparse::merge(&current, &run, &merge, &mut ids).await?
        };
        let Some(first) = written.first() else { break };
        if let Err(e) = put_vacuum_list(&current, first, &run, write.sync).await {
            // What several fragments show is one file for all of them. They stay beside what they replace, as after a
            // crash, and so does one where this fails as well, or where the list may still arrive: who then reads by
            // it would see neither.
            if let [only] = written.as_slice()
                && current.context().vfs.failures_are_final()
            {
                let _ = take_back(&current, only, &run).await;
            }
            return Err(e);
        }
        // A run that was split would be chosen again, and split again.
        let split = written.len() > 1;
        done.written.extend(written);
        done.replaced += run.len();
        if split || options.fragments.is_some() {
            break;
        }
        let next = current.at(current.window()).await?;
        current = next.with_schema_of(write.timestamp_ms).await?;
    }
    Ok(done)
}

/// The times of the oldest and the newest write of a run.
pub(super) fn times(run: &[Arc<Fragment>]) -> (u64, u64) {
    let first = run.iter().map(|f| f.start_ms).min().unwrap_or(0);
    (first, run.iter().map(|f| f.end_ms).max().unwrap_or(first))
}

/// Complains unless every fragment of `run` is still there: where another consolidation has replaced some meanwhile,
/// their cells would be seen twice.
pub(super) async fn still_there(array: &Array, run: &[Arc<Fragment>]) -> Result<()> {
    let now = array.at(Window::ALL).await?;
    match run.iter().find(|f| !now.fragments().iter().any(|n| n.name == f.name)) {
        None => Ok(()),
        Some(gone) => Err(Error::not_found(
            array.path(),
            format!(
                "fragment '{}' was merged or removed by another process meanwhile; this merge was given up, run the \
                 consolidation again",
                gone.name
            ),
        )),
    }
}

/// Says which fragments the new one replaces. Written last: until then readers see both, which is the
/// same cells twice at worst; the other way round they would see neither.
async fn put_vacuum_list(array: &Array, name: &str, run: &[Arc<Fragment>], sync: bool) -> Result<()> {
    let lines = run.iter().map(|f| {
        if f.version.has_commit_folder() {
            format!("/{FRAGMENTS_DIR}/{}", f.name)
        } else {
            format!("/{}", f.name)
        }
    });
    let list = lists::vacuum_list(array, lines);
    put(array, &vacuum_list_path(array, name), list, sync).await
}

fn vacuum_list_path(array: &Array, name: &str) -> String {
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    join(if in_folder { COMMITS_DIR } else { "" }, &format!("{name}.vac"))
}

/// Removes the fragment that a run was merged into, since nothing can say that it replaces the run: readers of
/// duplicates would see its cells twice. It stays where somebody else has removed part of the run meanwhile.
async fn take_back(array: &Array, name: &str, run: &[Arc<Fragment>]) -> Result<()> {
    // It may be there all the same, where making it last is what failed.
    let list = join(array.path(), &vacuum_list_path(array, name));
    array.context().vfs.remove(&list).await?;
    still_there(array, run).await?;
    Draft::retract(array, name).await
}
