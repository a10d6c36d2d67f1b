//! Changes the values of cells before they are encoded: their type, the value of missing cells, coordinates, and their
//! number.

use std::sync::Arc;

use super::{Encode, Runs};
use crate::array::AxisValues;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::scalar::Scalar;
use crate::view::selection::display_name;

/// The change of a field's cells.
#[derive(Debug, Clone)]
pub(in crate::view) enum Change {
    /// Other numbers.
    Numbers(Conversion),
    /// The values along an axis in place of coordinates.
    Axis(Arc<AxisValues>),
}

impl Change {
    fn apply(&self, column: Column) -> Result<Column> {
        match self {
            Self::Numbers(conversion) => Ok(conversion.apply(column)),
            Self::Axis(values) => values.of_coordinates(&column),
        }
    }
}

/// The change of an attribute's numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::view) struct Conversion {
    to: Datatype,
    /// The bytes of an unwritten cell, and those of null and unwritten cells in the result.
    filled: Option<(Vec<u8>, Vec<u8>)>,
}

impl Conversion {
    /// The change of an attribute to type `cast` and fill value `fill`. It also changes the field. `None` for
    /// dimensions, and if neither is given.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the attribute does not hold numbers, if the type cannot hold all values, or if the
    /// fill value does not fit.
    pub(in crate::view) fn of(field: &mut Field, cast: Option<Datatype>, fill: Option<&str>) -> Result<Option<Self>> {
        if field.is_dimension() || (cast.is_none() && fill.is_none()) {
            return Ok(None);
        }
        let (from, name) = (field.datatype, display_name(&field.name).to_owned());
        let is_number = from.is_integer() || from.is_float() || from == Datatype::Bool;
        if !is_number || field.cell.is_var() || field.enumeration.is_some() {
            return Err(Error::invalid(format!(
                "'{name}' ({from}) has no numbers of fixed size, which the options 'as' and 'fill' need; select other \
                 attributes before an @"
            )));
        }
        let to = cast.unwrap_or(from);
        if !holds(to, from) {
            return Err(Error::invalid(format!(
                "{to} cannot hold all values of '{name}' ({from}); write as=float64, or as=float32 to round"
            )));
        }
        let filled = fill.map(|text| {
            let value = value(text, to).ok_or_else(|| {
                Error::invalid(format!(
                    "'fill={text}' is not a value of '{name}', which has the type {to} here"
                ))
            })?;
            let values = match field.cell {
                CellCount::Fixed(n) => n as usize,
                CellCount::Var => 1,
            };
            Ok::<_, Error>((field.fill.clone(), value.repeat(values)))
        });
        let filled = filled.transpose()?;
        field.datatype = to;
        match &filled {
            Some((_, fill)) => (field.nullable, field.fill_valid, field.fill) = (false, true, fill.clone()),
            None => field.fill = cast_values(&field.fill, from, to),
        }
        Ok(Some(Self { to, filled }))
    }

    fn apply(&self, mut column: Column) -> Column {
        let missing: Vec<usize> = match &self.filled {
            Some((unwritten, _)) => {
                let is_missing = |&i: &usize| column.is_null(i) || column.cell(i) == unwritten;
                (0..column.len()).filter(is_missing).collect()
            }
            None => Vec::new(),
        };
        if self.to != column.datatype {
            column.data = cast_values(&column.data, column.datatype, self.to);
            column.datatype = self.to;
        }
        if let Some((_, fill)) = &self.filled {
            column.validity = None;
            for i in missing {
                let cell = column.data.get_mut(i * fill.len()..(i + 1) * fill.len());
                cell.unwrap_or_default().copy_from_slice(fill);
            }
        }
        column
    }
}

/// Whether a type holds every value of another one. Floats hold all numbers, rounded to the nearest.
fn holds(to: Datatype, from: Datatype) -> bool {
    let (wide, narrow) = (to.physical(), from.physical());
    match (wide.is_signed(), narrow.is_signed()) {
        _ if to == from || to.is_float() => true,
        _ if from.is_float() => false,
        (true, false) => wide.size() > narrow.size(),
        (wide_signed, narrow_signed) => wide_signed == narrow_signed && wide.size() >= narrow.size(),
    }
}

/// The bytes of a number.
fn value(text: &str, datatype: Datatype) -> Option<Vec<u8>> {
    match datatype.physical() {
        Physical::F32 => Some(text.parse::<f32>().ok()?.to_le_bytes().to_vec()),
        Physical::F64 => Some(text.parse::<f64>().ok()?.to_le_bytes().to_vec()),
        _ => Some(Scalar::from_i128(datatype, text.parse().ok()?)?.to_le_bytes()),
    }
}

/// Converts values to a type that holds them.
#[allow(clippy::cast_possible_truncation, reason = "floats are rounded to the type")]
fn cast_values(data: &[u8], from: Datatype, to: Datatype) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() / from.size().max(1) * to.size());
    for bytes in data.chunks_exact(from.size().max(1)) {
        let Some(value) = Scalar::from_le_bytes(from.physical(), bytes) else {
            continue;
        };
        match (to.physical(), &value) {
            (Physical::F32, Scalar::F32(v)) => out.extend(v.to_le_bytes()),
            (Physical::F32, _) => out.extend((value.as_f64().unwrap_or(f64::NAN) as f32).to_le_bytes()),
            (Physical::F64, _) => out.extend(value.as_f64().unwrap_or(f64::NAN).to_le_bytes()),
            // The value fits, so its lowest bytes are the number.
            _ => out.extend(value.as_i128().unwrap_or(0).to_le_bytes().iter().take(to.size())),
        }
    }
    out
}

/// Converts cells and passes them to the encoder of the format.
#[derive(Debug)]
pub(in crate::view) struct Converted {
    pub(in crate::view) encoder: Box<dyn Encode>,
    /// The change of each field.
    pub(in crate::view) changes: Vec<Option<Change>>,
    /// The number of cells that may follow; `None` for any number.
    pub(in crate::view) left: Option<u64>,
}

impl Converted {
    fn convert(&self, columns: Vec<Column>) -> Result<Vec<Column>> {
        let all = columns
            .into_iter()
            .zip(self.changes.iter().chain(std::iter::repeat(&None)));
        all.map(|(column, change)| match change {
            Some(change) => change.apply(column),
            None => Ok(column),
        })
        .collect()
    }
}

impl Encode for Converted {
    fn size(&self) -> Option<u64> {
        self.encoder.size()
    }

    fn start(&mut self) -> Vec<u8> {
        self.encoder.start()
    }

    fn cells(&mut self, mut columns: Vec<Column>) -> Result<Vec<u8>> {
        if let Some(left) = &mut self.left {
            let cells = columns.first().map_or(0, Column::len);
            let taken = cells.min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= taken as u64;
            for column in &mut columns {
                drop(column.split_off(taken));
            }
        }
        let columns = self.convert(columns)?;
        self.encoder.cells(columns)
    }

    fn is_full(&self) -> bool {
        self.left == Some(0) || self.encoder.is_full()
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        self.encoder.finish()
    }

    fn is_buffered(&self) -> bool {
        self.encoder.is_buffered()
    }

    fn kept_bytes(&self) -> u64 {
        self.encoder.kept_bytes()
    }

    fn text_bytes_at_least(&self) -> u64 {
        self.encoder.text_bytes_at_least()
    }

    fn runs(&self) -> Option<Runs<'_>> {
        self.encoder.runs()
    }

    fn run_bytes(&self, cells: u64) -> u64 {
        self.encoder.run_bytes(cells)
    }

    fn run(&mut self, parts: Vec<Vec<Column>>) -> Result<Vec<u8>> {
        let parts: Result<_> = parts.into_iter().map(|columns| self.convert(columns)).collect();
        self.encoder.run(parts?)
    }

    fn trailer_bytes(&self, runs: u64) -> u64 {
        self.encoder.trailer_bytes(runs)
    }

    fn trailer(&self, runs: &mut dyn Iterator<Item = (u64, u64)>) -> Vec<u8> {
        self.encoder.trailer(runs)
    }
}
