//! Divides a query into splits: disjoint pieces for other threads or processes. Does no I/O.
//!
//! A split is a box of coordinates, so cells that belong together (versions of a cell, or a cell and its delete) are in
//! one split. Boxes are halved until they are small enough, at edges of tiles: [`dense`] cuts a grid, [`sparse`] the
//! bounding boxes of tiles. If sparse cells may share coordinates, a box that cannot be cut is divided by fragments.
//!
//! ```text
//!  ┌────┬────┬────┬────┐        ┌────┬────┐ ┌────┬────┐
//!  │    │    │    │    │        │    │    │ │    │    │
//!  ├────┼────┼────┼────┤   →    └────┴────┘ └────┴────┘     four splits of two tiles
//!  │    │    │    │    │        ┌────┬────┐ ┌────┬────┐
//!  └────┴────┴────┴────┘        │    │    │ │    │    │
//!                               └────┴────┘ └────┴────┘
//! ```

mod dense;
mod encode;
mod sparse;

use std::sync::Arc;

pub(crate) use self::dense::cut_dense;
pub(crate) use self::sparse::cut_sparse;
use crate::array::{Array, Fragment};
use crate::error::{Error, Result};
use crate::limits::{SPLIT_RANGES_MAX, SPLITS_MAX};
use crate::query::{Query, Region};

/// A piece of a query, made by [`Array::plan_splits`]. With the snapshot of the array, it is all that a process needs to
/// read the piece; see [`Array::part`].
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// The snapshot that it is a piece of.
    fingerprint: [u8; 16],
    /// Indices of the fragments with its cells; `None` for all.
    fragments: Option<Vec<u32>>,
    query: Query,
    bytes: u64,
}

/// A box of a query, with the indices of the fragments that have cells in it.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) region: Region,
    pub(crate) fragments: Option<Vec<u32>>,
    pub(crate) bytes: u64,
}

impl Split {
    pub(crate) fn new(array: &Array, query: &Query, piece: Piece) -> Self {
        Self {
            fingerprint: array.fingerprint(),
            fragments: piece.fragments,
            query: Query {
                region: piece.region,
                ..query.clone()
            },
            bytes: piece.bytes,
        }
    }

    /// The query of the piece. Read it from the array of [`Array::part`].
    pub const fn query(&self) -> &Query {
        &self.query
    }

    /// The estimated size of the cells that reading it decodes, in bytes. Variable-length values count with their
    /// stored size.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Array {
    /// The array and the query to read the cells of `split` with. The array is this one, limited to the fragments with
    /// cells of the split.
    ///
    /// ```
    /// # use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
    /// # use hyperslab::*;
    /// # fn main() -> hyperslab::Result<()> { hyperslab::blocking::block_on(async {
    /// # let context = Context::memory();
    /// # let x = Dimension::new("x", Datatype::Int32, 0, 7, 4);
    /// # let schema = Schema::new(ArrayType::Dense, vec![x], vec![Attribute::new("a", Datatype::Int32, CellCount::ONE)]);
    /// # let options = CreateOptions { timestamp_ms: 1, seed: [1; 32], key: None };
    /// # Array::create(&context, "line", &schema, &[], &options).await?;
    /// # let array = Array::open(&context, "line", &OpenOptions::default()).await?;
    /// # let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int32, &[0, 1, 2, 3, 4, 5, 6, 7]))];
    /// # let cells = Cells { region: None, layout: Layout::RowMajor, columns };
    /// # array.write(cells, &WriteOptions { timestamp_ms: 10, seed: [2; 32], sync: false }).await?;
    /// # let array = array.at(Window::ALL).await?;
    /// // One process plans: two tiles of 16 bytes make two splits.
    /// let token = array.snapshot(&SnapshotOptions::default()).await?;
    /// let splits = array.plan_splits(&Query::default(), 16).await?;
    /// let messages = splits.iter().map(Split::to_bytes).collect::<Result<Vec<_>>>()?;
    /// assert_eq!(messages.len(), 2);
    ///
    /// // Others read.
    /// let mut sum = 0;
    /// for message in messages {
    ///     let array = Array::from_snapshot(&context, "line", &token, None).await?;
    ///     let (part, query) = array.part(&Split::from_bytes(&message)?)?;
    ///     sum += part.read(&query).await?.column("a").unwrap().values::<i32>()?.iter().sum::<i32>();
    /// }
    /// assert_eq!(sum, 28);
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the split was made from another snapshot.
    pub fn part(&self, split: &Split) -> Result<(Self, Query)> {
        let foreign = || {
            let why = "the split is of another snapshot; plan the splits again with this one";
            Error::invalid(format!("{}: {why}", self.path()))
        };
        if split.fingerprint != self.fingerprint() {
            return Err(foreign());
        }
        let array = match &split.fragments {
            None => self.clone(),
            Some(numbers) => {
                let fragment = |n: &u32| self.fragments().get(*n as usize).cloned();
                let fragments: Option<Vec<Arc<Fragment>>> = numbers.iter().map(fragment).collect();
                self.with_fragments(fragments.ok_or_else(foreign)?)
            }
        };
        Ok((array, split.query.clone()))
    }
}

/// The share of a box that should be before its cut, as a number of splits and of all splits of the box. `None` if the
/// box is small enough to be one split.
fn shares(bytes: u64, target_bytes: u64) -> Option<(u64, u64)> {
    let parts = bytes.div_ceil(target_bytes.max(1));
    (parts > 1).then_some((parts / 2, parts))
}

/// The pieces of a query.
#[derive(Default)]
struct Pieces {
    list: Vec<Piece>,
    /// Number of ranges of all regions.
    ranges: usize,
}

impl Pieces {
    /// Adds a piece.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for too many pieces or ranges.
    fn add(&mut self, piece: Piece) -> Result<()> {
        self.ranges += piece.region.0.iter().map(Vec::len).sum::<usize>();
        let (pieces, larger) = (self.list.len() + 1, "choose larger splits");
        check_limit(&format!("splits of a query ({larger})"), pieces, SPLITS_MAX)?;
        let what = format!("ranges of all splits of a query ({larger}, or select fewer ranges)");
        check_limit(&what, self.ranges, SPLIT_RANGES_MAX)?;
        self.list.push(piece);
        Ok(())
    }
}

fn check_limit(what: &str, found: usize, limit: usize) -> Result<()> {
    if found <= limit {
        return Ok(());
    }
    Err(Error::LimitExceeded {
        what: what.to_owned(),
        found: found as u64,
        limit: limit as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::ScalarRange;

    #[test]
    fn ranges_of_all_pieces_are_limited() {
        let piece = || Piece {
            region: Region(vec![vec![ScalarRange::new(0, 1); 1 << 10]]),
            fragments: None,
            bytes: 1,
        };
        let mut pieces = Pieces {
            list: Vec::new(),
            ranges: SPLIT_RANGES_MAX - (1 << 10),
        };
        pieces.add(piece()).unwrap();
        let error = pieces.add(piece()).unwrap_err().to_string();
        assert!(
            error.contains("choose larger splits, or select fewer ranges"),
            "{error}"
        );
    }
}
