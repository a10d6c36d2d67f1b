//! The order of a sparse result and its sort keys.

use crate::column::Column;
use crate::error::Result;
use crate::format::schema::{Layout, Schema};
use crate::geometry::{CellOrder, KeyColumn, Order, Tiling, number};

/// The order of a sparse result.
#[derive(Debug, Clone)]
pub(crate) struct ResultOrder {
    cells: CellOrder,
    /// The dimension of each coordinate key. Coordinate keys are the last keys of a place.
    coordinates: Vec<usize>,
    /// Whether it is the order of the tiles on disk.
    pub(crate) natural: bool,
    /// Whether the low corner of a box comes before every cell of the box. False along the Hilbert curve, and if there
    /// are too many tiles to count.
    pub(crate) corners: bool,
    /// Whether it is the order along the Hilbert curve.
    pub(crate) hilbert: bool,
    /// Whether the versions of a cell are sorted too, newest first.
    pub(crate) newest_first: bool,
}

/// One of the sort keys of a run.
#[derive(Debug)]
pub(super) enum Term {
    Numbers(Vec<u64>),
    /// The strings of this dimension.
    Strings(usize),
}

/// The sort keys of one cell, independent of its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellKey(pub(super) Vec<KeyPart>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyPart {
    Number(u64),
    Text(Vec<u8>),
}

impl CellKey {
    /// Truncates the key to the cell's place: the least key of all cells at that place.
    pub(crate) fn place(mut self, order: &ResultOrder) -> Self {
        self.0.truncate(order.cells.places());
        self
    }

    /// Keeps only the most significant part: the least key of all cells that share it.
    pub(crate) fn keep_first(&mut self) {
        self.0.truncate(1);
    }
}

impl ResultOrder {
    /// The order of `layout`, which must not be [`Layout::Unordered`].
    ///
    /// # Errors
    /// Those of [`CellOrder::new`].
    pub(crate) fn new(schema: &Schema, layout: Layout) -> Result<Self> {
        let hilbert = layout == Layout::Hilbert || (layout == Layout::Global && schema.cell_order == Layout::Hilbert);
        let wraps = schema
            .dimensions
            .iter()
            .any(|d| d.domain.as_ref().is_some_and(|r| Tiling::of(d).wraps(&r.hi)));
        let order = match (hilbert, layout) {
            (true, _) => Order::Row,
            (false, Layout::Global) => Order::of(schema.cell_order)?,
            (false, layout) => Order::of(layout)?,
        };
        Ok(Self {
            cells: CellOrder::new(schema, layout)?,
            coordinates: order.slow_to_fast(schema.dimensions.len()).collect(),
            natural: layout == Layout::Global || (hilbert && schema.cell_order == Layout::Hilbert),
            corners: !(hilbert || layout == Layout::Global && wraps),
            hilbert,
            newest_first: false,
        })
    }

    /// The same order, in which the versions of a cell are sorted too, newest first.
    pub(crate) const fn newest_first(mut self) -> Self {
        self.newest_first = true;
        self
    }

    /// Keeps the order of results; if `trusted` is false, the cells of a fragment may be in another order on disk.
    pub(crate) const fn trusting_files(mut self, trusted: bool) -> Self {
        self.natural &= trusted;
        self
    }

    /// The sort keys of the cells with these coordinates.
    ///
    /// # Errors
    /// Those of [`CellOrder::keys`].
    pub(super) fn terms(&self, dims: &[&Column]) -> Result<Vec<Term>> {
        let keys = if self.newest_first {
            // Most tiles of a history overlap others. Smaller keys are packed and sorted faster, which repays a division.
            let cells = 0..dims.first().map_or(0, |c| c.len());
            let narrow = |term| self.cells.narrow_keys(term, dims, cells.clone());
            (0..self.cells.terms()).map(narrow).collect::<Result<_>>()?
        } else {
            self.cells.keys(dims)?
        };
        let first = self.cells.places().saturating_sub(self.coordinates.len());
        let term = |(i, key)| match key {
            KeyColumn::Numbers(v) => Term::Numbers(v),
            KeyColumn::Strings(..) => Term::Strings(self.coordinates.get(i - first).copied().unwrap_or(0)),
        };
        Ok(keys.into_iter().enumerate().map(term).collect())
    }

    /// The least keys at the given coordinates, which need not belong to cells, such as the corners of boxes.
    ///
    /// # Errors
    /// Those of [`CellOrder::keys`].
    pub(crate) fn keys(&self, dims: &[Column]) -> Result<Vec<CellKey>> {
        let dims: Vec<&Column> = dims.iter().collect();
        let terms = self.terms(&dims)?;
        Ok((0..dims.first().map_or(0, |c| c.len()))
            .map(|i| key_at(&terms, i, &|d| dims.get(d).map_or(&[], |c| c.cell(i))).place(self))
            .collect())
    }
}

/// The keys of cell `i`. `string` returns its string along a dimension.
pub(super) fn key_at<'a>(terms: &[Term], i: usize, string: &dyn Fn(usize) -> &'a [u8]) -> CellKey {
    let part = |t: &Term| match t {
        Term::Numbers(v) => KeyPart::Number(number(v, i)),
        Term::Strings(d) => KeyPart::Text(string(*d).to_vec()),
    };
    CellKey(terms.iter().map(part).collect())
}
