//! Turns final cells into columns: decodes the tiles of the fields they need and copies the cells.

use std::sync::Arc;

use super::layer::SparseLayer;
use super::order::{CellKey, ResultOrder};
use super::sorted_tile::{Places, SortedTile};
use super::{Segment, SparseQuery};
use crate::cache::{Cache, Reuse};
use crate::column::Column;
use crate::error::Result;
use crate::format::field::Field;
use crate::format::fragment::slots::FieldId;
use crate::query::Batch;
use crate::query::fill::fill;
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

    /// The places of the first and the last cell.
    pub(crate) fn ends(&self, order: &ResultOrder) -> Option<(CellKey, CellKey)> {
        let place = |s: &Segment, i: u32| Some(self.runs.get(s.run as usize)?.key(i as usize).place(order));
        let (first, last) = (self.segments.first()?, self.segments.last()?);
        Some((place(first, first.start)?, place(last, last.start + last.len - 1)?))
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
        let decoded = self.tiles.get(attribute).and_then(|of| of.get(run as usize)?.as_ref());
        decoded.or_else(|| self.runs.get(run as usize)?.attributes.get(attribute)?.as_ref())
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

    /// The cells of a field in a run; `None` if the fragment lacks the field.
    fn source(&self, run: usize, field: &Field, attribute: Option<usize>) -> Option<Source<'_>> {
        let of = self.runs.get(run)?;
        Some(match field.id {
            Some(FieldId::Dimension(d)) => Source::Run(of.dims.get(d)?.as_deref()?),
            Some(FieldId::Timestamps) => Source::Times(of),
            _ => match (self.tile(attribute?, u32::try_from(run).ok()?)?, &of.cells) {
                (tile, None) => Source::Run(tile),
                (tile, Some(_)) => Source::Tile(tile, of),
            },
        })
    }

    fn append(&self, column: &mut Column, query: &SparseQuery, segments: &[Segment], field: &Field) {
        let mut out = Builder::new(field, column, cells(segments));
        let attribute = query.attributes.iter().position(|f| f.id == field.id);
        let sources: Vec<_> = (0..self.runs.len())
            .map(|run| self.source(run, field, attribute))
            .collect();
        for s in segments {
            let (start, len) = (s.start as usize, s.len as usize);
            match sources.get(s.run as usize) {
                Some(Some(Source::Run(column))) => out.column.append_range(column, start..start + len),
                Some(Some(Source::Tile(column, run))) => out.copy(column, &run.places(start, len), len),
                Some(Some(Source::Times(run))) => run.append_times(out.column, start, len),
                _ => out.fill(len),
            }
        }
    }
}

/// Cells of a field in a run.
enum Source<'a> {
    /// In the order of the run.
    Run(&'a Column),
    /// In the order of the run's tile.
    Tile(&'a Column, &'a SortedTile),
    /// Its write times.
    Times(&'a SortedTile),
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
