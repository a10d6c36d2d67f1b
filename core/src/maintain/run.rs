//! The fragments that a consolidation merges into one: those that are named, or the next ones that are chosen.
//!
//! What readers see must stay, also of fragments that are not in the array's window: merges of before may reach from
//! one side of its ends to the other.

use std::collections::HashMap;
use std::sync::Arc;

use super::choose::{Candidate, Order, Rules, choose, hinders, union};
use super::consolidate::ConsolidateOptions;
use super::source::Source;
use super::sparse::{TILES, too_little};
use crate::array::sections::load_index;
use crate::array::{Array, Fragment, Window};
use crate::error::{Error, Result};
use crate::geometry::Grid;

/// A box around single cells counts whole up to so many cells, as in libtiledb; a larger one only as their tiles, lest a
/// few cells far apart fill a disk.
const POINTS_BOX_CELLS: f64 = (1 << 24) as f64;

/// The run to merge next among the fragments that lie wholly in the window.
///
/// # Errors
/// [`Error::LimitExceeded`] if the memory suffices for no two neighbours.
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

/// The fragments of these names, oldest first.
///
/// # Errors
/// [`Error::NotFound`] for a name that is not in the array's window, [`Error::InvalidArgument`] where readers would see
/// other cells than before.
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
            "merging these fragments would change what is seen of fragment '{}', which is not among them; add it",
            f.name
        ))),
    }
}

/// The fragments of an array in the order of reads: those of its window, and of other times where they matter.
struct All {
    fragments: Vec<Arc<Fragment>>,
    candidates: Vec<Candidate>,
    /// Of a dense array.
    grid: Option<Grid>,
    /// Whether of two cells at one place that of the later fragment is seen.
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

    /// Finds out how much a merge holds of each sparse fragment that may be merged: its largest tile.
    async fn weigh(&mut self, array: &Array) -> Result<()> {
        let schema = array.schema();
        let sources: Vec<Source> = self.free().into_iter().map(|f| Source::new(f, schema)).collect();
        let wanted: Vec<_> = sources
            .iter()
            .map(|s| (Arc::clone(&s.fragment), s.sections()))
            .collect();
        load_index(array, &wanted).await?;
        for (candidate, source) in self.candidates.iter_mut().filter(|c| c.free).zip(&sources) {
            candidate.held = source.tile_bytes()?.into_iter().max().unwrap_or(0);
        }
        Ok(())
    }

    fn order(&self) -> Order {
        match self.grid {
            Some(_) => Order::Boxes,
            None if self.in_order => Order::Places,
            None => Order::Nothing,
        }
    }

    /// Those that may be merged.
    fn free(&self) -> Vec<&Arc<Fragment>> {
        let all = self.fragments.iter().zip(&self.candidates);
        all.filter(|(_, c)| c.free).map(|(f, _)| f).collect()
    }

    /// Those at these positions.
    fn at(&self, positions: &[usize]) -> Vec<Arc<Fragment>> {
        positions
            .iter()
            .filter_map(|&i| self.fragments.get(i))
            .cloned()
            .collect()
    }
}
