//! Arrays of a Zarr store whose chunks are made of cells: text, and parts of arrays.

use anyhow::{Context as _, Result};
use hyperslab::internals::view::selection::display_name;
use hyperslab::internals::view::zarr::Missing;
use hyperslab::schema::Attribute;
use hyperslab::{Array, CellCount, Column, Datatype, Query, Region, Scalar, ScalarRange};
use serde_json::{Value, json};

use super::LEVEL;

/// An array of a store: an attribute along the selected coordinates.
pub(super) struct CellArray {
    array: Array,
    attribute: Attribute,
    content: Content,
    /// The coordinates along each dimension.
    ranges: Vec<Vec<ScalarRange>>,
    /// Cells of a chunk along each dimension.
    chunk: Vec<u64>,
}

/// What the elements are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Content {
    /// The numbers of cells. Null cells have the number that the view gives them.
    Numbers,
    /// The text of cells. Null and unwritten cells are empty.
    Text,
    /// Whether cells are not null.
    Validity,
}

impl CellArray {
    pub(super) fn new(
        array: &Array,
        attribute: &Attribute,
        content: Content,
        ranges: Vec<Vec<ScalarRange>>,
        chunk: Vec<u64>,
    ) -> Self {
        Self {
            array: array.clone(),
            attribute: attribute.clone(),
            content,
            ranges,
            chunk,
        }
    }

    /// The keys of the chunks of an array of this shape. Values of a cell have an axis of their own.
    pub(super) fn keys(&self, shape: &[u64]) -> impl Iterator<Item = Vec<u64>> + use<> {
        let inner = shape.len().saturating_sub(self.chunk.len());
        let counts = shape.iter().zip(&self.chunk).map(|(n, c)| n.div_ceil((*c).max(1)));
        let counts: Vec<u64> = counts.collect();
        let all = counts.iter().fold(1, |n: u64, c| n.saturating_mul(*c));
        (0..all).map(move |mut rest| {
            let mut key: Vec<u64> = counts
                .iter()
                .rev()
                .map(|c| {
                    let index = rest % c.max(&1);
                    rest /= c.max(&1);
                    index
                })
                .collect();
            key.reverse();
            key.extend(std::iter::repeat_n(0, inner));
            key
        })
    }

    /// The bytes of the chunk with this key, of an array of this shape.
    pub(super) async fn chunk(&self, key: &[u64], shape: &[u64]) -> Result<Vec<u8>> {
        let (mut region, mut lengths) = (Vec::new(), Vec::new());
        let axes = key.iter().zip(shape).zip(&self.chunk).zip(&self.ranges);
        for ((((index, length), chunk), ranges), dimension) in axes.zip(&self.array.schema().dimensions) {
            let first = index.saturating_mul(*chunk);
            let count = (*chunk).min(length.saturating_sub(first));
            region.push(part(ranges, dimension.datatype, first, count));
            lengths.push(count);
        }
        let name = &self.attribute.name;
        let query = Query {
            fields: Some(vec![name.clone()]),
            region: Region(region),
            ..Query::default()
        };
        let batch = self.array.read(&query).await?;
        let column = batch.column(name).context("an attribute is missing")?;
        let bytes = match self.content {
            Content::Numbers => self.numbers(column, &lengths),
            Content::Validity => {
                let valid = column.validity.clone().unwrap_or_else(|| vec![1; column.len()]);
                padded(&valid, &[0], (&lengths, &self.chunk))
            }
            Content::Text => self.text(column, &lengths)?,
        };
        Ok(zstd::bulk::compress(&bytes, LEVEL)?)
    }

    fn numbers(&self, column: &Column, lengths: &[u64]) -> Vec<u8> {
        let missing = Missing::of(&self.attribute);
        let mut data = column.data.clone();
        if let (Some(null), Some(valid)) = (&missing.null, &column.validity) {
            let cells = data.chunks_exact_mut(null.len().max(1)).zip(valid);
            cells
                .filter(|(_, valid)| **valid == 0)
                .for_each(|(cell, _)| cell.copy_from_slice(null));
        }
        padded(&data, &missing.unwritten, (lengths, &self.chunk))
    }

    /// The number of texts, and each text after its length, as the codec `vlen-utf8` has them.
    fn text(&self, column: &Column, lengths: &[u64]) -> Result<Vec<u8>> {
        let mut texts = Vec::new();
        for i in 0..column.len() {
            texts.push(match column.is_null(i) {
                true => "",
                false => text(&self.attribute, column.cell(i)).with_context(|| {
                    let name = display_name(&self.attribute.name);
                    format!("a cell of '{name}' is not UTF-8 text; leave it out with --attrs, or export to .parquet")
                })?,
            });
        }
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let count = self.chunk.iter().fold(1, |n: usize, c| n.saturating_mul(size(*c)));
        let mut placed = vec![""; count];
        let row = lengths.last().map_or(1, |n| size(*n)).max(1);
        for (start, from) in rows(lengths, &self.chunk).zip(texts.chunks(row)) {
            for (to, text) in placed.iter_mut().skip(start).zip(from) {
                *to = *text;
            }
        }
        let mut out = u32::try_from(count)?.to_le_bytes().to_vec();
        for text in placed {
            out.extend(u32::try_from(text.len())?.to_le_bytes());
            out.extend(text.as_bytes());
        }
        Ok(out)
    }
}

/// Whether a store can have an attribute as text.
pub(super) fn is_text(attribute: &Attribute) -> bool {
    attribute.datatype.is_string() && attribute.datatype.size() == 1
}

/// The text of a cell; `None` if it is none. Fixed-length text ends before its padding, and unwritten cells are empty.
fn text<'a>(attribute: &Attribute, cell: &'a [u8]) -> Option<&'a str> {
    if attribute.cell.is_var() {
        let plain = Attribute::new("", attribute.datatype, CellCount::Var);
        let is_unwritten = cell == attribute.fill && attribute.fill == plain.fill;
        return if is_unwritten {
            Some("")
        } else {
            std::str::from_utf8(cell).ok()
        };
    }
    let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    std::str::from_utf8(cell.get(..end)?).ok()
}

/// The metadata of a text array, but for its attributes.
pub(super) fn text_document(shape: &[u64], chunk: &[u64], names: &[String]) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "string",
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": "",
        "codecs": [{ "name": "vlen-utf8" }, super::zstd_codec()],
        "attributes": {},
        "dimension_names": names,
    })
}

/// `count` coordinates of ranges, from the position `first` on.
fn part(ranges: &[ScalarRange], datatype: Datatype, first: u64, count: u64) -> Vec<ScalarRange> {
    let (mut skip, mut left) = (i128::from(first), i128::from(count));
    let mut found = Vec::new();
    for range in ranges {
        let (Some(lo), Some(hi)) = (range.lo.as_i128(), range.hi.as_i128()) else {
            continue;
        };
        let length = hi - lo + 1;
        if skip >= length || left <= 0 {
            skip = (skip - length).max(0);
            continue;
        }
        let taken = left.min(length - skip);
        let number = |v: i128| Scalar::from_i128(datatype, v);
        if let (Some(lo), Some(hi)) = (number(lo + skip), number(lo + skip + taken - 1)) {
            found.push(ScalarRange { lo, hi });
        }
        (skip, left) = (0, left - taken);
    }
    found
}

/// Copies a row-major box of cells to the start of a chunk. The other cells are `fill`, the bytes of one cell.
fn padded(cells: &[u8], fill: &[u8], (lengths, chunk): (&[u64], &[u64])) -> Vec<u8> {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let count = chunk.iter().fold(1, |n: usize, c| n.saturating_mul(size(*c)));
    let mut out = fill.repeat(count);
    let row = lengths.last().map_or(1, |n| size(*n)) * fill.len();
    for (start, from) in rows(lengths, chunk).zip(cells.chunks(row.max(1))) {
        let start = start * fill.len();
        if let Some(to) = out.get_mut(start..start + from.len()) {
            to.copy_from_slice(from);
        }
    }
    out
}

/// The position in a chunk of the first cell of each row of a box.
fn rows<'a>(lengths: &'a [u64], chunk: &'a [u64]) -> impl Iterator<Item = usize> + use<'a> {
    let outer = lengths.len().saturating_sub(1);
    let count = lengths.iter().take(outer).fold(1, |n: u64, l| n.saturating_mul(*l));
    (0..count).map(move |mut rest| {
        let (mut at, mut stride) = (0, chunk.last().copied().unwrap_or(1));
        for (length, along) in lengths.iter().zip(chunk).take(outer).rev() {
            at += rest % (*length).max(1) * stride;
            rest /= (*length).max(1);
            stride = stride.saturating_mul(*along);
        }
        usize::try_from(at).unwrap_or(usize::MAX)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_padded_at_their_ends() {
        assert_eq!(
            padded(&[1, 2, 3, 4], &[9], (&[2, 2], &[3, 3])),
            [1, 2, 9, 3, 4, 9, 9, 9, 9]
        );
        assert_eq!(padded(&[1, 2, 3, 4], &[7, 8], (&[2], &[3])), [1, 2, 3, 4, 7, 8]);
        let cube: Vec<u8> = (1..=8).collect();
        assert_eq!(
            padded(&cube, &[0], (&[2, 2, 2], &[2, 3, 2])),
            [1, 2, 3, 4, 0, 0, 5, 6, 7, 8, 0, 0]
        );
    }

    #[test]
    fn parts_of_lists_go_on_in_the_next_range() {
        let ranges = [
            ScalarRange::new(10_i64, 12_i64),
            ScalarRange::new(0_i64, 1_i64),
            ScalarRange::new(5_i64, 9_i64),
        ];
        let of = |first, count| {
            let found = part(&ranges, Datatype::Int64, first, count);
            let ends = found.iter().map(|r| (r.lo.as_i128().unwrap(), r.hi.as_i128().unwrap()));
            ends.collect::<Vec<_>>()
        };
        assert_eq!(of(0, 10), [(10, 12), (0, 1), (5, 9)]);
        assert_eq!(of(2, 4), [(12, 12), (0, 1), (5, 5)]);
        assert_eq!(of(3, 1), [(0, 0)]);
        assert_eq!(of(9, 5), [(9, 9)]);
    }
}
