//! Cells as fixed-size records: little-endian fields without padding. They are the body of `.npy` and all of `.bin`.
//!
//! A nullable field is followed by a validity byte, 0 for null. The field of a null cell is NaN or another missing
//! value ([`missing::null_cell`]).

use super::{Encode, Frame, Runs, npy, wrong_columns};
use crate::column::Column;
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::view::missing;
use crate::view::selection::display_name;

/// Encodes a header, then a record per cell.
#[derive(Debug)]
pub(super) struct Records {
    header: Vec<u8>,
    parts: Vec<RecordField>,
    width: u64,
    cells: u64,
}

/// A field in a record: its values, and a validity byte if it is nullable.
#[derive(Debug)]
struct RecordField {
    bytes: usize,
    /// The value of a null cell, if the field is nullable.
    null: Option<Vec<u8>>,
}

impl Records {
    /// An `.npy` file.
    pub(super) fn npy(frame: &Frame) -> Result<Self> {
        let records = Self::new("npy", frame)?;
        Ok(Self {
            header: npy::header(frame)?,
            ..records
        })
    }

    /// A `.bin` file.
    pub(super) fn bin(frame: &Frame) -> Result<Self> {
        Self::new("bin", frame)
    }

    fn new(extension: &str, frame: &Frame) -> Result<Self> {
        let fields = &frame.fields;
        let parts = fields.iter().map(|f| {
            let bytes = f.cell_bytes().ok_or_else(|| var_length(extension, f, fields))?;
            Ok(RecordField {
                bytes,
                null: f.nullable.then(|| missing::null_cell(f.datatype, f.cell, &f.fill)),
            })
        });
        let parts: Vec<RecordField> = parts.collect::<Result<_>>()?;
        let width = parts.iter().map(|p| p.bytes as u64 + u64::from(p.null.is_some())).sum();
        Ok(Self {
            header: Vec::new(),
            parts,
            width,
            cells: frame.cells()?,
        })
    }
}

impl Encode for Records {
    fn size(&self) -> Option<u64> {
        Some((self.header.len() as u64).saturating_add(self.cells.saturating_mul(self.width)))
    }

    fn start(&mut self) -> Vec<u8> {
        self.header.clone()
    }

    fn runs(&self) -> Option<Runs<'_>> {
        Some(Runs {
            header: &self.header,
            width: self.width,
            is_cells: true,
            runs_max: u64::MAX,
        })
    }

    /// Packs columns into records.
    fn cells(&mut self, mut columns: Vec<Column>) -> Result<Vec<u8>> {
        if columns.len() != self.parts.len() {
            return Err(wrong_columns());
        }
        let cells = columns.first().map_or(0, Column::len);
        let fits = |c: &Column, p: &RecordField| c.data.len() == cells * p.bytes && c.offsets.is_none();
        if !columns.iter().zip(&self.parts).all(|(c, p)| fits(c, p)) {
            return Err(wrong_columns());
        }
        if matches!(self.parts.as_slice(), [RecordField { null: None, .. }]) {
            return Ok(columns.into_iter().next().map(|c| c.data).unwrap_or_default());
        }
        let width = usize::try_from(self.width).unwrap_or(usize::MAX);
        let mut out = vec![0; cells.saturating_mul(width)];
        let mut at = 0;
        for (column, part) in columns.iter_mut().zip(&self.parts) {
            if let Some(null) = &part.null {
                missing::mask(&mut column.data, column.validity.as_deref(), null);
            }
            let values = column.data.chunks_exact(part.bytes.max(1));
            for (record, value) in out.chunks_exact_mut(width.max(1)).zip(values) {
                record.iter_mut().skip(at).zip(value).for_each(|(to, from)| *to = *from);
            }
            at += part.bytes;
            if part.null.is_some() {
                for (i, record) in out.chunks_exact_mut(width.max(1)).enumerate() {
                    record
                        .iter_mut()
                        .skip(at)
                        .take(1)
                        .for_each(|to| *to = u8::from(!column.is_null(i)));
                }
                at += 1;
            }
        }
        Ok(out)
    }
}

fn var_length(extension: &str, field: &Field, fields: &[Field]) -> Error {
    let fixed: Vec<_> = fields
        .iter()
        .filter(|f| !f.cell.is_var())
        .map(|f| display_name(&f.name))
        .collect();
    let others = if fixed.is_empty() {
        String::new()
    } else {
        format!(", or select only fixed-size attributes ({})", fixed.join(", "))
    };
    Error::invalid(format!(
        "'{}' has variable-length cells, which .{extension} cannot hold; use .csv or .json{others}",
        display_name(&field.name)
    ))
}
