//! The space tiles of a dense array that hold data, by their place in the grid. Pure.

use std::collections::BTreeSet;

use super::selection::{Axis, Selection};
use crate::array::Array;
use crate::error::{Error, Result};
use crate::format::schema::Schema;
use crate::geometry::grid::Grid;
use crate::geometry::region::Span;

/// Names that one folder lists at most.
const LISTED_MAX: u64 = 1 << 20;

/// The tiles that some fragment may hold cells of.
#[derive(Debug)]
pub(super) struct Tiles {
    grid: Grid,
    /// The cells that may be read.
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

    /// Every tile of the domain, or the current domain, as if all of them held cells.
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

    /// The grid of the tiles.
    pub(super) const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// The next numbers after `prefix` on the way to a tile that holds data, in order.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there are too many to list; they can still be named.
    pub(super) fn next(&self, prefix: &[u64]) -> Result<Vec<u64>> {
        let under = |b: &&Vec<Span>| b.iter().zip(prefix).all(|(span, t)| span.contains(*t));
        let mut found = BTreeSet::new();
        for span in self.written.iter().filter(under).filter_map(|b| b.get(prefix.len())) {
            if span.len() > LISTED_MAX || found.len() as u64 > LISTED_MAX {
                return Err(Error::LimitExceeded {
                    what: "tiles in one folder (name the tile)".into(),
                    found: span.len(),
                    limit: LISTED_MAX,
                });
            }
            found.extend(span.first..=span.last);
        }
        Ok(found.into_iter().collect())
    }

    /// Whether some tile whose place starts with `prefix` holds data; the folder of all tiles is always there.
    pub(super) fn holds(&self, prefix: &[u64]) -> bool {
        let under = |b: &Vec<Span>| b.len() >= prefix.len() && b.iter().zip(prefix).all(|(span, t)| span.contains(*t));
        prefix.is_empty() || self.written.iter().any(under)
    }

    /// The cells of a tile that may be read.
    pub(super) fn selection(&self, attribute: &str, tile: &[u64]) -> Selection {
        let axes = self.grid.ranges(&self.inside(tile)).into_iter().map(|r| Axis {
            range: Some(r),
            step: 1,
            single: false,
        });
        Selection {
            attributes: Some(vec![attribute.to_owned()]),
            axes: axes.collect(),
        }
    }

    /// How many cells of a tile lie before those, along each side.
    pub(super) fn before(&self, tile: &[u64]) -> Vec<u64> {
        let starts = self.grid.tile_spans(tile).into_iter().zip(self.inside(tile));
        starts.map(|(tile, inside)| inside.first - tile.first).collect()
    }

    fn inside(&self, tile: &[u64]) -> Vec<Span> {
        let spans = self.grid.tile_spans(tile).into_iter().zip(&self.readable);
        let inside = |(tile, all): (Span, &Span)| {
            // A tile that lies outside is left whole, and refused when it is read.
            Span::new(tile.first.max(all.first), tile.last.min(all.last)).unwrap_or(tile)
        };
        spans.map(inside).collect()
    }
}

/// The cells of an array that may be read, along each axis: its current domain, or its domain.
pub(super) fn readable(schema: &Schema, grid: &Grid) -> Vec<Span> {
    grid.limits(schema).unwrap_or_else(|_| grid.domain())
}
