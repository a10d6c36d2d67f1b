//! Arrays of a Zarr store whose chunks are made of cells: text, and parts of arrays.

use anyhow::{Context as _, Result};
use hyperslab::internals::view::selection::display_name;
use hyperslab::internals::view::zarr::Missing;
use hyperslab::schema::Attribute;
use hyperslab::{Array, Column, Query, Region, Scalar, ScalarRange};
use serde_json::{Value, json};

use super::LEVEL;
use super::keys::{Runs, Touched};

/// An array of a store: an attribute along the selected coordinates.
pub(super) struct CellArray {
    array: Array,
    attribute: Attribute,
    content: Content,
    /// The coordinates along each dimension.
    axes: Vec<Runs>,
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
        ranges: &[Vec<ScalarRange>],
        chunk: Vec<u64>,
    ) -> Self {
        Self {
            array: array.clone(),
            attribute: attribute.clone(),
            content,
            axes: ranges.iter().map(|r| Runs::of(r)).collect(),
            chunk,
        }
    }

    /// The chunks that may contain cells of some fragment of the array. The fill value stands for the others.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn touched(&self) -> Result<Touched> {
        let ends = |ranges: &[ScalarRange]| {
            let ends = ranges.iter().map(|r| r.lo.as_i128().zip(r.hi.as_i128()));
            ends.collect::<Option<Vec<_>>>()
        };
        let missing = Missing::of(&self.attribute).unwritten;
        let mut values = missing.chunks(self.attribute.datatype.size());
        let first = values.next();
        // Zarr has one fill value for all values of a cell.
        if self.content == Content::Numbers && values.any(|value| Some(value) != first) {
            let whole = self.axes.iter().map(|_| (i128::MIN, i128::MAX)).collect();
            return Touched::of(&self.axes, &self.chunk, std::iter::once(whole));
        }
        let written = self.array.fragments().iter().filter_map(|f| f.non_empty_domain());
        Touched::of(&self.axes, &self.chunk, written.filter_map(ends))
    }

    /// The bytes of the chunk with this key, of an array of this shape.
    pub(super) async fn chunk(&self, key: &[u64], shape: &[u64]) -> Result<Vec<u8>> {
        let (mut region, mut lengths) = (Vec::new(), Vec::new());
        let axes = key.iter().zip(shape).zip(&self.chunk).zip(&self.axes);
        for ((((index, length), chunk), axis), dimension) in axes.zip(&self.array.schema().dimensions) {
            let first = index.saturating_mul(*chunk);
            let count = (*chunk).min(length.saturating_sub(first));
            let number = |v: i128| Scalar::from_i128(dimension.datatype, v);
            let range = |(lo, hi): (i128, i128)| Some((number(lo)?, number(hi)?));
            let ranges = axis.part(first, count).filter_map(range);
            region.push(ranges.map(|(lo, hi)| ScalarRange { lo, hi }).collect());
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
                false => text(&self.attribute, column.cell(i)).ok_or_else(|| NotText(self.attribute.name.clone()))?,
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

/// A cell of the attribute with this name is not UTF-8 text.
#[derive(Debug)]
pub(super) struct NotText(String);

impl NotText {
    /// What to do if the attribute is in an array of a group.
    pub(super) fn in_group(&self) -> String {
        let name = display_name(&self.0);
        format!("a cell of '{name}' is not UTF-8 text; export its array to .parquet")
    }
}

impl std::fmt::Display for NotText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = display_name(&self.0);
        write!(
            f,
            "a cell of '{name}' is not UTF-8 text; leave it out with --attrs, or export to .parquet"
        )
    }
}

impl std::error::Error for NotText {}

/// The text of a cell; `None` if it is none. Fixed-length text ends before its padding.
fn text<'a>(attribute: &'a Attribute, cell: &'a [u8]) -> Option<&'a str> {
    match cell == attribute.fill {
        true => Some(fill_text(attribute)),
        false => plain_text(attribute, cell),
    }
}

/// The text of the fill value. It is empty if the attribute has the fill value of its type, or one that is no text.
fn fill_text(attribute: &Attribute) -> &str {
    let usual = Attribute::new("", attribute.datatype, attribute.cell);
    match attribute.fill == usual.fill {
        true => "",
        false => plain_text(attribute, &attribute.fill).unwrap_or_default(),
    }
}

fn plain_text<'a>(attribute: &Attribute, cell: &'a [u8]) -> Option<&'a str> {
    let end = cell.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let end = if attribute.cell.is_var() { cell.len() } else { end };
    std::str::from_utf8(cell.get(..end)?).ok()
}

/// The fill value of a text array.
pub(super) fn text_fill(attribute: &Attribute) -> &str {
    match attribute.nullable && !attribute.fill_valid {
        true => "",
        false => fill_text(attribute),
    }
}

/// The metadata of a text array, but for its attributes.
pub(super) fn text_document(shape: &[u64], chunk: &[u64], names: &[String], fill: &str) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": "string",
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill,
        "codecs": [{ "name": "vlen-utf8" }, super::zstd_codec()],
        "attributes": {},
        "dimension_names": names,
    })
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
}
