//! The values of one field: untyped bytes inside, typed views at the edge.

use std::borrow::Cow;

use bytemuck::Pod;

use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};

/// The cells of one field, in some order.
///
/// `data` holds little-endian values one after another. A variable-length column has `offsets`:
/// one more than there are cells, in **bytes** into `data`, the first 0 and the last `data.len()`.
/// A nullable column has `validity`: one byte a cell, 1 for a value and 0 for null.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The type of each value.
    pub datatype: Datatype,
    /// How many values a cell holds.
    pub cell: CellCount,
    /// The values.
    pub data: Vec<u8>,
    /// Starts of the cells in bytes and the end of the last one; only for variable-length cells.
    pub offsets: Option<Vec<u64>>,
    /// 1 where there is a value, 0 where there is none; only for nullable fields.
    pub validity: Option<Vec<u8>>,
}

impl Column {
    /// A column with no cells.
    pub fn empty(datatype: Datatype, cell: CellCount, nullable: bool) -> Self {
        Self {
            datatype,
            cell,
            data: Vec::new(),
            offsets: cell.is_var().then(|| vec![0]),
            validity: nullable.then(Vec::new),
        }
    }

    /// One value a cell, from Rust values.
    ///
    /// ```
    /// use hyperslab::{Column, Datatype};
    /// let c = Column::from_values(Datatype::Int32, &[1_i32, 2, 3]);
    /// assert_eq!(c.len(), 3);
    /// assert_eq!(*c.values::<i32>().unwrap(), [1, 2, 3]);
    /// ```
    pub fn from_values<T: Pod>(datatype: Datatype, values: &[T]) -> Self {
        Self {
            datatype,
            cell: CellCount::ONE,
            data: bytemuck::cast_slice(values).to_vec(),
            offsets: None,
            validity: None,
        }
    }

    /// Variable-length cells from the bytes of each.
    pub fn from_cells<C: AsRef<[u8]>>(datatype: Datatype, cells: impl IntoIterator<Item = C>) -> Self {
        let mut data = Vec::new();
        let mut offsets = vec![0];
        for cell in cells {
            data.extend_from_slice(cell.as_ref());
            offsets.push(data.len() as u64);
        }
        Self {
            datatype,
            cell: CellCount::Var,
            data,
            offsets: Some(offsets),
            validity: None,
        }
    }

    /// The same column with nulls where `validity` is 0.
    #[must_use]
    pub fn with_validity(mut self, validity: Vec<u8>) -> Self {
        self.validity = Some(validity);
        self
    }

    /// Adds the cells of `more`, a column of the same kind, behind the cells there are.
    pub fn append(&mut self, more: &Self) {
        let base = self.data.len() as u64;
        if let (Some(offsets), Some(add)) = (&mut self.offsets, &more.offsets) {
            offsets.extend(add.iter().skip(1).map(|o| o + base));
        }
        self.data.extend_from_slice(&more.data);
        if let (Some(validity), Some(add)) = (&mut self.validity, &more.validity) {
            validity.extend_from_slice(add);
        }
    }

    /// The cells of columns of one kind, one column's behind the other's; nothing of no columns.
    pub(crate) fn joined(columns: Vec<Self>) -> Option<Self> {
        let bytes: usize = columns.iter().map(|c| c.data.len()).sum();
        let cells: usize = columns.iter().map(Self::len).sum();
        let mut columns = columns.into_iter();
        let mut all = columns.next()?;
        // At once: a vector that grows takes up to twice what is in it, and its memory is new every time.
        all.data.reserve_exact(bytes - all.data.len());
        if let Some(offsets) = &mut all.offsets {
            offsets.reserve_exact((cells + 1).saturating_sub(offsets.len()));
        }
        if let Some(validity) = &mut all.validity {
            validity.reserve_exact(cells.saturating_sub(validity.len()));
        }
        columns.for_each(|more| all.append(&more));
        Some(all)
    }

    /// A copy of the cells in `range`; fewer where there are not as many.
    #[must_use]
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let end = range.end.min(self.len());
        let start = range.start.min(end);
        let validity = self
            .validity
            .as_ref()
            .and_then(|v| v.get(start..end))
            .map(<[u8]>::to_vec);
        let (bytes, offsets) = match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (Some(offsets), _) => {
                let cut = offsets.get(start..=end).unwrap_or(&[0]);
                let base = cut.first().copied().unwrap_or(0);
                let last = cut.last().copied().unwrap_or(base);
                (
                    base as usize..last as usize,
                    Some(cut.iter().map(|o| o - base).collect()),
                )
            }
            (None, width) => {
                let n = width.unwrap_or(1);
                (start * n..end * n, None)
            }
        };
        let data = self.data.get(bytes).unwrap_or(&[]).to_vec();
        Self {
            datatype: self.datatype,
            cell: self.cell,
            data,
            offsets,
            validity,
        }
    }

    /// Cuts off the cells from `at` on and returns them; none if there are no more than `at` cells.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.len());
        let (start, offsets) = match (&mut self.offsets, self.cell.cell_bytes(self.datatype)) {
            (Some(offsets), _) => {
                let start = offsets.get(at).copied().unwrap_or(0);
                let tail = offsets.iter().skip(at).map(|o| o - start).collect();
                offsets.truncate(at + 1);
                (start as usize, Some(tail))
            }
            (None, width) => (at * width.unwrap_or(1), None),
        };
        let data = self.data.split_off(start.min(self.data.len()));
        let validity = self.validity.as_mut().map(|v| v.split_off(at.min(v.len())));
        Self {
            datatype: self.datatype,
            cell: self.cell,
            data,
            offsets,
            validity,
        }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (Some(offsets), _) => offsets.len().saturating_sub(1),
            (None, Some(n)) if n > 0 => self.data.len() / n,
            _ => 0,
        }
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of cell `i`; empty where there is no such cell.
    pub fn cell(&self, i: usize) -> &[u8] {
        let range = match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (Some(o), _) => match (o.get(i), o.get(i + 1)) {
                (Some(&a), Some(&b)) => a as usize..b as usize,
                _ => return &[],
            },
            (None, Some(n)) => i * n..(i + 1) * n,
            (None, None) => return &[],
        };
        self.data.get(range).unwrap_or(&[])
    }

    /// Whether cell `i` is null.
    pub fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| v.get(i) == Some(&0))
    }

    /// All values as a slice of `T`, without a copy where alignment allows.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `T` is not as wide as the column's datatype.
    pub fn values<T: Pod>(&self) -> Result<Cow<'_, [T]>> {
        if size_of::<T>() != self.datatype.size() {
            return Err(Error::invalid(format!(
                "the column holds {} ({} bytes a value), not values of {} bytes",
                self.datatype,
                self.datatype.size(),
                size_of::<T>()
            )));
        }
        Ok(typed(&self.data))
    }

    /// Checks that lengths, offsets and validity agree with each other.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] says which does not fit; `name` is the field's name.
    pub fn check(&self, name: &str) -> Result<()> {
        let fail = |why: String| Err(Error::invalid(format!("column '{name}': {why}")));
        match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (None, None) => return fail("variable-length cells need offsets".into()),
            (Some(_), Some(_)) => return fail("fixed-size cells take no offsets".into()),
            (None, Some(n)) => {
                if n == 0 || !self.data.len().is_multiple_of(n) {
                    return fail(format!(
                        "{} bytes are no whole number of cells of {n} bytes",
                        self.data.len()
                    ));
                }
            }
            (Some(o), None) => {
                let sorted = o.windows(2).all(|w| w[0] <= w[1]);
                if o.first() != Some(&0) || o.last() != Some(&(self.data.len() as u64)) || !sorted {
                    return fail(
                        "offsets must start at 0, never fall, and end at the length of the data in bytes".into(),
                    );
                }
                let w = self.datatype.size() as u64;
                if w > 1 && o.iter().any(|v| v % w != 0) {
                    return fail(format!("offsets must be multiples of {w} bytes"));
                }
            }
        }
        match &self.validity {
            Some(v) if v.len() != self.len() => fail(format!("{} validity bytes for {} cells", v.len(), self.len())),
            _ => Ok(()),
        }
    }
}

/// Bytes as values, without a copy where alignment allows. Trailing bytes that make no whole value
/// are left out.
pub fn typed<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    let whole = bytes.len() - bytes.len() % size_of::<T>().max(1);
    let bytes = bytes.get(..whole).unwrap_or(&[]);
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}
