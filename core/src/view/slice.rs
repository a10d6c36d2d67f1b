//! A slice of an array in a file format: the queries that read it, and the layout of the file. Does no I/O.

use std::ops::Range;
use std::sync::Arc;

use super::encode::{Change, Colors, Conversion, Converted, Encode, Format, Frame};
use super::fixed_layout::FixedLayout;
use super::hash::hash;
use super::options::Options;
use super::selection::{Axis, Selection, TableAxes, shown_name};
use super::snapshot::Snapshot;
use super::window;
use crate::array::Array;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::format::schema::{Layout, Schema};
use crate::limits;
use crate::query::{Query, Region};
use crate::scalar::Scalar;

/// Target size of a read in bytes. A row of tiles may be larger.
const BLOCK_BYTES: u64 = 1 << 20;
/// Rows of tiles up to this size in bytes are read at once.
const SLAB_BYTES_MAX: u64 = 64 << 20;
/// The largest file size in bytes, because operating systems use signed sizes.
pub(super) const FILE_BYTES_MAX: u64 = i64::MAX as u64;

/// A slice of a snapshot in a file format.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) snapshot: Snapshot,
    pub(super) format: Format,
    pub(super) selection: Selection,
    pub(super) options: Options,
    /// Field names for queries.
    pub(super) fields: Vec<String>,
    /// The shape with all axes, including single coordinates.
    full_shape: Vec<u64>,
    pub(super) frame: Frame,
    /// The changes of fields.
    changes: Vec<Option<Change>>,
    /// The values along axes that the file has in place of coordinates.
    axis_bytes: Vec<u8>,
}

impl Slice {
    /// The slice of a selection. [`Slice::with_cells`] sets the number of cells of a sparse result later.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot represent the slice.
    pub(super) fn new(snapshot: &Snapshot, selection: Selection, format: Format) -> Result<Self> {
        Self::with_options(snapshot, selection, format, Options::default())
    }

    /// The slice of a selection with options.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if the format cannot represent the slice, or if it does not have the options.
    pub(super) fn with_options(
        snapshot: &Snapshot,
        selection: Selection,
        format: Format,
        options: Options,
    ) -> Result<Self> {
        let schema = snapshot.array.schema();
        let fields = format.fields(schema, selection.attributes.as_deref());
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
        let mut slice = Self {
            snapshot: snapshot.clone(),
            format,
            selection,
            full_shape,
            frame: Frame {
                fields: Vec::new(),
                shape,
                dense: schema.is_dense(),
                column_major: schema.is_dense() && options.order == Layout::ColMajor,
                colors: options.colors,
            },
            changes: Vec::new(),
            axis_bytes: Vec::new(),
            options,
            fields,
        };
        slice.check_options()?;
        slice.limit_cells()?;
        let fields = Field::resolve(schema, Some(&slice.fields))?;
        let slice = slice.with_fields(fields)?;
        slice.encoder()?;
        Ok(slice)
    }

    /// Fails if the format does not have an option.
    fn check_options(&self) -> Result<()> {
        let (extension, is_dense) = (self.format.extension(), self.is_dense());
        if is_dense && !self.format.orders().contains(&self.options.order) {
            return Err(Error::invalid(format!(
                "a .{extension} file has its cells in row-major order; leave out order=F"
            )));
        }
        if self.options.limit.is_some() && is_dense && !self.format.lists_coordinates() {
            return Err(Error::invalid(format!(
                "a .{extension} file of a dense array has the shape of its selection, so it cannot have a limit; select \
                 fewer coordinates, or write .csv, .json or .arrow"
            )));
        }
        if !self.format.lists_coordinates() && self.options.axis_values.is_some() {
            return Err(Error::invalid(format!(
                "a .{extension} file has no coordinates; write .csv, .json or .arrow, or leave out coordinates"
            )));
        }
        if self.format != Format::Png && self.options.colors != Colors::default() {
            return Err(Error::invalid(format!(
                "a .{extension} file has no colors; write .png, or leave out cmap and range"
            )));
        }
        Ok(())
    }

    /// Reduces the number of cells to the limit.
    fn limit_cells(&mut self) -> Result<()> {
        if let Some(limit) = self.options.limit {
            let cells = self.frame.cells()?;
            self.frame.shape = vec![cells.min(limit)];
        }
        Ok(())
    }

    /// Sets the fields of the file, and converts them as the options ask.
    pub(super) fn with_fields(mut self, mut fields: Vec<Field>) -> Result<Self> {
        let (cast, fill) = (self.options.cast, self.options.fill.as_deref());
        let changes = fields
            .iter_mut()
            .map(|f| Ok(Conversion::of(f, cast, fill)?.map(Change::Numbers)));
        self.changes = changes.collect::<Result<_>>()?;
        self.frame.fields = fields;
        Ok(self)
    }

    /// Whether the file has the values along axes in place of coordinates.
    pub(super) fn shows_axis_values(&self) -> bool {
        let asked = self.options.axis_values.unwrap_or_else(|| self.format.is_text());
        self.is_dense() && self.format.lists_coordinates() && asked
    }

    /// Sets the values along axes. Follows [`Slice::with_fields`].
    pub(super) fn with_axes(mut self, axes: &TableAxes) -> Self {
        let names: Vec<&str> = self
            .array()
            .schema()
            .dimensions
            .iter()
            .map(|d| d.name.as_str())
            .collect();
        self.axis_bytes = axes.bytes(&self.selection, &names);
        for (change, field) in self.changes.iter_mut().zip(&self.frame.fields) {
            if let Some(values) = axes.of_field(field) {
                *change = Some(Change::Axis(Arc::clone(values)));
            }
        }
        axes.retype(&mut self.frame.fields);
        self.frame.dense &= axes.is_empty();
        self
    }

    /// Sets the number of cells of a sparse result.
    pub(super) fn with_cells(mut self, cells: u64) -> Self {
        let cells = cells.min(self.options.limit.unwrap_or(u64::MAX));
        self.full_shape = vec![cells];
        self.frame.shape = vec![cells];
        self
    }

    pub(super) const fn array(&self) -> &Array {
        &self.snapshot.array
    }

    pub(super) fn is_dense(&self) -> bool {
        self.array().schema().is_dense()
    }

    pub(super) fn encoder(&self) -> Result<Box<dyn Encode>> {
        let encoder = self.format.encoder(&self.frame)?;
        let left = self.options.limit;
        if left.is_none() && self.changes.iter().all(Option::is_none) {
            return Ok(encoder);
        }
        Ok(Box::new(Converted {
            encoder,
            changes: self.changes.clone(),
            left,
        }))
    }

    /// The query for the whole slice.
    pub(super) fn query(&self) -> Result<Query> {
        Ok(self.query_of(self.selection.region(self.array().schema())?))
    }

    fn query_of(&self, region: Region) -> Query {
        Query {
            fields: Some(self.fields.clone()),
            region,
            order: self.options.order,
            condition: self.options.condition.clone(),
            batch_bytes: limits::BATCH_BYTES / 16,
        }
    }

    /// The layout of the file if its blocks can be encoded separately; `None` if it is encoded from start to end.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if the file would be too large.
    pub(super) fn fixed_layout(&self) -> Result<Option<FixedLayout>> {
        let encoder = self.encoder()?;
        let (true, Some(runs)) = (self.is_dense(), encoder.runs()) else {
            return Ok(None);
        };
        let cells = self.frame.cells()?;
        let (mut block_cells, block_shift) = self.block(runs.width);
        let fewer = (cells.saturating_add(block_shift) / block_cells)
            .checked_div(runs.runs_max)
            .unwrap_or(0);
        block_cells = block_cells.saturating_mul(fewer + 1);
        let mut layout = FixedLayout {
            header: runs.header.to_vec(),
            block_cells,
            block_shift,
            cells,
            cell_bytes: runs.is_cells.then_some(runs.width).filter(|n| *n > 0),
            first_bytes: encoder.run_bytes((block_cells - block_shift).min(cells)),
            block_bytes: encoder.run_bytes(block_cells),
            blocks_bytes: 0,
            size: 0,
        };
        let blocks = layout.blocks();
        if let Some(last) = blocks.checked_sub(1) {
            let last_cells = layout.block(last);
            let last_bytes = encoder.run_bytes(last_cells.end - last_cells.start);
            layout.blocks_bytes = layout.start(last).saturating_add(last_bytes);
        }
        let around = layout.header.len() as u64 + encoder.trailer_bytes(blocks);
        layout.size = layout.blocks_bytes.saturating_add(around);
        let beyond = |limit: u64, found: u64| Error::LimitExceeded {
            what: format!("bytes of this .{} file (select fewer cells)", self.format.extension()),
            found,
            limit,
        };
        if layout.size > FILE_BYTES_MAX {
            return Err(beyond(FILE_BYTES_MAX, layout.size));
        }
        if fewer > 0 && layout.block_bytes > SLAB_BYTES_MAX {
            return Err(beyond(SLAB_BYTES_MAX.saturating_mul(runs.runs_max), layout.size));
        }
        Ok(Some(layout))
    }

    /// The error for a file of at least `bytes` bytes that is too large.
    pub(super) fn too_large(&self, bytes: u64, limit: u64) -> Error {
        let what = format!(
            "bytes of this .{} file (select fewer cells, or use `hyperslab export`)",
            self.format.extension()
        );
        Error::LimitExceeded {
            what,
            found: bytes,
            limit,
        }
    }

    /// Cells per block, and the cells before the slice in the first block. If possible a block is a row of tiles, so
    /// that no tile is decoded twice.
    fn block(&self, width: u64) -> (u64, u64) {
        let plain = ((BLOCK_BYTES / width.max(1)).max(1), 0);
        let mut slowest_first: Vec<usize> = (0..self.full_shape.len()).collect();
        if self.frame.column_major {
            slowest_first.reverse();
        }
        let mut axes = slowest_first
            .iter()
            .filter_map(|&i| Some((i, self.full_shape.get(i)?)))
            .skip_while(|(_, n)| **n <= 1);
        let Some((first, _)) = axes.next() else {
            return plain;
        };
        let mut inner = axes.map(|(_, n)| n);
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
        if !axis.is_range() || extent <= 0 {
            return plain;
        }
        // Cells of a row of tiles, and cells of the first row before the slice.
        let cells = |along: i128| u64::try_from(along).ok()?.checked_mul(row);
        let (Some(slab), Some(before)) = (cells(extent), cells((start - low).rem_euclid(extent))) else {
            return plain;
        };
        let Some(slab_bytes) = slab.checked_mul(width.max(1)).filter(|n| *n <= SLAB_BYTES_MAX) else {
            return plain;
        };
        // A block has several rows of small tiles.
        let times = (BLOCK_BYTES / slab_bytes.max(1)).max(1);
        (slab * times, before)
    }

    /// Queries whose concatenated results are a run of cells.
    pub(super) fn queries(&self, cells: Range<u64>) -> Vec<Query> {
        let mut shape = self.full_shape.clone();
        let is_reversed = self.frame.column_major;
        if is_reversed {
            shape.reverse();
        }
        let mut found = window::boxes(&shape, cells);
        // A run in column-major order is a run in row-major order of the axes in reverse.
        found.iter_mut().filter(|_| is_reversed).for_each(|b| b.reverse());
        found.into_iter().map(|b| self.query_of(self.region(&b))).collect()
    }

    fn region(&self, indices: &[Range<u64>]) -> Region {
        let schema = self.array().schema();
        let axes = self.selection.axes.iter().zip(&schema.dimensions).zip(indices);
        let ranges = axes.map(|((axis, dimension), indices)| axis.at(indices, dimension.datatype));
        Region(ranges.collect())
    }

    /// A hash of the slice, the same for every spelling and in every process.
    pub(super) fn id(&self) -> u64 {
        let text = self.selection.text(self.array().schema());
        let snapshot = self.snapshot.fingerprint.to_le_bytes();
        let parts = [text.as_bytes(), self.options.text.as_bytes()].concat();
        let mut hashed = vec![&b"slice"[..], &snapshot, &parts, self.format.extension().as_bytes()];
        if !self.axis_bytes.is_empty() {
            hashed.push(&self.axis_bytes);
        }
        // The metadata says which stored numbers meet the condition.
        let condition = self.options.condition.as_ref().map(|c| format!("{c:?}"));
        hashed.extend(condition.as_ref().map(String::as_bytes));
        hash(&hashed)
    }

    /// Approximate bytes of the cells in the store, assuming equal sizes.
    pub(super) fn stored_bytes(&self) -> u64 {
        let fragments = self.array().fragments();
        let bytes: u128 = fragments.iter().map(|f| u128::from(f.bytes)).sum();
        let cells: u128 = fragments.iter().map(|f| u128::from(f.cells)).sum();
        let here = u128::from(self.frame.cells().unwrap_or(u64::MAX)).min(cells);
        let (part, all) = share(self.array().schema(), &self.fields);
        let here = bytes * here / cells.max(1) * u128::from(part) / u128::from(all);
        u64::try_from(here).unwrap_or(u64::MAX)
    }

    /// Facts about the slice, shown as extended attributes of the file.
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
            ("selection", self.selection.text(schema) + &self.options.text),
            ("snapshot", format!("{:016x}", self.snapshot.fingerprint)),
            ("timestamp", self.snapshot.modified_ms.to_string()),
            ("fragments", self.array().fragments().len().to_string()),
        ]
    }

    /// A lower bound of the file size in bytes. Text counts syntax, one digit per number, and the coordinates. Other
    /// formats count fixed-size values, and 2 bytes per variable-length value.
    pub(super) fn bytes_at_least(&self, encoder: &dyn Encode) -> u64 {
        let cells = self.frame.cells().unwrap_or(u64::MAX);
        let text = encoder.text_bytes_at_least();
        if text > 0 {
            // Values along axes count as those of attributes.
            let coordinates = if self.frame.dense {
                self.coordinate_digits(cells)
            } else {
                0
            };
            return cells.saturating_mul(text).saturating_add(coordinates);
        }
        let of = |f: &Field| f.cell_bytes().unwrap_or(2) as u64;
        let width: u64 = self.frame.fields.iter().map(of).sum();
        cells.saturating_mul(width)
    }

    /// The approximate number of digits in the coordinates of `cells` cells. The average along each axis ignores steps
    /// and is rounded down.
    fn coordinate_digits(&self, cells: u64) -> u64 {
        let along = |axis: &Axis| {
            if !axis.list.is_empty() {
                return Some(1);
            }
            let (lo, hi) = axis
                .range
                .as_ref()
                .and_then(|r| Some((r.lo.as_i128()?, r.hi.as_i128()?)))?;
            let length = u128::try_from(hi - lo).ok()? + 1;
            // A step may skip coordinates with more digits than the selected ones.
            let slack = u128::from(axis.step.max(1) - 1);
            let each = digits(lo, hi).saturating_sub(slack) / length;
            u64::try_from(each).ok()
        };
        let each: u64 = self.selection.axes.iter().filter_map(along).sum();
        cells.saturating_mul(each)
    }
}

/// The share of the selected fields in the bytes of all fields, as a fraction. Variable-length cells count 16 bytes.
fn share(schema: &Schema, fields: &[String]) -> (u64, u64) {
    let bytes = |cell: CellCount, t: Datatype| cell.cell_bytes(t).unwrap_or(16) as u64;
    let attributes = schema.attributes.iter().map(|a| (&a.name, bytes(a.cell, a.datatype)));
    let stored = schema.dimensions.iter().filter(|_| !schema.is_dense());
    let dimensions = stored.map(|d| (&d.name, bytes(d.cell, d.datatype)));
    let all: Vec<(&String, u64)> = attributes.chain(dimensions).collect();
    let sum = |chosen: &dyn Fn(&String) -> bool| all.iter().filter(|(n, _)| chosen(n)).map(|(_, b)| *b).sum::<u64>();
    (sum(&|name| fields.contains(name)), sum(&|_| true).max(1))
}

/// The total number of decimal digits of the integers from `lo` to `hi`.
fn digits(lo: i128, hi: i128) -> u128 {
    let up_to = |n: i128| {
        // Digits of 0 to n.
        let Ok(n) = u128::try_from(n) else { return 0 };
        let (mut sum, mut ten) = (n + 1, 10_u128);
        while ten <= n {
            sum += n - ten + 1;
            ten *= 10;
        }
        sum
    };
    match (lo < 0, hi < 0) {
        (false, false) => up_to(hi) - up_to(lo - 1),
        (true, true) => up_to(-lo) - up_to(-hi - 1),
        (true, false) | (false, true) => up_to(hi) + up_to(-lo) - 1,
    }
}
