//! The values of one field: untyped bytes with typed views.

use std::borrow::Cow;
use std::ops::Range;

use bytemuck::Pod;

use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};

/// The cells of one field.
///
/// `data` holds little-endian values one after another. A variable-length column has `offsets`, in **bytes** into
/// `data`. There is one more offset than cells; the first is 0 and the last is `data.len()`. A nullable column has
/// `validity`, with one byte per cell: 1 for a value and 0 for null.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The type of each value.
    pub datatype: Datatype,
    /// Number of values in a cell.
    pub cell: CellCount,
    /// The values.
    pub data: Vec<u8>,
    /// The start of each cell and the end of the last one, in bytes. Only for variable-length cells.
    pub offsets: Option<Vec<u64>>,
    /// 1 for each value and 0 for each null. Only for nullable fields.
    pub validity: Option<Vec<u8>>,
}

impl Column {
    /// A column without cells.
    pub fn empty(datatype: Datatype, cell: CellCount, nullable: bool) -> Self {
        Self {
            datatype,
            cell,
            data: Vec::new(),
            offsets: cell.is_var().then(|| vec![0]),
            validity: nullable.then(Vec::new),
        }
    }

    /// A column with one value per cell.
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

    /// A column of variable-length cells.
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

    /// Sets the validity: cells with 0 are null.
    #[must_use]
    pub fn with_validity(mut self, validity: Vec<u8>) -> Self {
        self.validity = Some(validity);
        self
    }

    /// Appends the cells of `more`, which must be a column of the same type.
    pub fn append(&mut self, more: &Self) {
        self.append_range(more, 0..more.len());
    }

    /// Appends the cells of `more` in `range`, which must exist. If `more` has no validity, none of them is null.
    pub(crate) fn append_range(&mut self, more: &Self, range: Range<usize>) {
        let bytes = more.bytes_of(&range);
        if let (Some(offsets), Some(starts)) = (&mut self.offsets, &more.offsets) {
            let (base, first) = (self.data.len() as u64, bytes.start as u64);
            let ends = starts.get(range.start + 1..=range.end).unwrap_or(&[]);
            offsets.extend(ends.iter().map(|o| base + (o - first)));
        }
        let data = more.data.get(bytes).unwrap_or(&[]);
        match data.as_array::<8>() {
            // A single number, most of the time. The compiler copies it without a call.
            Some(number) => self.data.extend_from_slice(number),
            None => self.data.extend_from_slice(data),
        }
        if let Some(validity) = &mut self.validity {
            match &more.validity {
                Some(of) => validity.extend_from_slice(of.get(range).unwrap_or(&[])),
                None => validity.resize(validity.len() + range.len(), 1),
            }
        }
    }

    /// Appends the cells of `more` with these indices, in their order. If `more` has no validity, none of them is null.
    pub(crate) fn append_picked(&mut self, more: &Self, places: &[u32]) {
        match (&mut self.offsets, &more.offsets) {
            (Some(offsets), Some(starts)) => {
                for &i in places {
                    if let Some(&[start, end]) = starts.get(i as usize..i as usize + 2) {
                        let cell = more.data.get(start as usize..end as usize);
                        self.data.extend_from_slice(cell.unwrap_or(&[]));
                    }
                    offsets.push(self.data.len() as u64);
                }
            }
            _ => pick(&more.data, more.width(), places, &mut self.data),
        }
        if let Some(validity) = &mut self.validity {
            match &more.validity {
                Some(of) => pick(of, 1, places, validity),
                None => validity.resize(validity.len() + places.len(), 1),
            }
        }
    }

    /// The cells with these indices, in their order.
    #[must_use]
    pub fn picked(&self, places: &[u32]) -> Self {
        let mut out = Self::empty(self.datatype, self.cell, self.validity.is_some());
        let bytes = match &self.offsets {
            None => places.len() * self.width(),
            Some(_) => {
                let bytes = |&i: &u32| self.bytes_of(&(i as usize..i as usize + 1)).len();
                places.iter().map(bytes).sum()
            }
        };
        out.data.reserve_exact(bytes);
        if let Some(offsets) = &mut out.offsets {
            offsets.reserve_exact(places.len());
        }
        if let Some(validity) = &mut out.validity {
            validity.reserve_exact(places.len());
        }
        out.append_picked(self, places);
        out
    }

    /// A copy of the cells in `range`. The range is cut off at the end of the column.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let end = range.end.min(self.len());
        let mut out = Self::empty(self.datatype, self.cell, self.validity.is_some());
        out.append_range(self, range.start.min(end)..end);
        out
    }

    /// Removes the cells from `at` on and returns them. Returns an empty column if there are no more than `at` cells.
    #[must_use]
    pub fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.len());
        let tail = self.slice(at..self.len());
        self.data.truncate(self.bytes_of(&(0..at)).end);
        if let Some(offsets) = &mut self.offsets {
            offsets.truncate(at + 1);
        }
        if let Some(validity) = &mut self.validity {
            validity.truncate(at);
        }
        tail
    }

    /// The byte range of these cells, which must exist.
    fn bytes_of(&self, cells: &Range<usize>) -> Range<usize> {
        match &self.offsets {
            Some(offsets) => {
                let at = |i: usize| offsets.get(i).copied().unwrap_or(0) as usize;
                at(cells.start)..at(cells.end)
            }
            None => cells.start * self.width()..cells.end * self.width(),
        }
    }

    /// The bytes of these cells, which must exist and hold one number each.
    pub(crate) fn numbers(&self, cells: &Range<usize>) -> &[u8] {
        let width = self.datatype.size();
        &self.data[cells.start * width..cells.end * width]
    }

    /// Size of a fixed-size cell in bytes.
    fn width(&self) -> usize {
        self.cell.cell_bytes(self.datatype).unwrap_or(1)
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (Some(offsets), _) => offsets.len().saturating_sub(1),
            (None, Some(n)) if n > 0 => self.data.len() / n,
            _ => 0,
        }
    }

    /// The size in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let offsets = self.offsets.as_ref().map_or(0, |o| o.len() * size_of::<u64>());
        (self.data.len() + offsets + self.validity.as_ref().map_or(0, Vec::len)) as u64
    }

    /// Whether there are no cells.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of cell `i`; empty if there is no such cell.
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

    /// All values as a slice of `T`, without copying if alignment allows.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if `T` does not have the size of the column's datatype.
    pub fn values<T: Pod>(&self) -> Result<Cow<'_, [T]>> {
        if size_of::<T>() != self.datatype.size() {
            return Err(Error::invalid(format!(
                "the column holds {} ({} bytes per value), not values of {} bytes",
                self.datatype,
                self.datatype.size(),
                size_of::<T>()
            )));
        }
        Ok(typed(&self.data))
    }

    /// Checks that lengths, offsets and validity are consistent.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the inconsistency. `name` is the field's name.
    pub fn check(&self, name: &str) -> Result<()> {
        let fail = |why: String| Err(Error::invalid(format!("column '{name}': {why}")));
        match (&self.offsets, self.cell.cell_bytes(self.datatype)) {
            (None, None) => return fail("variable-length cells need offsets".into()),
            (Some(_), Some(_)) => return fail("fixed-size cells take no offsets".into()),
            (None, Some(n)) => {
                if n == 0 || !self.data.len().is_multiple_of(n) {
                    return fail(format!(
                        "{} bytes are not a multiple of the cell size, {n} bytes",
                        self.data.len()
                    ));
                }
            }
            (Some(o), None) => {
                let sorted = o.windows(2).all(|w| w[0] <= w[1]);
                if o.first() != Some(&0) || o.last() != Some(&(self.data.len() as u64)) || !sorted {
                    return fail(
                        "offsets must start at 0, never decrease, and end at the length of the data in bytes".into(),
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

/// Appends the cells of `width` bytes with these indices in `data` to `out`.
fn pick(data: &[u8], width: usize, places: &[u32], out: &mut Vec<u8>) {
    fn wide<const N: usize>(data: &[u8], places: &[u32], out: &mut Vec<u8>) {
        let cells = data.as_chunks::<N>().0;
        let found = places.iter().filter_map(|&i| cells.get(i as usize));
        found.for_each(|cell| out.extend_from_slice(cell));
    }
    out.reserve(places.len() * width);
    match width {
        1 => wide::<1>(data, places, out),
        2 => wide::<2>(data, places, out),
        4 => wide::<4>(data, places, out),
        8 => wide::<8>(data, places, out),
        _ => {
            let cell = |&i: &u32| data.get(i as usize * width..(i as usize + 1) * width);
            places
                .iter()
                .filter_map(cell)
                .for_each(|cell| out.extend_from_slice(cell));
        }
    }
}

/// Views bytes as values, without copying if alignment allows. Trailing bytes of an incomplete value are ignored.
pub(crate) fn typed<T: Pod>(bytes: &[u8]) -> Cow<'_, [T]> {
    let whole = bytes.len() - bytes.len() % size_of::<T>().max(1);
    let bytes = bytes.get(..whole).unwrap_or(&[]);
    match bytemuck::try_cast_slice(bytes) {
        Ok(values) => Cow::Borrowed(values),
        Err(_) => Cow::Owned(bytemuck::pod_collect_to_vec(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(column: &Column) -> Vec<(&[u8], bool)> {
        column.check("c").unwrap();
        (0..column.len()).map(|i| (column.cell(i), column.is_null(i))).collect()
    }

    #[test]
    fn parts_of_columns_have_the_same_cells() {
        let mut pairs = Column::from_values(Datatype::Uint8, &[1_u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
        pairs.cell = CellCount::Fixed(3);
        for whole in [
            Column::from_cells(Datatype::StringAscii, ["", "ab", "c", "def"]).with_validity(vec![1, 0, 1, 1]),
            Column::from_values(Datatype::Int32, &[1, 2, 3, 4]),
            Column::from_values(Datatype::Float64, &[0.5, 1.5, 2.5, 3.5]).with_validity(vec![0, 1, 1, 0]),
            pairs,
        ] {
            let all = cells(&whole);
            assert_eq!(cells(&whole.slice(1..3)), all[1..3]);
            assert_eq!(cells(&whole.slice(3..9)), all[3..]);
            assert_eq!(cells(&whole.slice(9..9)), []);
            let mut head = whole.clone();
            assert_eq!(cells(&head.split_off(1)), all[1..]);
            assert_eq!(cells(&head), all[..1]);
            head.append_picked(&whole, &[3, 1, 1]);
            head.append_range(&whole, 2..4);
            assert_eq!(cells(&head), [0, 3, 1, 1, 2, 3].map(|i| all[i]));
            assert_eq!(cells(&whole.picked(&[2, 0])), [all[2], all[0]]);
        }
    }

    #[test]
    fn cells_without_validity_are_not_null() {
        let plain = Column::from_values(Datatype::Int32, &[1, 2]);
        let mut nullable = Column::empty(Datatype::Int32, CellCount::ONE, true);
        nullable.append(&plain);
        nullable.append_picked(&plain, &[1]);
        assert_eq!(nullable.validity, Some(vec![1; 3]));
    }
}
