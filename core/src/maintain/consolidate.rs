//! Consolidation.

use std::sync::Arc;

use super::catalog::Catalog;
use super::pending::Pending;
use super::vacuum::Plan;
use super::{COMMITTING, CONSOLIDATING, Mode, dense, fill, lists, pending, run, sparse};
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::format::commits::{self, COMMITS_DIR, FRAGMENTS_DIR};
use crate::format::name;
use crate::limits;
use crate::vfs::{join, last_part};
use crate::write::WriteOptions;
use crate::write::commit::{Draft, Sealed, put};
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
    let turn = array.context().vfs.lock(array.path(), CONSOLIDATING).await?;
    // Whoever had the lock before may have merged what the array was opened with.
    let array = &match turn {
        Some(_) => {
            pending::finish(array, write.sync).await?;
            array.at(array.window()).await?
        }
        None => array.clone(),
    };
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
        let sealed = if current.schema().is_dense() {
            dense::merge(&current, &run, &merge, &mut ids).await?
        } else {
            sparse::merge(&current, &run, &merge, &mut ids).await?
        };
        if sealed.is_empty() {
            break;
        }
        let written = replace(&current, &run, sealed, write, &mut ids).await?;
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

/// Commits what `run` was merged into, and says that it replaces the run. Returns the names.
///
/// On a store with locks, no other merge is committed and nothing is vacuumed meanwhile. Elsewhere each merge looks for
/// others after its commit, and the one that sees another withdraws: of two at a time at most one stays.
async fn replace(
    array: &Array,
    run: &[Arc<Fragment>],
    sealed: Vec<Sealed>,
    write: &WriteOptions,
    ids: &mut Ids,
) -> Result<Vec<String>> {
    let names: Vec<String> = sealed.iter().map(|s| s.name.clone()).collect();
    let turn = array.context().vfs.lock(array.path(), COMMITTING).await?;
    let list = vacuum_list(array, run);
    let path = vacuum_list_path(array, &names);
    let ready = async {
        still_there(array, run).await?;
        Pending::note(array, last_part(&path), &list, turn.as_deref(), write.sync).await
    };
    let pending = match ready.await {
        Ok(pending) => pending,
        Err(e) => {
            for name in &names {
                Draft::discard(array, name).await;
            }
            return Err(e);
        }
    };
    commit(array, run, sealed, write.sync, ids).await?;
    if turn.is_none()
        && let Err(e) = is_alone(array, run, &names).await
    {
        // The first failure is the one to report.
        let _ = withdraw(array, &names, write).await;
        return Err(e);
    }
    // Written last: until then readers see both, which is the same cells twice at worst; the other way round they would
    // see neither.
    if let Err(e) = put(array, &path, list, write.sync).await {
        // What several fragments show is one file for all of them. They stay beside what they replace, as after a
        // crash, and so does one where this fails as well, or where the list may still arrive: who then reads by
        // it would see neither.
        if names.len() == 1 && array.context().vfs.failures_are_final() {
            let _ = take_back(array, run, &names, write).await;
        }
        return Err(e);
    }
    pending.done(array).await;
    Ok(names)
}

/// Commits all at once: several fragments become visible by one file that names them.
async fn commit(array: &Array, run: &[Arc<Fragment>], sealed: Vec<Sealed>, sync: bool, ids: &mut Ids) -> Result<()> {
    if sealed.len() > 1 {
        let (first, last) = times(run);
        let version = array.schema().version.for_new_fragments();
        let name = name::versioned(first, last, ids.draw(), version);
        let lines = commits::encode_consolidated(sealed.iter().map(|s| (s.commit.as_str(), None)));
        return put(array, &format!("{COMMITS_DIR}/{name}.con"), lines, sync).await;
    }
    for only in sealed {
        only.commit().await?;
    }
    Ok(())
}

/// Complains unless every fragment of `run` is still there: where another consolidation has replaced some meanwhile,
/// their cells would be seen twice.
async fn still_there(array: &Array, run: &[Arc<Fragment>]) -> Result<()> {
    let now = array.at(Window::ALL).await?;
    match run.iter().find(|f| !now.fragments().iter().any(|n| n.name == f.name)) {
        None => Ok(()),
        Some(gone) => Err(overtaken(
            array,
            &format!("fragment '{}' was merged or removed", gone.name),
        )),
    }
}

/// Complains if another merge was committed since `array` was opened that may replace some of `run` too, so that
/// readers of duplicates would see its cells twice. `own` are the names of what the run was merged into.
async fn is_alone(array: &Array, run: &[Arc<Fragment>], own: &[String]) -> Result<()> {
    let schema = array.schema();
    let timed = !schema.is_dense() && schema.version.for_new_fragments().has_delete_metadata();
    if !timed || !schema.allows_duplicates {
        return Ok(());
    }
    let (first, last) = times(run);
    let now = array.at(Window::ALL).await?;
    let is_known = |f: &Fragment| own.contains(&f.name) || array.fragments().iter().any(|k| k.name == f.name);
    let is_merged = |f: &Fragment| f.start_ms < f.end_ms || first == last;
    let meets = |f: &Fragment| f.start_ms <= last && first <= f.end_ms;
    match now
        .fragments()
        .iter()
        .find(|f| !is_known(f) && is_merged(f) && meets(f))
    {
        None => Ok(()),
        Some(other) => Err(overtaken(array, &format!("fragment '{}' was merged", other.name))),
    }
}

fn overtaken(array: &Array, what: &str) -> Error {
    let why = format!("{what} by another process meanwhile; this merge was given up, run the consolidation again");
    Error::not_found(array.path(), why)
}

/// A file that says which fragments are replaced.
fn vacuum_list(array: &Array, run: &[Arc<Fragment>]) -> Vec<u8> {
    let lines = run.iter().map(|f| match f.version.has_commit_folder() {
        true => format!("/{FRAGMENTS_DIR}/{}", f.name),
        false => format!("/{}", f.name),
    });
    lists::vacuum_list(array, lines)
}

/// Its path: it is called after the first fragment of those that replace them.
fn vacuum_list_path(array: &Array, names: &[String]) -> String {
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    let name = names.first().map_or("", String::as_str);
    join(if in_folder { COMMITS_DIR } else { "" }, &format!("{name}.vac"))
}

/// Removes the fragments that a run was merged into, since nothing can say that they replace the run: readers of
/// duplicates would see its cells twice. They stay where somebody else has removed part of the run meanwhile.
async fn take_back(array: &Array, run: &[Arc<Fragment>], names: &[String], write: &WriteOptions) -> Result<()> {
    // It may be there all the same, where making it last is what failed.
    let list = join(array.path(), &vacuum_list_path(array, names));
    array.context().vfs.remove(&list).await?;
    still_there(array, run).await?;
    withdraw(array, names, write).await
}

/// Hides these fragments and removes them. Somebody may have listed their commits already.
async fn withdraw(array: &Array, names: &[String], write: &WriteOptions) -> Result<()> {
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    let dir = if in_folder { FRAGMENTS_DIR } else { "" };
    let folders = names.iter().map(|name| join(dir, name)).collect();
    let catalog = Catalog::load(array).await?;
    Plan::fragments(&catalog, &folders).run(array, write).await
}
