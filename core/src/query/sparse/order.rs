//! The order of a sparse result, and the keys that cells are ordered by.

use crate::column::Column;
use crate::error::Result;
use crate::format::schema::{Layout, Schema};
use crate::geometry::{CellOrder, KeyColumn, Order, Tiling, number};

/// The order of a sparse result.
#[derive(Debug, Clone)]
pub(crate) struct ResultOrder {
    cells: CellOrder,
    /// The dimension of each of the last keys.
    coordinates: Vec<usize>,
    /// Whether it is the order of the tiles on disk.
    pub(crate) natural: bool,
    /// Whether the low corner of a box comes before every cell of it. Not so along the Hilbert curve, nor
    /// where tiles are too many to count.
    pub(crate) corners: bool,
}

/// One of the keys that cells are ordered by.
#[derive(Debug)]
pub(super) enum Term {
    Numbers(Vec<u64>),
    /// The strings of this dimension.
    Strings(usize),
}

/// The keys of one cell, apart from its run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellKey(pub(super) Vec<KeyPart>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum KeyPart {
    Number(u64),
    Text(Vec<u8>),
}

impl CellKey {
    /// The least key of the cells of its place.
    pub(crate) fn place(mut self, order: &ResultOrder) -> Self {
        self.0.truncate(order.cells.places());
        self
    }

    /// Forgets all but the most important part: the least key of the cells that have it.
    pub(crate) fn keep_first(&mut self) {
        self.0.truncate(1);
    }
}

impl ResultOrder {
    /// The order of `layout`, which is not [`Layout::Unordered`].
    ///
    /// # Errors
    /// As [`CellOrder::new`].
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
        })
    }

    /// The same order of results, where `trusted` is false from files that may be in another.
    pub(crate) const fn trusting_files(mut self, trusted: bool) -> Self {
        self.natural &= trusted;
        self
    }

    /// The keys of the cells with these coordinates.
    ///
    /// # Errors
    /// As [`CellOrder::keys`].
    pub(super) fn terms(&self, dims: &[&Column]) -> Result<Vec<Term>> {
        let keys = self.cells.keys(dims)?;
        let first = self.cells.places().saturating_sub(self.coordinates.len());
        let term = |(i, key)| match key {
            KeyColumn::Numbers(v) => Term::Numbers(v),
            KeyColumn::Strings(..) => Term::Strings(self.coordinates.get(i - first).copied().unwrap_or(0)),
        };
        Ok(keys.into_iter().enumerate().map(term).collect())
    }

    /// The least keys at the places of cells that are not of a tile, such as corners of boxes.
    ///
    /// # Errors
    /// As [`CellOrder::keys`].
    pub(crate) fn keys(&self, dims: &[Column]) -> Result<Vec<CellKey>> {
        let dims: Vec<&Column> = dims.iter().collect();
        let terms = self.terms(&dims)?;
        Ok((0..dims.first().map_or(0, |c| c.len()))
            .map(|i| key_at(&terms, i, &|d| dims.get(d).map_or(&[], |c| c.cell(i))).place(self))
            .collect())
    }
}

/// The keys of cell `i`, whose string along a dimension `string` gives.
pub(super) fn key_at<'a>(terms: &[Term], i: usize, string: &dyn Fn(usize) -> &'a [u8]) -> CellKey {
    let part = |t: &Term| match t {
        Term::Numbers(v) => KeyPart::Number(number(v, i)),
        Term::Strings(d) => KeyPart::Text(string(*d).to_vec()),
    };
    CellKey(terms.iter().map(part).collect())
}
