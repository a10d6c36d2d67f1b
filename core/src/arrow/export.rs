//! Converts columns to Arrow arrays.

use std::ops::Range;

use arrow_array::{ArrayRef, make_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use arrow_data::{ArrayData, ArrayDataBuilder};
use arrow_schema::{ArrowError, DataType};

use super::text;
use super::time::{self, NOT_A_TIME};
use super::types::{FieldType, Form, index, plain};
use crate::column::{Column, typed};
use crate::datatype::CellCount;
use crate::error::{Error, Result};

impl FieldType {
    /// The values of the enumeration as an Arrow array, which all arrays of the field can share.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for more than 2 GiB of values.
    pub fn dictionary(&self) -> Result<Option<ArrayRef>> {
        let Some(e) = self.enumeration.as_ref().filter(|_| self.is_dictionary()) else {
            return Ok(None);
        };
        let mut values = Self::of_values(&e.values);
        values.name.clone_from(&self.name);
        Ok(Some(values.array(&e.values, 0..e.values.len(), None)?))
    }

    /// Converts a range of cells to an Arrow array of the type of [`FieldType::arrow_field`]. `dictionary` is the result of
    /// [`FieldType::dictionary`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the column is not of this type, or if it needs [`Form::Raw`];
    /// [`Error::LimitExceeded`] for more than 2 GiB of variable-length cells at once.
    pub fn array(&self, column: &Column, cells: Range<usize>, dictionary: Option<&ArrayRef>) -> Result<ArrayRef> {
        if (column.datatype, column.cell) != (self.datatype, self.cell) {
            return Err(Error::invalid(format!(
                "field '{}' has type {}, but the column has type {}",
                self.name, self.datatype, column.datatype
            )));
        }
        if cells.start > cells.end || cells.end > column.len() {
            return Err(Error::invalid(format!(
                "field '{}': the column has {} cells; cannot export cells up to {}",
                self.name,
                column.len(),
                cells.end
            )));
        }
        let data = match dictionary {
            Some(values) if self.is_dictionary() => self.enumerated(column, cells, values)?,
            _ if self.datatype.is_bytes() => self.bytes(column, cells)?,
            _ => self.numbers(column, cells)?,
        };
        Ok(make_array(data))
    }

    fn enumerated(&self, column: &Column, cells: Range<usize>, values: &ArrayRef) -> Result<ArrayData> {
        let (physical, known) = (column.datatype.physical(), values.len() as u64);
        let inside = |i: usize| index(physical, column.cell(i)).is_some_and(|v| v < known);
        let valid: NullBuffer = cells
            .clone()
            .map(|i| !column.is_null(i) && (inside(i) || !self.is_hole(column.cell(i))))
            .collect();
        let zero = vec![0; physical.size()];
        let mut keys = Vec::with_capacity(cells.len() * physical.size());
        for i in cells.clone() {
            keys.extend_from_slice(if inside(i) { column.cell(i) } else { &zero });
            if !inside(i) && !column.is_null(i) && !self.is_hole(column.cell(i)) {
                return Err(Error::invalid(format!(
                    "field '{}': cell {i} has no value in its enumeration",
                    self.name
                )));
            }
        }
        let kind = DataType::Dictionary(Box::new(plain(physical)), Box::new(values.data_type().clone()));
        let builder = ArrayData::builder(kind)
            .len(cells.len())
            .add_buffer(Buffer::from(keys.as_slice()))
            .add_child_data(values.to_data());
        self.build(builder.nulls(Some(valid).filter(|v| v.null_count() > 0)))
    }

    fn bytes(&self, column: &Column, cells: Range<usize>) -> Result<ArrayData> {
        let text = self.is_text() && self.form == Form::Natural;
        let padded = text && !self.cell.is_var();
        let mut values = Vec::new();
        let mut ends = Vec::with_capacity(cells.len() + 1);
        ends.push(0_i32);
        for i in cells.clone() {
            let cell = if padded {
                text::unpadded(self.datatype, column.cell(i))
            } else {
                column.cell(i)
            };
            if !text {
                values.extend_from_slice(cell);
            } else if let Some(cell) = text::decode(self.datatype, cell) {
                values.extend_from_slice(cell.as_bytes());
            } else if !column.is_null(i) {
                return Err(Error::invalid(format!(
                    "field '{}': cell {i} is not valid text",
                    self.name
                )));
            }
            ends.push(self.offset(values.len() as u64)?);
        }
        let kind = if text { DataType::Utf8 } else { DataType::Binary };
        let builder = ArrayData::builder(kind)
            .len(cells.len())
            .add_buffer(Buffer::from_vec(ends))
            .add_buffer(Buffer::from_vec(values));
        self.build(builder.nulls(nulls(column, cells)))
    }

    fn numbers(&self, column: &Column, cells: Range<usize>) -> Result<ArrayData> {
        let slice = |a: usize, b: usize| {
            column
                .data
                .get(a..b)
                .ok_or_else(|| Error::invalid(format!("field '{}': the column is too short", self.name)))
        };
        let width = self.datatype.size();
        self.check_range(column, cells.clone())?;
        let builder = ArrayData::builder(self.arrow_field().data_type().clone()).len(cells.len());
        let (values, builder) = match (self.cell, &column.offsets) {
            (CellCount::Fixed(n), _) => (
                slice(cells.start * n as usize * width, cells.end * n as usize * width)?,
                builder,
            ),
            (CellCount::Var, Some(offsets)) => {
                let offsets = offsets.get(cells.start..=cells.end).unwrap_or(&[]);
                let (first, last) = (
                    offsets.first().copied().unwrap_or(0),
                    offsets.last().copied().unwrap_or(0),
                );
                let ends = offsets
                    .iter()
                    .map(|o| self.offset(o.saturating_sub(first) / width as u64))
                    .collect::<Result<Vec<_>>>()?;
                (
                    slice(first as usize, last as usize)?,
                    builder.add_buffer(Buffer::from_vec(ends)),
                )
            }
            (CellCount::Var, None) => {
                return Err(Error::invalid(format!(
                    "field '{}': the column has no offsets",
                    self.name
                )));
            }
        };
        let packed = self.packed(values);
        let nulls = nulls(column, cells);
        if self.cell == CellCount::ONE {
            let nulls = NullBuffer::union(nulls.as_ref(), packed.nulls.as_ref());
            return self.build(builder.add_buffer(packed.values).nulls(nulls));
        }
        let item = ArrayData::builder(self.value_type()).len(packed.len);
        let item = self.build(item.add_buffer(packed.values).nulls(packed.nulls))?;
        self.build(builder.add_child_data(item).nulls(nulls))
    }

    /// Converts values to the layout of an Arrow buffer.
    pub(crate) fn packed(&self, values: &[u8]) -> Packed {
        let len = values.len() / self.datatype.size();
        if self.is_bits() {
            let bits = BooleanBuffer::from_iter(values.iter().map(|b| *b != 0));
            return Packed {
                values: bits.into_inner(),
                len,
                nulls: None,
            };
        }
        if !self.datatype.is_temporal() {
            return Packed {
                values: Buffer::from(values),
                len,
                nulls: None,
            };
        }
        let values = typed::<i64>(values);
        // NaT is null. A value outside Arrow's range only occurs in a cell that is null as a whole.
        let shown: Vec<Option<i64>> = values.iter().copied().map(self.in_arrow()).collect();
        let nulls: NullBuffer = shown.iter().map(Option::is_some).collect();
        let plain = shown.into_iter().map(Option::unwrap_or_default);
        let values = if self.value_type() == DataType::Date32 {
            // `in_arrow` has checked that every value fits.
            Buffer::from_vec(plain.map(|v| i32::try_from(v).unwrap_or_default()).collect())
        } else {
            Buffer::from_vec(plain.collect())
        };
        Packed {
            values,
            len,
            nulls: Some(nulls).filter(|n| n.null_count() > 0),
        }
    }

    /// Converts dates and times to the unit of their Arrow type; `None` for NaT and values outside its range.
    fn in_arrow(&self) -> impl Fn(i64) -> Option<i64> + use<> {
        let (from, target) = (self.datatype, self.value_type());
        let unit = time::datatype(&target).unwrap_or(from);
        let days = target == DataType::Date32;
        move |value| {
            let converted = time::convert(value, from, unit).filter(|v| *v != NOT_A_TIME)?;
            (!days || i32::try_from(converted).is_ok()).then_some(converted)
        }
    }

    /// The first cell with a date or time outside the range of the Arrow type.
    pub(super) fn first_outside_range(&self, column: &Column, mut cells: Range<usize>) -> Option<usize> {
        if self.form == Form::Raw || !time::is_coarse(self.datatype) {
            return None;
        }
        let in_arrow = self.in_arrow();
        let fits = |v: &i64| *v == NOT_A_TIME || in_arrow(*v).is_some();
        cells.find(|i| !column.is_null(*i) && !typed::<i64>(column.cell(*i)).iter().all(fits))
    }

    /// Rejects dates and times outside the range of the Arrow type.
    pub(crate) fn check_range(&self, column: &Column, cells: Range<usize>) -> Result<()> {
        match self.first_outside_range(column, cells) {
            Some(i) => Err(Error::invalid(format!(
                "field '{}': cell {i} is a {} outside the range of Arrow's {}; use another format, such as .csv",
                self.name,
                self.datatype,
                self.value_type()
            ))),
            None => Ok(()),
        }
    }

    fn offset(&self, n: u64) -> Result<i32> {
        let limit = i32::MAX as u64;
        i32::try_from(n).map_err(|_| Error::LimitExceeded {
            what: format!("values of '{}' in one Arrow batch", self.name),
            found: n,
            limit,
        })
    }

    fn build(&self, builder: ArrayDataBuilder) -> Result<ArrayData> {
        builder
            .build()
            .map_err(|e: ArrowError| Error::invalid(format!("field '{}': {e}", self.name)))
    }
}

/// Values in the layout of an Arrow buffer.
pub(crate) struct Packed {
    pub(crate) values: Buffer,
    /// The number of values.
    pub(crate) len: usize,
    /// Validity of the values; `None` if no value is NaT.
    pub(crate) nulls: Option<NullBuffer>,
}

fn nulls(column: &Column, cells: Range<usize>) -> Option<NullBuffer> {
    let validity = column.validity.as_ref()?.get(cells)?;
    let nulls: NullBuffer = validity.iter().map(|v| *v != 0).collect();
    Some(nulls).filter(|n| n.null_count() > 0)
}
