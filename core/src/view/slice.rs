//! One slice in one format: what it takes to read it, and which of its bytes lie where. Pure.

use std::ops::Range;
use std::sync::Arc;

use super::encode::{Encoder, Field, Format, Frame};
use super::node::{self, Snapshot};
use super::selection::{Axis, Selection, shown_name};
use super::window;
use crate::array::Array;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::enumeration::Enumeration;
use crate::format::schema::{Layout, Schema};
use crate::limits;
use crate::query::{Query, Region};
use crate::scalar::{Scalar, ScalarRange};

/// Bytes that are read at once, unless a row of tiles is more.
const BLOCK_BYTES: u64 = 1 << 20;
/// Rows of tiles up to this many bytes are read at once.
const SLAB_BYTES_MAX: u64 = 64 << 20;
/// Bytes that a file can have, for operating systems count them with a sign.
const FILE_BYTES_MAX: u64 = i64::MAX as u64;
/// Bytes that a file which must be made as a whole may have.
pub(super) const RENDERED_BYTES_MAX: u64 = 1 << 30;

/// A slice of an array at a moment, in a format.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) snapshot: Snapshot,
    pub(super) format: Format,
    pub(super) selection: Selection,
    /// Names of the fields, as queries want them.
    pub(super) fields: Vec<String>,
    /// The shape as it is stored in the array: every axis, also those of one coordinate.
    full_shape: Vec<u64>,
    pub(super) frame: Frame,
}

/// Where cells lie in a file whose cells all take the same number of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FixedLayout {
    pub(super) header: Vec<u8>,
    /// Bytes a cell.
    pub(super) width: u64,
    /// Cells in a block, and cells that the first block is short of.
    pub(super) block_cells: u64,
    pub(super) block_shift: u64,
    pub(super) cells: u64,
    /// Bytes of the whole file.
    pub(super) size: u64,
}

impl Slice {
    /// The slice that `selection` names. Sparse results get their number of cells later, by
    /// [`Slice::with_cells`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot show it.
    pub(super) fn new(snapshot: &Snapshot, selection: Selection, format: Format) -> Result<Self> {
        let schema = snapshot.array.schema();
        let fields = field_names(schema, &selection, format);
        let described = fields
            .iter()
            .map(|name| describe(schema, name))
            .collect::<Result<Vec<_>>>()?;
        let full_shape = if schema.is_dense() { selection.shape() } else { vec![0] };
        let shown = |axis: &&Axis| !axis.single;
        let shape = match (schema.is_dense(), format.lists_coordinates()) {
            (false, _) => vec![0],
            (true, true) => full_shape.clone(),
            (true, false) => selection
                .axes
                .iter()
                .filter(shown)
                .map(|a| a.len().unwrap_or(u64::MAX))
                .collect(),
        };
        let slice = Self {
            snapshot: snapshot.clone(),
            format,
            selection,
            fields,
            full_shape,
            frame: Frame {
                fields: described,
                shape,
                dense: schema.is_dense(),
            },
        };
        slice.encoder()?;
        Ok(slice)
    }

    /// The same with the number of cells that a sparse result has.
    pub(super) fn with_cells(mut self, cells: u64) -> Self {
        self.full_shape = vec![cells];
        self.frame.shape = vec![cells];
        self
    }

    /// The same with what the integers of some fields stand for.
    pub(super) fn with_labels(mut self, labels: &[(String, Arc<Enumeration>)]) -> Self {
        for field in &mut self.frame.fields {
            field.labels = labels
                .iter()
                .find(|(name, _)| *name == field.name)
                .map(|(_, e)| Arc::clone(e));
        }
        self
    }

    pub(super) const fn array(&self) -> &Array {
        &self.snapshot.array
    }

    pub(super) fn is_dense(&self) -> bool {
        self.array().schema().is_dense()
    }

    pub(super) fn encoder(&self) -> Result<Encoder> {
        Encoder::new(self.format, &self.frame)
    }

    /// The whole slice as a query.
    pub(super) fn query(&self) -> Result<Query> {
        Ok(self.query_of(self.selection.region(self.array().schema())?))
    }

    fn query_of(&self, region: Region) -> Query {
        Query {
            fields: Some(self.fields.clone()),
            region,
            order: Layout::RowMajor,
            batch_bytes: limits::BATCH_BYTES / 16,
            ..Query::default()
        }
    }

    /// How cells lie in the file, where every cell takes the same number of bytes and any of them
    /// can be read alone; `None` for a file that must be made as a whole.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] for more bytes than such a file can have.
    pub(super) fn fixed_layout(&self) -> Result<Option<FixedLayout>> {
        let encoder = self.encoder()?;
        let (true, Some((header, width))) = (self.is_dense(), encoder.fixed()) else {
            let least = self.bytes_at_least();
            return if least > RENDERED_BYTES_MAX {
                Err(self.too_large(least))
            } else {
                Ok(None)
            };
        };
        let (cells, size) = (self.frame.cells()?, encoder.size().unwrap_or(u64::MAX));
        if size > FILE_BYTES_MAX {
            return Err(Error::LimitExceeded {
                what: format!("bytes of this .{} file (select fewer cells)", self.format.extension()),
                found: size,
                limit: FILE_BYTES_MAX,
            });
        }
        let (block_cells, block_shift) = self.block(width);
        Ok(Some(FixedLayout {
            header: header.to_vec(),
            width,
            block_cells,
            block_shift,
            cells,
            size,
        }))
    }

    /// What to say of a file that would have to be made as a whole and has this many bytes.
    pub(super) fn too_large(&self, bytes: u64) -> Error {
        let what = format!(
            "bytes of this .{} file, which must be made as a whole (select fewer cells)",
            self.format.extension()
        );
        Error::LimitExceeded {
            what,
            found: bytes,
            limit: RENDERED_BYTES_MAX,
        }
    }

    /// Cells in a block: a row of tiles where that is not too much, so that no tile is decoded for
    /// two blocks.
    fn block(&self, width: u64) -> (u64, u64) {
        let plain = ((BLOCK_BYTES / width.max(1)).max(1), 0);
        let Some(first) = self.full_shape.iter().position(|&n| n > 1) else {
            return plain;
        };
        let mut inner = self.full_shape.iter().skip(first + 1);
        let Some(row) = inner.try_fold(1_u64, |n, &axis| n.checked_mul(axis.max(1))) else {
            return plain;
        };
        let schema = self.array().schema();
        let (Some(dimension), Some(axis)) = (schema.dimensions.get(first), self.selection.axes.get(first)) else {
            return plain;
        };
        let extent = dimension.extent.as_ref().and_then(Scalar::as_i128);
        let low = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
        let start = axis.range.as_ref().and_then(|r| r.lo.as_i128());
        let (Some(extent), Some(low), Some(start)) = (extent, low, start) else {
            return plain;
        };
        if axis.step > 1 || extent <= 0 {
            return plain;
        }
        // A row of tiles, and what of it lies before the slice, which is less.
        let cells = |along: i128| u64::try_from(along).ok()?.checked_mul(row);
        let (Some(slab), Some(before)) = (cells(extent), cells((start - low).rem_euclid(extent))) else {
            return plain;
        };
        let Some(slab_bytes) = slab.checked_mul(width.max(1)).filter(|n| *n <= SLAB_BYTES_MAX) else {
            return plain;
        };
        // Small tiles are taken several rows of tiles at a time.
        let times = (BLOCK_BYTES / slab_bytes.max(1)).max(1);
        (slab * times, before)
    }

    /// What to read for a run of cells: queries whose results, one after another, are those cells.
    pub(super) fn queries(&self, cells: Range<u64>) -> Vec<Query> {
        let found = window::boxes(&self.full_shape, cells);
        found.into_iter().map(|b| self.query_of(self.region(&b))).collect()
    }

    fn region(&self, indices: &[Range<u64>]) -> Region {
        let schema = self.array().schema();
        let axes = self.selection.axes.iter().zip(&schema.dimensions).zip(indices);
        let ranges = axes.map(|((axis, dimension), indices)| {
            let low = axis.range.as_ref().and_then(|r| r.lo.as_i128()).unwrap_or(0);
            let step = i128::from(axis.step.max(1));
            let at = |i: u64| Scalar::from_i128(dimension.datatype, low + i128::from(i) * step);
            let range = |a: u64, b: u64| Some(ScalarRange { lo: at(a)?, hi: at(b)? });
            if step == 1 {
                range(indices.start, indices.end.saturating_sub(1))
                    .into_iter()
                    .collect()
            } else {
                indices.clone().filter_map(|i| range(i, i)).collect()
            }
        });
        Region(ranges.collect())
    }

    /// The same for the same bytes, whatever spelling asked for them and in whichever process.
    pub(super) fn id(&self) -> u64 {
        let text = self.selection.text(self.array().schema());
        let snapshot = self.snapshot.fingerprint.to_le_bytes();
        node::hash(&[b"slice", &snapshot, text.as_bytes(), self.format.extension().as_bytes()])
    }

    /// Bytes of the store that the cells take, if all cells take the same.
    pub(super) fn stored_bytes(&self) -> u64 {
        let fragments = self.array().fragments();
        let bytes: u128 = fragments.iter().map(|f| u128::from(f.bytes)).sum();
        let cells: u128 = fragments.iter().map(|f| u128::from(f.cells)).sum();
        let here = u128::from(self.frame.cells().unwrap_or(u64::MAX)).min(cells);
        u64::try_from(bytes * here / cells.max(1)).unwrap_or(u64::MAX)
    }

    /// Facts about the slice for people and programs that look at a file's attributes.
    pub(super) fn facts(&self) -> Vec<(&'static str, String)> {
        let list = |items: Vec<String>| items.join(",");
        let schema = self.array().schema();
        let types = self.frame.fields.iter().map(|f| f.datatype.to_string()).collect();
        vec![
            ("shape", list(self.frame.shape.iter().map(u64::to_string).collect())),
            ("dtype", list(types)),
            (
                "fields",
                list(self.fields.iter().map(|n| shown_name(n, schema).into_owned()).collect()),
            ),
            ("dims", list(schema.dimensions.iter().map(|d| d.name.clone()).collect())),
            ("selection", self.selection.text(schema)),
            ("snapshot", format!("{:016x}", self.snapshot.fingerprint)),
            ("timestamp", self.snapshot.modified_ms.to_string()),
            ("fragments", self.array().fragments().len().to_string()),
        ]
    }

    /// Bytes of the fixed-size values of all cells, for budgets; each variable-length value counts
    /// as the two bytes that it takes at least.
    fn bytes_at_least(&self) -> u64 {
        let of = |f: &Field| {
            if self.format.lists_coordinates() {
                2
            } else {
                f.cell.cell_bytes(f.datatype).unwrap_or(2) as u64
            }
        };
        let width: u64 = self.frame.fields.iter().map(of).sum();
        self.frame.cells().unwrap_or(u64::MAX).saturating_mul(width)
    }
}

impl FixedLayout {
    /// Which block a cell is in.
    pub(super) const fn block_of(&self, cell: u64) -> u64 {
        (cell + self.block_shift) / self.block_cells
    }

    /// The cells of a block.
    pub(super) fn block(&self, index: u64) -> Range<u64> {
        let at = |i: u64| {
            i.saturating_mul(self.block_cells)
                .saturating_sub(self.block_shift)
                .min(self.cells)
        };
        at(index)..at(index.saturating_add(1))
    }
}

/// The fields a file of `format` shows, in order.
fn field_names(schema: &Schema, selection: &Selection, format: Format) -> Vec<String> {
    let dimensions = schema.dimensions.iter().map(|d| d.name.clone());
    let named = match &selection.attributes {
        Some(names) => names.clone(),
        None => schema.attributes.iter().map(|a| a.name.clone()).collect(),
    };
    let with_coordinates = format.lists_coordinates() || (!schema.is_dense() && selection.attributes.is_none());
    if !with_coordinates {
        return named;
    }
    let attributes = named.into_iter().filter(|n| schema.dimension(n).is_none());
    dimensions.chain(attributes).collect()
}

fn describe(schema: &Schema, name: &str) -> Result<Field> {
    if let Some((_, a)) = schema.attribute(name) {
        return Ok(Field {
            name: a.name.clone(),
            datatype: a.datatype,
            cell: a.cell,
            nullable: a.nullable,
            fill: a.fill.clone(),
            labels: None,
        });
    }
    let (_, d) = schema
        .dimension(name)
        .ok_or_else(|| Error::invalid(format!("there is no field '{name}'")))?;
    let cell = if d.datatype == Datatype::StringAscii {
        CellCount::Var
    } else {
        d.cell
    };
    Ok(Field {
        name: d.name.clone(),
        datatype: d.datatype,
        cell,
        nullable: false,
        fill: Vec::new(),
        labels: None,
    })
}
