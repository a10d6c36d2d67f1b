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
    /// A box of tiles for each fragment.
    written: Vec<Vec<Span>>,
}

impl Tiles {
    /// # Errors
    /// [`Error::InvalidArgument`] for an array without a grid.
    pub(super) fn of(array: &Array) -> Result<Self> {
        let grid = Grid::new(array.schema())?;
        let boxes = array.fragments().iter().filter_map(|f| f.non_empty_domain());
        let written = boxes
            .filter_map(|b| grid.spans(b).ok())
            .map(|spans| grid.tiles(&spans).spans)
            .collect();
        Ok(Self { grid, written })
    }

    /// Every tile of the domain, as if all of them held cells.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for an array without a grid.
    pub(super) fn whole(schema: &Schema) -> Result<Self> {
        let grid = Grid::new(schema)?;
        let written = vec![grid.tiles(&grid.domain()).spans];
        Ok(Self { grid, written })
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

    /// The cells of a tile that are inside the domain.
    pub(super) fn selection(&self, attribute: &str, tile: &[u64]) -> Selection {
        let spans = self.grid.tile_spans(tile);
        let inside = |(span, axis): (Span, &crate::geometry::grid::Axis)| Span {
            first: span.first,
            last: span.last.min(axis.last),
        };
        let spans: Vec<Span> = spans.into_iter().zip(&self.grid.axes).map(inside).collect();
        let axes = self.grid.ranges(&spans).into_iter().map(|r| Axis {
            range: Some(r),
            step: 1,
            single: false,
        });
        Selection {
            attributes: Some(vec![attribute.to_owned()]),
            axes: axes.collect(),
        }
    }
}
