//! The fragments that a consolidation merges: those named, or the next ones chosen.
//!
//! Readers must see the same cells afterwards, also of fragments outside the array's window. Earlier merges may span
//! across the ends of the window.

use std::collections::HashMap;
use std::sync::Arc;

use super::options::ConsolidateOptions;
use super::policy::{Candidate, ReadOrderEffect, Rules, choose, hinders, union};
use super::sparse::{TILES, too_little};
use crate::array::sections::load_index;
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::geometry::Grid;
use crate::query::merge::SparseQuery;

/// A box around single cells counts in full up to this many cells, as in libtiledb. A larger box counts only as the
/// tiles of its cells, so that a few distant cells do not fill a disk.
const POINTS_BOX_CELLS: f64 = (1 << 24) as f64;

/// Returns the run to merge next among the fragments that are wholly in the window.
///
/// # Errors
/// [`Error::LimitExceeded`] if the memory does not suffice for any two neighbours.
pub(super) async fn next(array: &Array, options: &ConsolidateOptions) -> Result<Option<Vec<Arc<Fragment>>>> {
    let mut all = All::of(array).await?;
    if all.grid.is_none() {
        all.weigh(array).await?;
    }
    let rules = Rules {
        steps: &options.steps,
        held_max: options.memory_bytes / TILES,
        order: all.order(),
    };
    let run = choose(&all.candidates, &rules);
    let held: Vec<u64> = all.candidates.iter().filter(|c| c.free).map(|c| c.held).collect();
    let pairs = held
        .windows(2)
        .map(|pair| pair.iter().fold(0, |sum: u64, n| sum.saturating_add(*n)));
    match (run, pairs.min()) {
        (None, Some(least)) if least > rules.held_max => Err(too_little(least, options.memory_bytes)),
        (run, _) => Ok(run.map(|run| all.at(&run))),
    }
}

/// Returns the fragments with these names, oldest first.
///
/// # Errors
/// - [`Error::NotFound`] if a name is not visible in the array's window.
/// - [`Error::InvalidArgument`] if readers would see other cells than before.
pub(super) async fn of_names(array: &Array, names: &[String]) -> Result<Vec<Arc<Fragment>>> {
    let all = All::of(array).await?;
    for name in names {
        if !all.free().iter().any(|f| f.name == *name) {
            return Err(Error::not_found(
                array.path(),
                format!("there is no visible fragment '{name}'"),
            ));
        }
    }
    let (run, others): (Vec<usize>, Vec<usize>) =
        (0..all.fragments.len()).partition(|&i| all.fragments.get(i).is_some_and(|f| names.contains(&f.name)));
    if run.len() < 2 {
        return Err(Error::invalid("name at least two fragments to merge"));
    }
    let around = union(&all.candidates, &run);
    let hinders = |i: &usize| hinders(&all.candidates, *i, (&run, around.as_deref()), all.order());
    let in_the_way: Vec<usize> = others.into_iter().filter(hinders).take(1).collect();
    match all.at(&in_the_way).first() {
        None => Ok(all.at(&run)),
        Some(f) => Err(Error::invalid(format!(
            "merging these fragments would change what readers see of fragment '{}', which is not among them; add it",
            f.name
        ))),
    }
}

/// The fragments of an array in read order: those in its window, and others that affect what is read.
struct All {
    fragments: Vec<Arc<Fragment>>,
    candidates: Vec<Candidate>,
    /// `None` for sparse arrays.
    grid: Option<Grid>,
    /// Whether the later fragment hides cells of earlier ones at the same coordinates.
    in_order: bool,
}

impl All {
    async fn of(array: &Array) -> Result<Self> {
        let (schema, window) = (array.schema(), array.window());
        let timed = !schema.is_dense() && schema.version.for_new_fragments().has_delete_metadata();
        let whole = if timed || window == Window::ALL {
            array.clone()
        } else {
            array.at(Window::ALL).await?
        };
        let inside = |f: &&Arc<Fragment>| window.start_ms <= f.start_ms && f.end_ms <= window.end_ms;
        let own = array.fragments().iter().filter(inside).map(|f| (f.name.as_str(), f));
        let own: HashMap<&str, &Arc<Fragment>> = own.collect();
        let mut all = Self {
            fragments: Vec::new(),
            candidates: Vec::new(),
            grid: schema.is_dense().then(|| Grid::new(schema)).transpose()?,
            in_order: !timed && !schema.allows_duplicates,
        };
        for f in whole.fragments() {
            let spans = all.grid.as_ref().map_or(Ok(None), |grid| f.spans(grid))?;
            let points = schema.is_dense() && !f.dense;
            let tiled = spans.as_ref().zip(all.grid.as_ref()).map_or(0.0, |(spans, grid)| {
                let tile_cells = grid.tile_cells().unwrap_or(u64::MAX) as f64;
                let of_points = if points {
                    (f.cells as f64 * tile_cells).max(POINTS_BOX_CELLS)
                } else {
                    f64::INFINITY
                };
                let rounded = grid.rounded_out(spans);
                of_points.min(rounded.iter().map(|s| s.len() as f64).product())
            });
            let own = own.get(f.name.as_str());
            all.candidates.push(Candidate {
                free: own.is_some(),
                start_ms: f.start_ms,
                bytes: f.bytes,
                held: 0,
                points,
                spans,
                tiled,
            });
            all.fragments.push(Arc::clone(own.copied().unwrap_or(f)));
        }
        Ok(all)
    }

    /// Sets `held` of the sparse fragments that may be merged to the size of their largest tile.
    async fn weigh(&mut self, array: &Array) -> Result<()> {
        let free: Vec<Arc<Fragment>> = self.free().into_iter().cloned().collect();
        let query = SparseQuery::history(array, &free, false)?;
        load_index(array, &query.index()).await?;
        for (candidate, layer) in self
            .candidates
            .iter_mut()
            .filter(|c| c.free)
            .zip(query.layers.iter().rev())
        {
            candidate.held = layer.largest_tile_bytes()?;
        }
        Ok(())
    }

    fn order(&self) -> ReadOrderEffect {
        match self.grid {
            Some(_) => ReadOrderEffect::Boxes,
            None if self.in_order => ReadOrderEffect::Places,
            None => ReadOrderEffect::Nothing,
        }
    }

    /// The fragments that may be merged.
    fn free(&self) -> Vec<&Arc<Fragment>> {
        let all = self.fragments.iter().zip(&self.candidates);
        all.filter(|(_, c)| c.free).map(|(f, _)| f).collect()
    }

    /// The fragments at these positions.
    fn at(&self, positions: &[usize]) -> Vec<Arc<Fragment>> {
        positions
            .iter()
            .filter_map(|&i| self.fragments.get(i))
            .cloned()
            .collect()
    }
}
