//! Consolidation.

use std::sync::Arc;

use super::choose::{Candidate, Rules, choose};
use super::{Mode, dense, lists, sparse};
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::format::commits::{COMMITS_DIR, FRAGMENTS_DIR};
use crate::geometry::{Grid, Span, region};
use crate::limits;
use crate::vfs::join;
use crate::write::WriteOptions;
use crate::write::commit::put;
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
    let mut current = array.clone();
    for _ in 0..options.steps.count {
        let run = match &options.fragments {
            Some(names) => listed(&current, names)?,
            None => match next_run(&current, options).await? {
                Some(run) => run,
                None => break,
            },
        };
        let written = if current.schema().is_dense() {
            dense::merge(&current, &run, &merge, &mut ids).await?
        } else {
            sparse::merge(&current, &run, &merge, &mut ids).await?
        };
        let Some(first) = written.first() else { break };
        put_vacuum_list(&current, first, &run, write.sync).await?;
        // A run that was split would be chosen again, and split again.
        let split = written.len() > 1;
        done.written.extend(written);
        done.replaced += run.len();
        if split || options.fragments.is_some() {
            break;
        }
        current = current.at(current.window()).await?;
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
    let now = array.at(array.window()).await?;
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
    let in_folder = array.schema().version.for_new_fragments().has_commit_folder();
    let lines = run.iter().map(|f| {
        if f.version.has_commit_folder() {
            format!("/{FRAGMENTS_DIR}/{}", f.name)
        } else {
            format!("/{}", f.name)
        }
    });
    let path = join(if in_folder { COMMITS_DIR } else { "" }, &format!("{name}.vac"));
    put(array, &path, lists::vacuum_list(array, lines), sync).await
}

/// The fragments of these names, oldest first.
fn listed(array: &Array, names: &[String]) -> Result<Vec<Arc<Fragment>>> {
    for name in names {
        if !array.fragments().iter().any(|f| f.name == *name) {
            return Err(Error::not_found(
                array.path(),
                format!("there is no visible fragment '{name}'"),
            ));
        }
    }
    let (run, others): (Vec<_>, Vec<_>) = array
        .fragments()
        .iter()
        .cloned()
        .partition(|f: &Arc<Fragment>| names.contains(&f.name));
    if run.len() < 2 {
        return Err(Error::invalid("name at least two fragments to merge"));
    }
    if !array.schema().is_dense() {
        return Ok(run);
    }
    let grid = Grid::new(array.schema())?;
    let mut union: Option<Vec<Span>> = None;
    for spans in boxes(&grid, &run)? {
        union = Some(union.map_or_else(|| spans.clone(), |u| region::union(&u, &spans)));
    }
    let newest = times(&run).1;
    for other in others.iter().filter(|f| f.start_ms <= newest || !f.dense) {
        let own = boxes(&grid, std::slice::from_ref(other))?;
        let union = union.as_ref().map(|u| grid.rounded_out(u));
        if union.is_some_and(|u| own.iter().any(|o| region::intersect(o, &u).is_some())) {
            return Err(Error::invalid(format!(
                "the box around the fragments meets fragment '{}', which is not among them; add it",
                other.name
            )));
        }
    }
    Ok(run)
}

fn boxes(grid: &Grid, fragments: &[Arc<Fragment>]) -> Result<Vec<Vec<Span>>> {
    fragments
        .iter()
        .filter_map(|f| f.non_empty_domain())
        .map(|domain| grid.spans(domain))
        .collect()
}

/// The run to merge next among the fragments that lie wholly in the window.
async fn next_run(array: &Array, options: &ConsolidateOptions) -> Result<Option<Vec<Arc<Fragment>>>> {
    let window = array.window();
    let inside = |f: &&Arc<Fragment>| window.start_ms <= f.start_ms && f.end_ms <= window.end_ms;
    let all: Vec<Arc<Fragment>> = array.fragments().iter().filter(inside).cloned().collect();
    let dense = array.schema().is_dense();
    let grid = if dense { Some(Grid::new(array.schema())?) } else { None };
    let mut anterior = Vec::new();
    if let (Some(grid), Some(before)) = (&grid, window.start_ms.checked_sub(1)) {
        let older = array
            .at(Window {
                start_ms: 0,
                end_ms: before,
            })
            .await?;
        anterior = boxes(grid, older.fragments())?;
    }
    if dense && all.iter().any(|f| !f.dense) {
        // Cells of sparse fragments lie over all dense ones, later ones too. Only a merge of everything
        // keeps it so.
        let everything = all.len() == array.fragments().len() && anterior.is_empty() && all.len() > 1;
        return Ok(everything.then_some(all));
    }
    let candidate = |f: &Arc<Fragment>| -> Result<Candidate> {
        let spans = match (&grid, f.non_empty_domain()) {
            (Some(grid), Some(domain)) => Some(grid.spans(domain)?),
            _ => None,
        };
        Ok(Candidate { bytes: f.bytes, spans })
    };
    let candidates = all.iter().map(candidate).collect::<Result<Vec<_>>>()?;
    let rules = Rules {
        steps: &options.steps,
        fragments_max: if dense {
            usize::MAX
        } else {
            at_once(array, &all, options.memory_bytes)?
        },
        grid: grid.as_ref(),
        anterior: &anterior,
    };
    Ok(choose(&candidates, &rules).and_then(|run| all.get(run).map(<[_]>::to_vec)))
}

/// How many sparse fragments the memory suffices to merge at once: each holds a tile at least, in a
/// quarter of the memory all together.
fn at_once(array: &Array, all: &[Arc<Fragment>], memory_bytes: u64) -> Result<usize> {
    let schema = array.schema();
    let widths = schema
        .attributes
        .iter()
        .map(|a| a.cell.cell_bytes(a.datatype).unwrap_or(8) as u64 + u64::from(a.nullable));
    let widths = widths.chain(
        schema
            .dimensions
            .iter()
            .map(|d| d.cell.cell_bytes(d.datatype).unwrap_or(8) as u64),
    );
    let has_var =
        schema.attributes.iter().any(|a| a.cell.is_var()) || schema.dimensions.iter().any(|d| d.cell.is_var());
    let cell_bytes = widths.sum::<u64>() + 24;
    let tile_bytes = |f: &Arc<Fragment>| {
        let cells = f.cells.min(f.schema.capacity);
        let var = if has_var {
            f.bytes.div_ceil(f.cells.max(1)).saturating_mul(4)
        } else {
            0
        };
        cells.saturating_mul(cell_bytes + var)
    };
    let largest = all.iter().map(tile_bytes).max().unwrap_or(0).max(1);
    let n = usize::try_from(memory_bytes / 4 / largest).unwrap_or(usize::MAX);
    if n < 2 && all.len() > 1 {
        return Err(Error::LimitExceeded {
            what: "bytes that merging two fragments takes (give more memory; `verify` says whether their metadata is damaged)".into(),
            found: largest.saturating_mul(8),
            limit: memory_bytes,
        });
    }
    Ok(n)
}
