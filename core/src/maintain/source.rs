//! Streams the cells of one sparse fragment, tile by tile, in the fields of the merged fragment. Pure: it says which
//! tiles it needs and takes them decoded.

use std::cmp::Ordering;
use std::sync::Arc;

use super::deletes::{Deletes, TileDeletes};
use crate::array::Fragment;
use crate::array::index::{Section, inconsistent};
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::fragment::slots::FieldId;
use crate::format::schema::{Attribute, Schema};
use crate::geometry::CellOrder;
use crate::query::tile::{StoredField, TILE_BYTES, TileRef, split_coordinates};

/// Bytes of a cell's special fields: its write time, its delete time and the index of the delete condition.
const SPECIAL_BYTES: u64 = 24;

/// A fragment that is being read from first cell to last.
#[derive(Debug)]
pub(super) struct MergeSource {
    pub(super) fragment: Arc<Fragment>,
    /// The stored fields to read: attributes that are in the latest schema, then coordinates, then special fields.
    stored: Vec<(MergedField, Arc<StoredField>)>,
    next_tile: u64,
    /// Cells of loaded tiles: attributes, dimensions, special fields.
    held: Vec<Column>,
    /// The number of held cells that have been merged already.
    merged: usize,
}

/// The target of a stored field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MergedField {
    /// The attribute with this index in the latest schema.
    Attribute(usize),
    Dimension(usize),
    /// All dimensions in one field.
    Coordinates,
    Timestamps,
    DeleteTimestamps,
    DeleteConditions,
}

/// The special fields of the merged fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Special {
    pub(super) timestamps: bool,
    pub(super) deletes: bool,
}

impl Special {
    pub(super) fn fields(self) -> Vec<FieldId> {
        let deletes = [FieldId::DeleteTimestamps, FieldId::DeleteConditions];
        let times = self.timestamps.then_some(FieldId::Timestamps);
        times
            .into_iter()
            .chain(deletes.into_iter().filter(|_| self.deletes))
            .collect()
    }
}

impl MergeSource {
    pub(super) fn new(fragment: &Arc<Fragment>, schema: &Schema) -> Self {
        let mut stored = Vec::new();
        for (i, a) in schema.attributes.iter().enumerate() {
            let own = StoredField::of_attribute(fragment, &a.name, a.datatype, a.cell);
            stored.extend(own.map(|f| (MergedField::Attribute(i), Arc::new(f))));
        }
        let mut add = |place, id| stored.extend(StoredField::new(fragment, id).map(|f| (place, Arc::new(f))));
        for id in fragment.coordinates() {
            add(
                if let FieldId::Dimension(d) = id {
                    MergedField::Dimension(d)
                } else {
                    MergedField::Coordinates
                },
                id,
            );
        }
        add(MergedField::Timestamps, FieldId::Timestamps);
        add(MergedField::DeleteTimestamps, FieldId::DeleteTimestamps);
        add(MergedField::DeleteConditions, FieldId::DeleteConditions);
        Self {
            fragment: Arc::clone(fragment),
            stored,
            next_tile: 0,
            held: Vec::new(),
            merged: 0,
        }
    }

    /// The bytes of each of its tiles in memory.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if the index is damaged.
    pub(super) fn tile_bytes(&self) -> Result<Vec<u64>> {
        // A damaged footer may claim any number of tiles; the index must have the last one.
        if let Some(last) = self.fragment.tiles.checked_sub(1) {
            for (_, field) in &self.stored {
                TileRef::new(field, last)?.extents()?;
            }
        }
        let of_tile = |tile| {
            let mut sum = 0_u64;
            let mut cells = 0;
            for (_, field) in &self.stored {
                let tile = TileRef::new(field, tile)?;
                sum = sum.saturating_add(tile.decoded_bytes());
                cells = tile.cells as u64;
            }
            Ok(sum.saturating_add(cells.saturating_mul(SPECIAL_BYTES)))
        };
        (0..self.fragment.tiles).map(of_tile).collect()
    }

    /// The index sections that it needs.
    pub(super) fn sections(&self) -> Vec<Section> {
        let ids: Vec<FieldId> = self.stored.iter().map(|(_, f)| f.id).collect();
        let mut sections = self.fragment.sections(&ids);
        sections.push(Section::Conditions);
        sections
    }

    /// The number of loaded cells that are not merged yet.
    pub(super) fn len(&self) -> usize {
        self.held.first().map_or(0, Column::len) - self.merged
    }

    /// Whether some tiles are not loaded yet.
    pub(super) fn has_more(&self) -> bool {
        self.next_tile < self.fragment.tiles
    }

    /// The next tiles to load, each with all of its fields: about `bytes` in memory in total, but at least one tile if
    /// any is left.
    pub(super) fn want(&mut self, bytes: u64) -> Result<Vec<Vec<TileRef>>> {
        let (mut out, mut sum) = (Vec::new(), 0_u64);
        while self.has_more() {
            let tile: Vec<TileRef> = self
                .stored
                .iter()
                .map(|(_, f)| TileRef::new(f, self.next_tile))
                .collect::<Result<_>>()?;
            sum = sum.saturating_add(
                tile.iter()
                    .map(TileRef::decoded_bytes)
                    .fold(TILE_BYTES, u64::saturating_add),
            );
            if sum > bytes && !out.is_empty() {
                break;
            }
            out.push(tile);
            self.next_tile += 1;
        }
        Ok(out)
    }

    /// Adds the decoded columns of tiles, in the order requested by [`MergeSource::want`].
    pub(super) fn accept(
        &mut self,
        tiles: Vec<Vec<Column>>,
        schema: &Schema,
        deletes: &Deletes,
        cpu: Cpu,
    ) -> Result<()> {
        let mut parts = Vec::with_capacity(1 + tiles.len());
        if self.len() > 0 {
            parts.push(self.take(self.len()));
        }
        for decoded in tiles {
            let cells = decoded.first().map_or(0, Column::len);
            let columns = self.arranged(decoded, cells, schema, deletes)?;
            if columns.iter().any(|c| c.len() != cells) {
                let why = "the fields of a tile differ in length".to_owned();
                return Err(inconsistent(&self.fragment.metadata_path(), why));
            }
            parts.push(columns);
        }
        (self.held, self.merged) = (join(parts, cpu)?, 0);
        Ok(())
    }

    /// Converts the columns for the merged fragment.
    fn arranged(&self, decoded: Vec<Column>, cells: usize, schema: &Schema, deletes: &Deletes) -> Result<Vec<Column>> {
        let dims = schema.dimensions.len();
        let mut attributes: Vec<Option<Column>> = vec![None; schema.attributes.len()];
        let mut coordinates: Vec<Option<Column>> = vec![None; dims];
        let (mut times, mut deleted, mut conditions) = (None, None, None);
        for ((place, _), column) in self.stored.iter().zip(decoded) {
            match place {
                MergedField::Attribute(i) => attributes[*i] = Some(column),
                MergedField::Dimension(d) => coordinates[*d] = Some(column),
                MergedField::Coordinates => {
                    let split = split_coordinates(&column, &self.fragment);
                    coordinates = split.into_iter().map(Some).collect();
                }
                MergedField::Timestamps => times = Some(column),
                MergedField::DeleteTimestamps => deleted = Some(column),
                MergedField::DeleteConditions => conditions = Some(column),
            }
        }
        let absent: Vec<bool> = attributes.iter().map(Option::is_none).collect();
        let mut out = Vec::with_capacity(attributes.len() + dims + 3);
        for (a, column) in schema.attributes.iter().zip(attributes) {
            let column = column.unwrap_or_else(|| filled(a, cells));
            // As in reads, cells of another type with the same size are reinterpreted.
            let column = Column {
                datatype: a.datatype,
                ..column
            };
            out.push(match (column.validity.is_some(), a.nullable) {
                (false, true) => column.with_validity(vec![1; cells]),
                (true, false) => Column {
                    validity: None,
                    ..column
                },
                _ => column,
            });
        }
        for (d, column) in schema.dimensions.iter().zip(coordinates) {
            let missing = || Error::invalid(format!("{}: no coordinates of '{}'", self.fragment.path, d.name));
            out.push(column.ok_or_else(missing)?);
        }
        let numbers = |c: Column| c.values::<u64>().map(|v| v.into_owned());
        let times = times.map_or_else(|| Ok(vec![self.fragment.start_ms; cells]), numbers)?;
        let deleted = deleted.map_or_else(|| Ok(vec![u64::MAX; cells]), numbers)?;
        let conditions = conditions.map_or_else(|| Ok(vec![u64::MAX; cells]), numbers)?;
        let own_names = self.fragment.index.conditions();
        let tile = TileDeletes {
            columns: &out,
            absent: &absent,
            times: &times,
            deleted,
            conditions: &conditions,
            names: own_names,
        };
        let (deleted, conditions) = deletes.apply(schema, tile);
        let special = |v: &[u64]| Column::from_values(Datatype::Uint64, v);
        out.extend([special(&times), special(&deleted), special(&conditions)]);
        Ok(out)
    }

    /// The coordinates of loaded cell `i`, as columns of one cell.
    fn place(&self, schema: &Schema, i: usize) -> Vec<Column> {
        let dims = self
            .held
            .iter()
            .skip(schema.attributes.len())
            .take(schema.dimensions.len());
        let i = self.merged + i;
        dims.map(|c| c.slice(i..i + 1)).collect()
    }

    /// The coordinates of the last loaded cell.
    pub(super) fn last(&self, schema: &Schema) -> Option<Vec<Column>> {
        self.len().checked_sub(1).map(|i| self.place(schema, i))
    }

    /// The number of loaded cells that sort before `bound`.
    pub(super) fn before(&self, schema: &Schema, order: &CellOrder, bound: &[Column]) -> Result<usize> {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if compare(order, &self.place(schema, middle), bound)?.is_lt() {
                low = middle + 1
            } else {
                high = middle
            }
        }
        Ok(low)
    }

    /// Takes the first `n` loaded cells. If many remain, they are not moved.
    pub(super) fn take(&mut self, n: usize) -> Vec<Column> {
        let left = self.len() - n;
        if self.merged > 0 || n < left {
            let part = self.merged..self.merged + n;
            let taken = self.held.iter().map(|c| c.slice(part.clone())).collect();
            self.merged += n;
            if left == 0 {
                (self.held, self.merged) = (Vec::new(), 0);
            }
            return taken;
        }
        let mut head = std::mem::take(&mut self.held);
        if left > 0 {
            self.held = head.iter_mut().map(|c| c.split_off(n)).collect();
        }
        head
    }
}

/// Concatenates the columns of all parts. All parts have the same columns.
pub(super) fn join(parts: Vec<Vec<Column>>, cpu: Cpu) -> Result<Vec<Column>> {
    let mut by_column: Vec<Vec<Column>> = Vec::new();
    for part in parts {
        by_column.resize_with(part.len(), Vec::new);
        by_column
            .iter_mut()
            .zip(part)
            .for_each(|(all, column)| all.push(column));
    }
    let joined = cpu.try_map_owned(by_column, |columns| Ok::<_, Error>(Column::joined(columns)))?;
    Ok(joined.into_iter().flatten().collect())
}

/// Compares two cells given as columns of one cell, one column per dimension.
pub(super) fn compare(order: &CellOrder, a: &[Column], b: &[Column]) -> Result<Ordering> {
    let (a, b): (Vec<&Column>, Vec<&Column>) = (a.iter().collect(), b.iter().collect());
    Ok(CellOrder::compare(&order.keys(&a)?, 0, &order.keys(&b)?, 0))
}

/// A column of the attribute's fill value.
fn filled(a: &Attribute, cells: usize) -> Column {
    let validity = a.nullable.then(|| vec![u8::from(a.fill_valid); cells]);
    let width = a.fill.len() as u64;
    let offsets = matches!(a.cell, CellCount::Var).then(|| (0..=cells as u64).map(|i| i * width).collect());
    Column {
        datatype: a.datatype,
        cell: a.cell,
        data: a.fill.repeat(cells),
        offsets,
        validity,
    }
}
