//! Elements of a dataset as columns.

use anyhow::{Context as _, Result};
use hdf5_reader::{Dataset, StringPadding};
use hyperslab::{Column, Datatype};

use super::types::{Kind, Layout, Number, Part};
use crate::text;

/// The columns of these elements, in the order of the layout's fields.
pub(super) fn owned(dataset: &Dataset, layout: &Layout, bytes: Vec<u8>, cells: usize) -> Result<Vec<Column>> {
    let [
        Part {
            kind: Kind::Numbers { number, .. },
            ..
        },
    ] = layout.parts.as_slice()
    else {
        return columns(dataset, layout, &bytes, cells);
    };
    if !layout.is_plain() {
        return columns(dataset, layout, &bytes, cells);
    }
    let (datatype, cell) = layout
        .parts
        .first()
        .map(|p| p.kind.stored())
        .context("there is no field")?;
    let mut column = Column::empty(datatype, cell, false);
    column.data = bytes;
    if number.big_endian && number.bytes > 1 {
        column.data.chunks_exact_mut(number.bytes).for_each(<[u8]>::reverse);
    }
    Ok(vec![column])
}

/// The columns of `cells` elements.
pub(super) fn columns(dataset: &Dataset, layout: &Layout, bytes: &[u8], cells: usize) -> Result<Vec<Column>> {
    let needed = cells.checked_mul(layout.element_bytes);
    let bytes = needed.and_then(|n| bytes.get(..n)).context("cells are missing")?;
    let parts = layout.parts.iter();
    parts.map(|part| column(dataset, layout, part, bytes)).collect()
}

fn column(dataset: &Dataset, layout: &Layout, part: &Part, bytes: &[u8]) -> Result<Column> {
    let elements = bytes.chunks_exact(layout.element_bytes.max(1));
    let at = |element: &[u8], count: usize| -> Result<Vec<u8>> {
        let field = element.get(part.offset..).and_then(|rest| rest.get(..count));
        Ok(field.context("a field is outside its element")?.to_vec())
    };
    let (datatype, cell) = part.kind.stored();
    let mut column = Column::empty(datatype, cell, false);
    for element in elements {
        match &part.kind {
            Kind::Numbers { number, count } => {
                let field = at(element, number.bytes * *count as usize)?;
                push_numbers(*number, &field, &mut column.data);
            }
            Kind::Text { bytes, padding } => {
                let field = at(element, *bytes)?;
                column.data.extend_from_slice(trimmed(&field, *padding).as_bytes());
            }
            Kind::LongText { padding } => {
                let field = at(element, dataset.vlen_reference_size())?;
                let long = dataset.resolve_vlen_reference_bytes(&field, 1)?;
                column.data.extend_from_slice(trimmed(&long, *padding).as_bytes());
            }
            Kind::Blob { bytes } => column.data.extend_from_slice(&at(element, *bytes)?),
            Kind::Sequence { number } => {
                let field = at(element, dataset.vlen_reference_size())?;
                let values = dataset.resolve_vlen_reference_bytes(&field, number.bytes)?;
                push_numbers(*number, &values, &mut column.data);
            }
        }
        let end = column.data.len() as u64;
        if let Some(offsets) = &mut column.offsets {
            offsets.push(end);
        }
    }
    Ok(column)
}

/// Appends numbers in little-endian byte order.
pub(super) fn push_numbers(number: Number, bytes: &[u8], out: &mut Vec<u8>) {
    for value in bytes.chunks_exact(number.bytes.max(1)) {
        let start = out.len();
        out.extend_from_slice(value);
        if number.big_endian
            && let Some(new) = out.get_mut(start..)
        {
            new.reverse();
        }
        if number.bytes == 2 && number.datatype == Datatype::Float32 {
            let half = out.split_off(start);
            let bits = half.first_chunk::<2>().map_or(0, |b| u16::from_le_bytes(*b));
            out.extend_from_slice(&single(bits).to_le_bytes());
        }
    }
}

/// The float of 4 bytes with the value of one of 2 bytes.
fn single(half: u16) -> f32 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f32::from(half & 0x3ff) / 1024.0);
    sign * match exponent {
        0 => fraction * 2_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2_f32.powi(exponent - 15),
    }
}

/// The text of a field without its padding.
pub(super) fn trimmed(bytes: &[u8], padding: StringPadding) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    text::decode(match padding {
        StringPadding::NullTerminate => bytes.get(..end).unwrap_or(bytes),
        StringPadding::NullPad => text::without_zeros(bytes),
        StringPadding::SpacePad => {
            let last = bytes.iter().rposition(|b| *b != b' ').map_or(0, |last| last + 1);
            bytes.get(..last).unwrap_or(bytes)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_exact() {
        let cases = [
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x7bff, 65504.0),
            (0x0001, 5.960_464_5e-8),
            (0x3555, 0.333_251_95),
        ];
        for (bits, value) in cases {
            assert_eq!(single(bits), value, "{bits:x}");
        }
        assert!(single(0x7e00).is_nan() && single(0xfc00) == f32::NEG_INFINITY);
    }

    #[test]
    fn padding_is_no_text() {
        assert_eq!(trimmed(b"a\0b\0", StringPadding::NullTerminate), "a");
        assert_eq!(trimmed(b"a\0b\0", StringPadding::NullPad), "a\0b");
        assert_eq!(trimmed(b"a b  ", StringPadding::SpacePad), "a b");
    }
}
