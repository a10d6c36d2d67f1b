//! The cells of a result while they are being painted.

use std::sync::Arc;

use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::query::Batch;
use crate::query::field::Field;

/// Columns whose memory may be used again.
#[derive(Debug, Default)]
pub(crate) struct Spare(Vec<(String, Column)>);

impl Spare {
    /// The columns of an older result.
    pub(crate) fn of(batch: &mut Batch) -> Self {
        Self(std::mem::take(&mut batch.columns))
    }

    /// The column of this name; an empty one if there is none.
    pub(crate) fn take(&mut self, name: &str) -> Column {
        let found = self.0.iter().position(|(n, _)| n == name);
        found.map_or_else(
            || Column::empty(Datatype::Uint8, CellCount::ONE, false),
            |i| self.0.swap_remove(i).1,
        )
    }
}

/// The id of a cell that no tile holds.
const NO_CELL: u64 = u64::MAX;

/// The attributes of a result.
#[derive(Debug)]
pub(crate) struct Canvas {
    pub(crate) fields: Vec<FieldCanvas>,
}

/// One attribute of a result.
#[derive(Debug)]
pub(crate) struct FieldCanvas {
    pub(crate) field: Field,
    /// The values of fixed-size cells of the whole result; or, where cells vary in length, for each cell
    /// of the box at hand a `u64` that says which cell of which tile it is.
    pub(crate) cells: Vec<u8>,
    /// Of the whole result, if the attribute is nullable.
    pub(crate) validity: Option<Vec<u8>>,
    /// Tiles of variable-length cells of the box at hand.
    pub(crate) tiles: Vec<Arc<Column>>,
    /// Variable-length cells of the boxes that are done.
    done: Option<(Vec<u8>, Vec<u64>)>,
}

impl Canvas {
    /// Room for `cells` cells, where possible in the memory of `spare`, the columns of an older result.
    /// What it holds until it is painted is not said.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there is not that much memory.
    pub(crate) fn new(fields: &[Field], cells: usize, spare: &mut Spare) -> Result<Self> {
        let fields = fields
            .iter()
            .map(|f| FieldCanvas::new(f, cells, spare.take(&f.name)))
            .collect::<Result<_>>()?;
        Ok(Self { fields })
    }

    /// Makes room for the ids of a box of `cells` cells.
    ///
    /// # Errors
    /// [`Error::LimitExceeded`] if there is not that much memory.
    pub(crate) fn start_box(&mut self, cells: usize) -> Result<()> {
        for f in self.fields.iter_mut().filter(|f| f.field.cell.is_var()) {
            f.cells = zeroed(cells, 8)?;
            f.tiles.clear();
        }
        Ok(())
    }

    /// Turns the ids of the box into its variable-length cells.
    pub(crate) fn finish_box(&mut self) {
        for f in &mut self.fields {
            if let Some((data, offsets)) = &mut f.done {
                gather(&f.cells, &f.tiles, &f.field.fill, data, offsets);
                f.cells = Vec::new();
                f.tiles.clear();
            }
        }
    }

    /// The columns of the result.
    pub(crate) fn into_columns(self) -> Vec<Column> {
        let column = |f: FieldCanvas| {
            let (data, offsets) = match f.done {
                Some((data, offsets)) => (data, Some(offsets)),
                None => (f.cells, None),
            };
            Column {
                datatype: f.field.datatype,
                cell: f.field.cell,
                data,
                offsets,
                validity: f.validity,
            }
        };
        self.fields.into_iter().map(column).collect()
    }
}

impl FieldCanvas {
    fn new(field: &Field, cells: usize, spare: Column) -> Result<Self> {
        let data = field.width().map(|w| room(spare.data, cells, w)).transpose()?;
        let validity = match field.nullable {
            true => Some(room(spare.validity.unwrap_or_default(), cells, 1)?),
            false => None,
        };
        let done = match data {
            Some(_) => None,
            None => {
                let mut offsets = reserved(cells.saturating_add(1), 1)?;
                offsets.push(0);
                Some((Vec::new(), offsets))
            }
        };
        Ok(Self {
            field: field.clone(),
            cells: data.unwrap_or_default(),
            validity,
            tiles: Vec::new(),
            done,
        })
    }

    /// Bytes of a cell in `cells`.
    pub(crate) fn width(&self) -> usize {
        self.field.width().unwrap_or(8)
    }

    /// What `cells` holds where nothing was written.
    pub(crate) fn fill(&self) -> Vec<u8> {
        if self.field.cell.is_var() {
            NO_CELL.to_le_bytes().to_vec()
        } else {
            self.field.fill.clone()
        }
    }

    /// The ids of the cells of a tile start here.
    pub(crate) const fn id_base(tile: usize) -> u64 {
        (tile as u64) << 32
    }

    /// Puts cell `i` of `column`, which is tile number `tile` if cells vary in length, at place `to`.
    pub(crate) fn put_cell(&mut self, base: usize, to: usize, column: &Column, i: usize, tile: usize) {
        if self.field.cell.is_var() {
            let id = (Self::id_base(tile) + i as u64).to_le_bytes();
            if let Some(out) = self.cells.get_mut(to * 8..to * 8 + 8) {
                out.copy_from_slice(&id);
            }
        } else {
            let width = self.width();
            let start = (base + to) * width;
            let cell = column.cell(i);
            if let Some(out) = self
                .cells
                .get_mut(start..start + width)
                .filter(|out| out.len() == cell.len())
            {
                out.copy_from_slice(cell);
            }
        }
        if let Some(out) = self.validity.as_mut().and_then(|v| v.get_mut(base + to)) {
            *out = u8::from(!column.is_null(i));
        }
    }
}

/// `cells` cells, in the memory of `spare` if that is large enough.
fn room(mut spare: Vec<u8>, cells: usize, width: usize) -> Result<Vec<u8>> {
    match cells.checked_mul(width) {
        Some(bytes) if bytes <= spare.capacity() => {
            spare.resize(bytes, 0);
            Ok(spare)
        }
        _ => zeroed(cells, width),
    }
}

/// `cells` zeroed cells, without touching their memory yet.
fn zeroed(cells: usize, width: usize) -> Result<Vec<u8>> {
    reserved::<u8>(cells, width)?;
    Ok(vec![0; cells * width])
}

/// Nothing yet, with room for `cells` cells of `width` values.
///
/// # Errors
/// [`Error::LimitExceeded`] if there is not that much memory.
pub(crate) fn reserved<T>(cells: usize, width: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let values = cells.checked_mul(width);
    let fits = values.is_some_and(|n| room.try_reserve_exact(n).is_ok());
    fits.then_some(room).ok_or_else(|| Error::LimitExceeded {
        what: "bytes of a result (select fewer cells, or read in batches)".into(),
        found: (cells as u64).saturating_mul((width * size_of::<T>()) as u64),
        limit: isize::MAX as u64,
    })
}

/// Appends the cells that `ids` name.
fn gather(ids: &[u8], tiles: &[Arc<Column>], fill: &[u8], data: &mut Vec<u8>, offsets: &mut Vec<u64>) {
    let ids = ids.as_chunks::<8>().0;
    let mut end = data.len() as u64;
    offsets.reserve(ids.len());
    for id in ids {
        end += cell(tiles, u64::from_le_bytes(*id)).unwrap_or(fill).len() as u64;
        offsets.push(end);
    }
    let bytes = usize::try_from(end).unwrap_or(usize::MAX);
    data.reserve(bytes.saturating_sub(data.len()));
    let mut i = 0;
    while let Some(id) = ids.get(i) {
        let id = u64::from_le_bytes(*id);
        let Some(tile) = usize::try_from(id >> 32).ok().and_then(|t| tiles.get(t)) else {
            data.extend_from_slice(fill);
            i += 1;
            continue;
        };
        // Cells that follow each other in the tile are copied in one go.
        let mut n = 1;
        while ids
            .get(i + n)
            .is_some_and(|next| u64::from_le_bytes(*next) == id + n as u64)
        {
            n += 1;
        }
        let start = (id & u64::from(u32::MAX)) as usize;
        data.extend_from_slice(cells(tile, start, n));
        i += n;
    }
}

fn cell(tiles: &[Arc<Column>], id: u64) -> Option<&[u8]> {
    let tile = tiles.get(usize::try_from(id >> 32).ok()?)?;
    Some(tile.cell((id & u64::from(u32::MAX)) as usize))
}

/// The bytes of `n` cells from `start` on.
fn cells(tile: &Column, start: usize, n: usize) -> &[u8] {
    let offsets = tile.offsets.as_deref().unwrap_or(&[]);
    match (offsets.get(start), offsets.get(start + n)) {
        (Some(&a), Some(&b)) => tile.data.get(a as usize..b as usize).unwrap_or(&[]),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_cells_and_runs_of_them() {
        let tile = |cells: &[&str]| Arc::new(Column::from_cells(Datatype::StringAscii, cells));
        let tiles = [tile(&["a", "bb", ""]), tile(&["ccc", "d"])];
        let id = |t: usize, c: u64| FieldCanvas::id_base(t) + c;
        let ids = [id(0, 0), id(0, 1), id(1, 1), NO_CELL, id(0, 2), id(1, 0)];
        let bytes: Vec<u8> = ids.iter().flat_map(|i| i.to_le_bytes()).collect();
        let (mut data, mut offsets) = (b"x".to_vec(), vec![0, 1]);
        gather(&bytes, &tiles, b"?", &mut data, &mut offsets);
        assert_eq!(data, b"xabbd?ccc");
        assert_eq!(offsets, [0, 1, 2, 4, 5, 6, 6, 9]);
    }
}
