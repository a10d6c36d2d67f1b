//! The values along axes as the coordinates of a table's rows. Does no I/O.

use std::sync::Arc;

use super::Selection;
use crate::array::AxisValues;
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::schema::Attribute;
use crate::scalar::Scalar;

/// The values that replace the coordinates of a dense array in a table. [`TableAxes::of`] loads them.
#[derive(Debug, Default)]
pub struct TableAxes {
    /// The dimensions with values.
    pub(super) used: Vec<(String, Arc<AxisValues>)>,
    /// Dimensions whose coordinates stay indices although they have values, and why.
    pub unused: Vec<(String, Error)>,
}

impl TableAxes {
    /// Whether all coordinates stay indices.
    pub const fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Whether the coordinates along this dimension are values.
    pub fn has(&self, dimension: &str) -> bool {
        self.used.iter().any(|(name, _)| name == dimension)
    }

    /// The values of a field; `None` for attributes, and for dimensions without values.
    pub fn of_field(&self, field: &Field) -> Option<&Arc<AxisValues>> {
        let used = self.used.iter().find(|(name, _)| *name == field.name)?;
        field.is_dimension().then_some(&used.1)
    }

    /// Changes the fields of dimensions to the types of their values. If there are any, all dimensions become plain
    /// columns, because floats and text cannot be dimensions of a dense array.
    pub fn retype(&self, fields: &mut [Field]) {
        for field in fields.iter_mut().filter(|f| f.is_dimension() && !self.is_empty()) {
            if let Some(axis) = self.of_field(field) {
                let column = &axis.values;
                (field.datatype, field.cell) = (column.datatype, column.cell);
                field.fill = Attribute::new("", column.datatype, column.cell).fill;
            }
            field.id = None;
        }
    }

    /// Replaces coordinates with values, in columns by name.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a coordinate without a value.
    pub fn replace(&self, columns: &mut [(String, Column)]) -> Result<()> {
        for (name, values) in &self.used {
            for (_, column) in columns.iter_mut().filter(|(n, _)| n == name) {
                *column = values.of_coordinates(column)?;
            }
        }
        Ok(())
    }

    /// The values in the selection, as bytes that identify them.
    pub(in crate::view) fn bytes(&self, selection: &Selection, names: &[&str]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, values) in &self.used {
            bytes.extend_from_slice(name.as_bytes());
            let axis = names.iter().position(|n| n == name).and_then(|d| selection.axes.get(d));
            let ends = axis
                .and_then(|axis| axis.range.as_ref())
                .and_then(|r| r.lo.as_i128().zip(r.hi.as_i128()));
            let place = |v: i128| usize::try_from(v - values.first).unwrap_or(usize::MAX);
            let range = ends.map_or(0..usize::MAX, |(lo, hi)| place(lo)..place(hi).saturating_add(1));
            bytes.extend_from_slice(&values.values.slice(range).data);
        }
        bytes
    }
}

impl AxisValues {
    /// The values at these coordinates.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if there is none for a coordinate.
    pub(in crate::view) fn of_coordinates(&self, coordinates: &Column) -> Result<Column> {
        let physical = coordinates.datatype.physical();
        let place = |i: usize| {
            let coordinate = Scalar::from_le_bytes(physical, coordinates.cell(i))?.as_i128()?;
            let place = u32::try_from(coordinate - self.first).ok()?;
            ((place as usize) < self.values.len()).then_some(place)
        };
        let places: Option<Vec<u32>> = (0..coordinates.len()).map(place).collect();
        let places = places.ok_or_else(|| {
            Error::invalid(
                "a coordinate is outside of the values along its axis; write indices with `--coordinates index`, or \
                 with +coordinates=index in the name of a slice",
            )
        })?;
        Ok(self.values.picked(&places))
    }
}
