//! The values of null and unwritten cells in formats without nulls. Does no I/O.
//!
//! | type | null | unwritten |
//! | --- | --- | --- |
//! | floats | NaN | the fill value |
//! | dates and times | NaT | the fill value |
//! | integers | the fill value | the fill value |
//! | bool | false; 255 in Zarr, where the type becomes uint8 | the fill value |
//! | fixed-length text | empty | the fill value |
//!
//! If the fill value of an attribute is null, unwritten cells are null.

use crate::datatype::{CellCount, Datatype, Physical};
use crate::format::attribute::Attribute;

/// The bytes of a null cell of `datatype` in a record.
pub(super) fn null_cell(datatype: Datatype, cell: CellCount, fill: &[u8]) -> Vec<u8> {
    let width = cell.cell_bytes(datatype).unwrap_or(0);
    let repeated = |value: &[u8]| value.iter().copied().cycle().take(width).collect();
    match datatype.physical() {
        Physical::F32 | Physical::F64 => repeated(&datatype.default_fill()),
        _ if datatype.is_temporal() => repeated(&i64::MIN.to_le_bytes()),
        _ if datatype.is_string() || datatype == Datatype::Bool || fill.is_empty() => vec![0; width],
        _ => repeated(fill),
    }
}

/// Replaces every null cell by `null`.
pub(super) fn mask(cells: &mut [u8], validity: Option<&[u8]>, null: &[u8]) {
    let Some(validity) = validity.filter(|_| !null.is_empty()) else {
        return;
    };
    for (cell, _) in cells
        .chunks_exact_mut(null.len())
        .zip(validity)
        .filter(|(_, valid)| **valid == 0)
    {
        cell.copy_from_slice(null);
    }
}

/// The values of missing cells in the Zarr view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The value of an unwritten cell.
    pub unwritten: Vec<u8>,
    /// The value of a null cell, if the attribute is nullable.
    pub null: Option<Vec<u8>>,
}

impl Missing {
    /// Those of an attribute.
    pub fn of(a: &Attribute) -> Self {
        if !a.nullable {
            return Self {
                unwritten: a.fill.clone(),
                null: None,
            };
        }
        let null = match a.datatype {
            Datatype::Bool => vec![u8::MAX; a.fill.len()],
            t => null_cell(t, a.cell, &marker(a)),
        };
        let unwritten = if a.fill_valid { a.fill.clone() } else { null.clone() };
        Self {
            unwritten,
            null: Some(null),
        }
    }

    /// Whether all values of an unwritten cell are equal.
    pub(super) fn is_uniform(&self, datatype: Datatype) -> bool {
        let mut values = self.unwritten.chunks(datatype.size());
        let first = values.next();
        values.all(|v| Some(v) == first)
    }
}

/// The integer for null: the fill value. If unwritten cells are not null, another value.
fn marker(a: &Attribute) -> Vec<u8> {
    let default = a.datatype.default_fill();
    match a.fill.get(..default.len()) {
        Some(fill) if a.fill_valid && fill == default => default.iter().map(|b| !b).collect(),
        _ if a.fill_valid => default,
        _ => a.fill.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(datatype: Datatype, fill_valid: bool, expect: (&[u8], &[u8])) {
        let mut a = Attribute::new("a", datatype, CellCount::ONE);
        (a.nullable, a.fill_valid) = (true, fill_valid);
        let missing = Missing::of(&a);
        assert_eq!(
            (missing.null.as_deref(), &*missing.unwritten),
            (Some(expect.0), expect.1)
        );
    }

    #[test]
    fn nulls_are_never_shown_as_zero() {
        let nan = f32::NAN.to_le_bytes();
        check(Datatype::Float32, false, (&nan, &nan));
        check(Datatype::Int16, false, (&[0, 0x80], &[0, 0x80]));
        // Unwritten cells are values, not nulls.
        check(Datatype::Int16, true, (&[0xff, 0x7f], &[0, 0x80]));
        check(Datatype::Bool, false, (&[255], &[255]));
        check(Datatype::Bool, true, (&[255], &[0]));
        let never = i64::MIN.to_le_bytes();
        check(Datatype::DatetimeDay, false, (&never, &never));
        assert_eq!(null_cell(Datatype::Uint8, CellCount::Fixed(2), &[7, 8]), [7, 8]);
        assert_eq!(null_cell(Datatype::StringAscii, CellCount::Fixed(3), b"xyz"), [0; 3]);
    }

    #[test]
    fn only_null_cells_are_masked() {
        let mut cells = [1, 2, 3, 4, 5, 6];
        mask(&mut cells, Some(&[1, 0, 1]), &[9, 9]);
        assert_eq!(cells, [1, 2, 9, 9, 5, 6]);
        mask(&mut cells, None, &[0]);
        assert_eq!(cells, [1, 2, 9, 9, 5, 6]);
    }
}
