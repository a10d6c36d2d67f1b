//! The space tiles of a dense array that contain data, by grid position. Does no I/O.

use std::collections::BTreeSet;

use super::selection::{Axis, Selection};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::schema::Schema;
use crate::geometry::grid::Grid;
use crate::geometry::region::Span;

/// The largest number of names in a listing.
const LISTED_MAX: u64 = 1 << 20;

/// The tiles that may contain cells of some fragment.
#[derive(Debug)]
pub(super) struct Tiles {
    grid: Grid,
    /// The readable cells.
    readable: Vec<Span>,
    /// A box of tiles for each fragment.
    written: Vec<Vec<Span>>,
}

impl Tiles {
    /// # Errors
    /// [`Error::InvalidArgument`] for an array without a grid.
    pub(super) fn of(array: &Array) -> Result<Self> {
        let grid = Grid::new(array.schema())?;
        let boxes = array.fragments().iter().filter_map(|f| f.spans(&grid).ok().flatten());
        let written = boxes.map(|spans| grid.tiles(&spans).spans).collect();
        let readable = readable(array.schema(), &grid);
        Ok(Self {
            grid,
            readable,
            written,
        })
    }

    /// All tiles of the current domain, or of the domain, whether they contain data or not.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an array without a grid.
    pub(super) fn whole(schema: &Schema) -> Result<Self> {
        let grid = Grid::new(schema)?;
        let readable = readable(schema, &grid);
        let written = vec![grid.tiles(&readable).spans];
        Ok(Self {
            grid,
            readable,
            written,
        })
    }

    /// The tile grid.
    pub(super) const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The possible next indices after `prefix` in the position of a tile with data, in order.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there are too many to list. They can still be opened by name.
    pub(super) fn next(&self, prefix: &[u64]) -> Result<Vec<u64>> {
        let under = |b: &&Vec<Span>| b.iter().zip(prefix).all(|(span, t)| span.contains(*t));
        let mut found = BTreeSet::new();
        for span in self.written.iter().filter(under).filter_map(|b| b.get(prefix.len())) {
            if span.len() > LISTED_MAX || found.len() as u64 > LISTED_MAX {
                return Err(Error::LimitExceeded {
                    what: "tiles in one folder (open a tile by its name)".into(),
                    found: span.len(),
                    limit: LISTED_MAX,
                });
            }
            found.extend(span.first..=span.last);
        }
        Ok(found.into_iter().collect())
    }

    /// Whether a tile whose position starts with `prefix` contains data. True for the empty prefix, the folder of all
    /// tiles.
    pub(super) fn holds(&self, prefix: &[u64]) -> bool {
        let under = |b: &Vec<Span>| b.len() >= prefix.len() && b.iter().zip(prefix).all(|(span, t)| span.contains(*t));
        prefix.is_empty() || self.written.iter().any(under)
    }

    /// Selects the readable cells of a tile.
    pub(super) fn selection(&self, attribute: &str, tile: &[u64]) -> Selection {
        let ranges = self.grid.ranges(&self.inside(tile));
        let axes = ranges.into_iter().map(|r| Axis::of(Some(r)));
        Selection {
            attributes: Some(vec![attribute.to_owned()]),
            axes: axes.collect(),
        }
    }

    /// The number of cells between the start of the tile and its first readable cell, along each dimension.
    pub(super) fn before(&self, tile: &[u64]) -> Vec<u64> {
        let starts = self.grid.tile_spans(tile).into_iter().zip(self.inside(tile));
        starts.map(|(tile, inside)| inside.first - tile.first).collect()
    }

    fn inside(&self, tile: &[u64]) -> Vec<Span> {
        let spans = self.grid.tile_spans(tile).into_iter().zip(&self.readable);
        let inside = |(tile, all): (Span, &Span)| {
            // A tile outside the readable cells is not clipped. Reading it fails.
            Span::new(tile.first.max(all.first), tile.last.min(all.last)).unwrap_or(tile)
        };
        spans.map(inside).collect()
    }
}

/// Cells along each dimension, from the start of the domain, where the chunks start, to the end of the current domain.
pub(super) fn lengths(schema: &Schema, grid: &Grid) -> Vec<u64> {
    let ends = readable(schema, grid).into_iter();
    ends.map(|span| span.last.saturating_add(1)).collect()
}

/// The readable cells of an array along each dimension: its current domain, or its domain.
pub(super) fn readable(schema: &Schema, grid: &Grid) -> Vec<Span> {
    grid.limits(schema).unwrap_or_else(|_| grid.domain())
}
