//! A run: the cells of one tile that are in the region, with their coordinates and keys, in the order of the result.

use std::cmp::Ordering;
use std::sync::Arc;

use super::SparseQuery;
use super::layer::{Candidate, SparseLayer};
use super::order::{CellKey, KeyPart, Term, key_at};
use crate::array::index::inconsistent;
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::geometry::number;
use crate::query::tile::{Decoding, FetchList, Input, split_coordinates};
use crate::sort::first_not;

/// Cells of one tile.
#[derive(Debug)]
pub(crate) struct SortedTile {
    pub(crate) layer: usize,
    pub(crate) tile: u64,
    /// Number of cells in the tile, including those that are not in the run.
    pub(crate) tile_cells: usize,
    /// The coordinates of the run's cells, for the dimensions that are needed.
    pub(crate) dims: Vec<Option<Arc<Column>>>,
    /// The index of each cell in its tile; `None` if the run is the whole tile in its own order.
    pub(crate) cells: Option<Vec<u32>>,
    /// The attributes of all cells of the tile, in its own order. Empty if they are decoded once it is known which cells
    /// are in the result.
    pub(super) attributes: Vec<Option<Arc<Column>>>,
    /// The write time of each cell.
    times: Option<Vec<u64>>,
    /// The write time of cells in fragments without timestamps.
    fragment_time: u64,
    /// 1 if the cell was deleted.
    deleted: Option<Vec<u8>>,
    terms: Vec<Term>,
    pub(crate) len: usize,
    /// Whether the cells are in the order of their tile.
    ascending: bool,
    /// Whether no two of the cells have equal keys.
    pub(crate) distinct: bool,
}

impl SortedTile {
    /// The write time of a cell.
    pub(crate) fn time(&self, i: usize) -> u64 {
        self.times
            .as_ref()
            .and_then(|t| t.get(i).copied())
            .unwrap_or(self.fragment_time)
    }

    /// Appends the write times of cells `start..start + len`.
    pub(crate) fn append_times(&self, out: &mut Column, start: usize, len: usize) {
        match &self.times {
            Some(times) => out
                .data
                .extend_from_slice(bytemuck::cast_slice(times.get(start..start + len).unwrap_or(&[]))),
            None => (0..len).for_each(|_| out.data.extend_from_slice(&self.fragment_time.to_le_bytes())),
        }
    }

    /// The size in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let columns = self.dims.iter().chain(&self.attributes).flatten();
        let keys = self.terms.iter().map(|t| match t {
            Term::Numbers(v) => v.len() as u64,
            Term::Strings(_) => 0,
        });
        let numbers = keys.sum::<u64>() + self.times.as_ref().map_or(0, |t| t.len() as u64);
        columns.map(|c| c.bytes()).fold(numbers * 8, u64::saturating_add)
    }

    pub(crate) fn is_deleted(&self, i: usize) -> bool {
        self.deleted.as_ref().is_some_and(|d| d.get(i) == Some(&1))
    }

    pub(crate) fn has_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    /// The index of the cell in its tile.
    pub(crate) fn cell(&self, i: usize) -> usize {
        self.cells.as_ref().map_or(i, |c| c.get(i).map_or(0, |&c| c as usize))
    }

    /// The indices of cells `start..start + len` in their tile, as one range or a list.
    pub(crate) fn places(&self, start: usize, len: usize) -> Places<'_> {
        let Some(cells) = &self.cells else {
            return Places::PartialTile(start);
        };
        let list = cells.get(start..start + len).unwrap_or(&[]);
        match (list.first(), list.last()) {
            (Some(&a), Some(&b)) if self.ascending && (b - a) as usize == len - 1 => Places::PartialTile(a as usize),
            _ => Places::List(list),
        }
    }

    pub(crate) fn key(&self, i: usize) -> CellKey {
        key_at(&self.terms, i, &|d| self.string(d, i))
    }

    /// Compares two cells.
    pub(crate) fn compare(&self, i: usize, other: &Self, j: usize) -> Ordering {
        for (a, b) in self.terms.iter().zip(&other.terms) {
            let order = match (a, b) {
                (Term::Numbers(a), Term::Numbers(b)) => number(a, i).cmp(&number(b, j)),
                (Term::Strings(d), _) => self.string(*d, i).cmp(other.string(*d, j)),
                (Term::Numbers(_), Term::Strings(_)) => Ordering::Equal,
            };
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    fn string(&self, d: usize, i: usize) -> &[u8] {
        self.dims.get(d).and_then(Option::as_ref).map_or(&[], |c| c.cell(i))
    }

    fn is_before(&self, i: usize, key: &CellKey) -> bool {
        for (term, part) in self.terms.iter().zip(&key.0) {
            let order = match (term, part) {
                (Term::Numbers(v), KeyPart::Number(k)) => v.get(i).cmp(&Some(k)),
                (Term::Strings(d), KeyPart::Text(k)) => self.string(*d, i).cmp(k.as_slice()),
                _ => Ordering::Equal,
            };
            if order.is_ne() {
                return order.is_lt();
            }
        }
        false
    }

    /// The first cell from `start` on that is not before `key`.
    pub(crate) fn cells_before(&self, start: usize, key: &CellKey) -> usize {
        first_not(start..self.len, |i| self.is_before(i, key))
    }

    /// The keys as plain numbers, most significant first; `None` if some are strings.
    pub(crate) fn numbers(&self) -> Option<Vec<&[u64]>> {
        self.terms
            .iter()
            .map(|t| {
                if let Term::Numbers(v) = t {
                    Some(v.as_slice())
                } else {
                    None
                }
            })
            .collect()
    }
}

/// Indices of cells in their tile.
#[derive(Debug)]
pub(crate) enum Places<'a> {
    /// Consecutive cells, starting at this one.
    PartialTile(usize),
    List(&'a [u32]),
}

/// The delete time of cells that were not deleted.
const ALIVE: u64 = u64::MAX;

/// The tiles to decode for one run.
#[derive(Debug)]
pub(crate) struct SortTileJob {
    candidate: Candidate,
    tile_cells: usize,
    /// One entry per coordinate field of the layer; `None` for those that are not needed.
    coordinates: Vec<Option<Input>>,
    /// The dimensions along which cells may be outside the region.
    cut: Vec<bool>,
    times: Option<Input>,
    delete_times: Option<Input>,
    /// The attributes of the query, if they are decoded with the coordinates.
    attributes: Vec<Option<Input>>,
}

impl SortTileJob {
    /// Plans what to read for the run of a candidate. Coordinates are read for the dimensions in `needed`, and for
    /// those along which the tile may extend past the region. Attributes are read too if the query is eager.
    ///
    /// # Errors
    /// The fragment's index is damaged.
    pub(crate) fn new(
        candidate: Candidate,
        layer: &SparseLayer,
        query: &SparseQuery,
        needed: &[bool],
        cache: &Cache,
        list: &mut FetchList,
    ) -> Result<Self> {
        let tile = candidate.tile;
        let leaves = layer.fragment.index.rtree().and_then(|t| t.leaves());
        let is_cut = |d| match (leaves, usize::try_from(tile)) {
            (Some(leaves), Ok(i)) => query.ranges.cuts(d, leaves, i),
            _ => true,
        };
        let cut: Vec<bool> = (0..needed.len()).map(|d| !candidate.inside && is_cut(d)).collect();
        let is_needed = |d: usize| needed.get(d) == Some(&true) || cut.get(d) == Some(&true) || candidate.hidden;
        let together = !layer.fragment.version.has_dimension_files();
        let mut input = |field| Ok::<_, Error>(Input::new(SparseLayer::tile(field, tile)?, None, cache, list));
        let mut coordinates = Vec::with_capacity(layer.coordinates.len());
        for (d, stored) in layer.coordinates.iter().enumerate() {
            let is_read = is_needed(d) || together && (0..needed.len()).any(is_needed);
            coordinates.push(is_read.then(|| input(stored)).transpose()?);
        }
        let times = layer.times.as_ref().map(&mut input).transpose()?;
        let delete_times = layer.delete_times.as_ref().map(&mut input).transpose()?;
        let attributes = layer.attributes.iter().filter(|_| query.eager);
        let attributes = attributes
            .map(|a| a.as_ref().map(&mut input).transpose())
            .collect::<Result<_>>()?;
        Ok(Self {
            attributes,
            tile_cells: layer.fragment.tile_cells(tile)?,
            candidate,
            coordinates,
            cut,
            times,
            delete_times,
        })
    }

    /// Bytes of the coordinates that are examined, if they are numbers.
    pub(crate) fn coordinate_bytes(&self) -> u64 {
        let looked_at = self.coordinates.iter().flatten().count() * size_of::<u64>();
        (self.tile_cells as u64).saturating_mul(looked_at as u64)
    }

    /// Decodes the tile, keeps the cells in the region and the window, and sorts them. Returns `None` if no cell
    /// remains.
    ///
    /// # Errors
    /// A tile is damaged.
    pub(crate) fn run(self, query: &SparseQuery, d: &Decoding) -> Result<Option<SortedTile>> {
        let layer = query.layers.get(self.candidate.layer).ok_or(Error::Cancelled)?;
        let (window, order) = (query.window, query.order.as_deref());
        let reuse = if self.candidate.inside {
            Reuse::Possible
        } else {
            Reuse::Likely
        };
        let mut dims = self
            .coordinates
            .iter()
            .map(|c| c.as_ref().map(|c| c.decode(d, reuse)).transpose())
            .collect::<Result<Vec<_>>>()?;
        if let ([Some(one)], false) = (dims.as_slice(), layer.fragment.version.has_dimension_files()) {
            let each = split_coordinates(one, &layer.fragment).into_iter();
            dims = each.map(|c| Some(Arc::new(c))).collect();
        }
        let numbers = |input: Option<Input>| -> Result<Option<Vec<u64>>> {
            Ok(input
                .map(|i| i.decode(d, reuse))
                .transpose()?
                .map(|c| bytemuck::pod_collect_to_vec(&c.data)))
        };
        let decoded = |a: &Option<Input>| a.as_ref().map(|a| a.decode(d, reuse)).transpose();
        let attributes: Vec<_> = self.attributes.iter().map(decoded).collect::<Result<_>>()?;
        let mut times = numbers(self.times)?;
        let delete_times = numbers(self.delete_times)?;
        let mut deleted: Option<Vec<u8>> =
            delete_times.map(|t| t.iter().map(|&t| u8::from(t != ALIVE && t <= window.end_ms)).collect());

        let all: Vec<Option<&Column>> = dims.iter().map(Option::as_deref).collect();
        let cut = |d: usize| self.cut.get(d).is_some_and(|c| *c);
        let outside: Vec<Option<&Column>> = (0..).zip(&all).map(|(d, c)| c.filter(|_| cut(d))).collect();
        let mut cells = query.ranges.select(&outside);
        if let (true, Some(times)) = (layer.partly_visible, &times) {
            let visible = |&i: &u32| {
                times
                    .get(i as usize)
                    .is_some_and(|t| (window.start_ms..=window.end_ms).contains(t))
            };
            let all = cells.unwrap_or_else(|| (0..self.tile_cells as u32).collect());
            cells = Some(all.into_iter().filter(visible).collect());
        }
        if let (true, Some(mask)) = (self.candidate.hidden, &layer.mask) {
            cells = mask.visible(cells, self.tile_cells, &all);
        }
        if cells.as_ref().is_some_and(Vec::is_empty) {
            return Ok(None);
        }
        if let Some(cells) = &cells {
            dims = pick_columns(&dims, cells);
            times = times.map(|t| pick_values(&t, cells));
            deleted = deleted.map(|t| pick_values(&t, cells));
        }
        let len = cells.as_ref().map_or(self.tile_cells, Vec::len);
        let mut terms = match order.filter(|_| len > 0) {
            Some(order) => order
                .terms(&dims.iter().flatten().map(Arc::as_ref).collect::<Vec<_>>())
                .map_err(|e| {
                    inconsistent(
                        &layer.fragment.metadata_path(),
                        format!("tile {}: {e}", self.candidate.tile),
                    )
                })?,
            None => Vec::new(),
        };
        if order.is_some_and(|o| o.newest_first) {
            let newest_first = |t: &Vec<u64>| t.iter().map(|t| u64::MAX - t).collect();
            let same = || vec![u64::MAX - layer.fragment.start_ms; len];
            terms.push(Term::Numbers(times.as_ref().map_or_else(same, newest_first)));
        }
        let run = SortedTile {
            layer: self.candidate.layer,
            tile: self.candidate.tile,
            tile_cells: self.tile_cells,
            dims,
            cells,
            attributes,
            times,
            fragment_time: layer.fragment.start_ms,
            deleted,
            terms,
            len,
            ascending: true,
            distinct: false,
        };
        let whole = run.attributes.iter().flatten();
        if run.dims.iter().flatten().any(|c| c.len() != len) || whole.clone().any(|c| c.len() != run.tile_cells) {
            let why = format!("the fields of tile {} differ in length", run.tile);
            return Err(inconsistent(&layer.fragment.metadata_path(), why));
        }
        Ok(Some(run.sorted()))
    }
}

impl SortedTile {
    /// Sorts the run by its keys.
    fn sorted(self) -> Self {
        let steps = self.worst_step();
        if steps.is_le() {
            let distinct = steps.is_lt();
            return Self { distinct, ..self };
        }
        let mut places: Vec<u32> = (0..self.len as u32).collect();
        places.sort_by(|&i, &j| self.compare(i as usize, &self, j as usize));
        let term = |t: &Term| match t {
            Term::Numbers(v) => Term::Numbers(pick_values(v, &places)),
            Term::Strings(d) => Term::Strings(*d),
        };
        let cells = match &self.cells {
            Some(cells) => pick_values(cells, &places),
            None => places.clone(),
        };
        let sorted = Self {
            terms: self.terms.iter().map(term).collect(),
            dims: pick_columns(&self.dims, &places),
            times: self.times.as_ref().map(|t| pick_values(t, &places)),
            deleted: self.deleted.as_ref().map(|t| pick_values(t, &places)),
            cells: Some(cells),
            ascending: false,
            ..self
        };
        let distinct = sorted.worst_step().is_lt();
        Self { distinct, ..sorted }
    }

    /// Compares each cell with the next and returns the greatest result: `Less` if all keys ascend, `Equal` if some are
    /// equal, `Greater` if some descend.
    fn worst_step(&self) -> Ordering {
        let Some(keys) = self.numbers() else {
            let steps = (1..self.len).map(|i| self.compare(i - 1, self, i));
            return steps.max().unwrap_or(Ordering::Less);
        };
        // Compare a block of cells key by key, least significant first, so that no branch depends on a value.
        let (mut worst, mut start) = (Ordering::Less, 1);
        while start < self.len {
            let end = self.len.min(start + STEPS);
            let mut steps = [Ordering::Equal; STEPS];
            for key in keys.iter().rev() {
                let (before, cells) = (key.get(start - 1..end - 1), key.get(start..end));
                let pairs = before.unwrap_or(&[]).iter().zip(cells.unwrap_or(&[]));
                for (step, (a, b)) in steps.iter_mut().zip(pairs) {
                    *step = a.cmp(b).then(*step);
                }
            }
            worst = steps.iter().take(end - start).fold(worst, |w, s| w.max(*s));
            start = end;
        }
        worst
    }
}

/// Cells per block of comparisons.
const STEPS: usize = 256;

fn pick_values<T: Copy>(values: &[T], places: &[u32]) -> Vec<T> {
    places.iter().filter_map(|&i| values.get(i as usize).copied()).collect()
}

fn pick_columns(columns: &[Option<Arc<Column>>], places: &[u32]) -> Vec<Option<Arc<Column>>> {
    let picked = |c: &Option<Arc<Column>>| c.as_ref().map(|c| Arc::new(c.picked(places)));
    columns.iter().map(picked).collect()
}
