//! Turns final cells into columns: decodes the tiles of the fields they need and copies the cells.

use std::sync::Arc;

use super::layer::SparseLayer;
use super::sorted_tile::{Places, SortedTile};
use super::{Segment, SparseQuery};
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::Result;
use crate::format::field::Field;
use crate::query::Batch;
use crate::query::dense::assemble::fill::fill;
use crate::query::tile::{Decoding, FetchList, Input};

/// Final cells, in the order of the result.
#[derive(Debug)]
pub(crate) struct FinalCells {
    pub(crate) runs: Vec<Arc<SortedTile>>,
    pub(crate) segments: Vec<Segment>,
    /// Decoded tiles, by attribute and run.
    tiles: Vec<Vec<Option<Arc<Column>>>>,
}

/// A tile of an attribute to decode.
#[derive(Debug)]
pub(crate) struct Work {
    attribute: usize,
    run: u32,
    input: Input,
    reuse: Reuse,
}

impl FinalCells {
    pub(crate) fn new(runs: Vec<Arc<SortedTile>>, segments: Vec<Segment>) -> Self {
        Self {
            runs,
            segments,
            tiles: Vec::new(),
        }
    }

    pub(crate) fn cells(&self) -> usize {
        cells(&self.segments)
    }

    /// The runs that have cells in the chunk, each with its number of cells, in order.
    fn runs_used(&self) -> Vec<(u32, usize)> {
        let mut cells = vec![0; self.runs.len()];
        for s in &self.segments {
            if let Some(n) = cells.get_mut(s.run as usize) {
                *n += s.len as usize;
            }
        }
        (0_u32..).zip(cells).filter(|(_, n)| *n > 0).collect()
    }

    fn tile(&self, attribute: usize, run: u32) -> Option<&Arc<Column>> {
        self.tiles.get(attribute)?.get(run as usize)?.as_ref()
    }

    pub(crate) fn layer<'a>(&self, query: &'a SparseQuery, run: u32) -> Option<(&SortedTile, &'a SparseLayer)> {
        let run = self.runs.get(run as usize)?;
        Some((run, query.layers.get(run.layer)?))
    }

    /// Removes the cells of tiles whose statistics show that none satisfies the condition.
    pub(crate) fn prune(&mut self, query: &SparseQuery) {
        let Some(condition) = &query.condition else { return };
        let mut gone = vec![false; self.runs.len()];
        for (run, _) in self.runs_used() {
            gone[run as usize] = self
                .layer(query, run)
                .is_some_and(|(r, layer)| layer.excludes(condition, &query.attributes, r.tile));
        }
        self.segments.retain(|s| gone.get(s.run as usize) != Some(&true));
    }

    /// The tiles of these attributes that are not decoded yet.
    ///
    /// # Errors
    /// The index of a fragment is damaged.
    pub(crate) fn work(
        &self,
        query: &SparseQuery,
        attributes: &[usize],
        cache: &Cache,
        list: &mut FetchList,
    ) -> Result<Vec<Work>> {
        let mut out = Vec::new();
        for (run, cells) in self.runs_used() {
            let Some((r, layer)) = self.layer(query, run) else {
                continue;
            };
            for &attribute in attributes {
                if self.tile(attribute, run).is_some() {
                    continue;
                }
                let Some(stored) = layer.attributes.get(attribute).and_then(Option::as_ref) else {
                    continue;
                };
                let input = Input::new(SparseLayer::tile(stored, r.tile)?, None, cache, list);
                out.push(Work {
                    attribute,
                    run,
                    input,
                    reuse: if cells < r.tile_cells {
                        Reuse::Likely
                    } else {
                        Reuse::Possible
                    },
                });
            }
        }
        Ok(out)
    }

    /// Decodes these tiles.
    ///
    /// # Errors
    /// A tile is damaged.
    pub(crate) fn decode(&mut self, work: &[Work], d: &Decoding) -> Result<()> {
        let decoded = d.cpu.try_map(work, |w| w.input.decode(d, w.reuse))?;
        for (w, column) in work.iter().zip(decoded) {
            if self.tiles.len() <= w.attribute {
                self.tiles.resize(w.attribute + 1, vec![None; self.runs.len()]);
            }
            self.tiles[w.attribute][w.run as usize] = Some(column);
        }
        Ok(())
    }

    /// Appends these cells to `batch`, whose columns must match the query's fields. The tiles of the attributes
    /// must be decoded.
    ///
    /// # Errors
    /// Never fails: its jobs return no errors.
    pub(crate) fn append_to(&self, batch: &mut Batch, query: &SparseQuery, d: &Decoding) -> Result<()> {
        let columns = batch.columns.iter_mut().zip(&query.fields).collect();
        d.cpu.try_map_owned(columns, |((_, column), field)| {
            self.append(column, query, &self.segments, field);
            Ok::<_, crate::Error>(())
        })?;
        batch.cells += self.cells() as u64;
        Ok(())
    }

    pub(crate) fn column(&self, query: &SparseQuery, segments: &[Segment], field: &Field) -> Column {
        let mut column = field.empty_column();
        self.append(&mut column, query, segments, field);
        column
    }

    fn append(&self, column: &mut Column, query: &SparseQuery, segments: &[Segment], field: &Field) {
        let mut out = Builder::new(field, column, cells(segments));
        let attribute = query.attributes.iter().position(|f| f.id == field.id);
        for s in segments {
            let (start, len) = (s.start as usize, s.len as usize);
            let Some(run) = self.runs.get(s.run as usize) else {
                continue;
            };
            match field.dimension_index() {
                Some(d) => match run.dims.get(d).and_then(Option::as_ref) {
                    Some(column) => out.copy(column, &Places::PartialTile(start), len),
                    None => out.fill(len),
                },
                None => match attribute.and_then(|a| self.tile(a, s.run)) {
                    Some(column) => out.copy(column, &run.places(start, len), len),
                    None => out.fill(len),
                },
            }
        }
    }
}

pub(super) fn cells(segments: &[Segment]) -> usize {
    segments.iter().map(|s| s.len as usize).sum()
}

/// Appends cells to a column.
struct Builder<'a> {
    field: &'a Field,
    column: &'a mut Column,
}

impl<'a> Builder<'a> {
    fn new(field: &'a Field, column: &'a mut Column, cells: usize) -> Self {
        column.data.reserve(cells * field.cell_bytes().unwrap_or(0));
        if let Some(offsets) = &mut column.offsets {
            offsets.reserve(cells);
        }
        Self { field, column }
    }

    fn fill(&mut self, len: usize) {
        let out = &mut *self.column;
        match &mut out.offsets {
            None => {
                let start = out.data.len();
                out.data.resize(start + len * self.field.fill.len(), 0);
                fill(&mut out.data[start..], &self.field.fill);
            }
            Some(offsets) => {
                for _ in 0..len {
                    out.data.extend_from_slice(&self.field.fill);
                    offsets.push(out.data.len() as u64);
                }
            }
        }
        if let Some(validity) = &mut out.validity {
            validity.resize(validity.len() + len, u8::from(self.field.fill_valid));
        }
    }

    fn copy(&mut self, from: &Column, places: &Places<'_>, len: usize) {
        match places {
            Places::PartialTile(start) => self.column.append_range(from, *start..start + len),
            Places::List(list) => self.column.append_picked(from, list),
        }
    }
}
