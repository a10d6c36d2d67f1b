//! The cells of a result while they are assembled.

use std::sync::Arc;

use super::var_cells::VarCells;
use crate::column::Column;
use crate::cpu::Cpu;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::query::Batch;

/// Columns whose memory can be reused.
#[derive(Debug, Default)]
pub(crate) struct RecycledColumns(Vec<(String, Column)>);

impl RecycledColumns {
    /// Takes the columns of an older result.
    pub(crate) fn of(batch: &mut Batch) -> Self {
        Self(std::mem::take(&mut batch.columns))
    }

    /// Creates a column of `field` without cells, in the memory of the column with its name.
    pub(crate) fn empty(&mut self, field: &Field) -> Column {
        let mut old = self.take(&field.name);
        old.data.clear();
        let mut validity = old.validity.unwrap_or_default();
        validity.clear();
        let mut offsets = old.offsets.unwrap_or_default();
        offsets.clear();
        offsets.push(0);
        Column {
            datatype: field.datatype,
            cell: field.cell,
            data: old.data,
            offsets: field.cell.is_var().then_some(offsets),
            validity: field.nullable.then_some(validity),
        }
    }

    /// Takes the column with this name; an empty column if it is missing.
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
pub(crate) struct ResultBuffers {
    pub(crate) fields: Vec<FieldBuffers>,
}

/// One attribute of a result.
#[derive(Debug)]
pub(crate) struct FieldBuffers {
    pub(crate) field: Field,
    /// The values of fixed-size cells of the whole result. If cells vary in length, a `u64` id for each cell of the
    /// current box, which names the tile and the cell in it.
    pub(crate) cells: Vec<u8>,
    /// Validity of the whole result, if the attribute is nullable.
    pub(crate) validity: Option<Vec<u8>>,
    /// Tiles of variable-length cells of the current box.
    pub(crate) tiles: Vec<Arc<Column>>,
    /// Variable-length cells of the finished boxes.
    done: Option<VarCells>,
}

impl ResultBuffers {
    /// Allocates `cells` cells, in the memory of `spare` if possible. Their content is unspecified until they are
    /// assembled.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(crate) fn new(fields: &[Field], cells: usize, spare: &mut RecycledColumns) -> Result<Self> {
        let fields = fields
            .iter()
            .map(|f| FieldBuffers::new(f, cells, spare.take(&f.name)))
            .collect::<Result<_>>()?;
        Ok(Self { fields })
    }

    /// Allocates the ids of a box of `cells` cells.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(crate) fn start_box(&mut self, cells: usize) -> Result<()> {
        for f in self.fields.iter_mut().filter(|f| f.field.cell.is_var()) {
            f.cells = zeroed(cells, 8)?;
            f.tiles.clear();
        }
        Ok(())
    }

    /// Turns the ids of the box into variable-length cells.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(crate) fn finish_box(&mut self, cpu: Cpu) -> Result<()> {
        for f in &mut self.fields {
            if let Some(done) = &mut f.done {
                done.append(&f.cells, &f.tiles, &f.field.fill, cpu)?;
                f.cells = Vec::new();
                f.tiles.clear();
            }
        }
        Ok(())
    }

    /// The columns of the result.
    pub(crate) fn into_columns(self) -> Vec<Column> {
        let column = |f: FieldBuffers| {
            let (data, offsets) = match f.done {
                Some(done) => {
                    let (data, offsets) = done.into_parts();
                    (data, Some(offsets))
                }
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

impl FieldBuffers {
    fn new(field: &Field, cells: usize, spare: Column) -> Result<Self> {
        let validity = match field.nullable {
            true => Some(room(spare.validity.unwrap_or_default(), cells, 1)?),
            false => None,
        };
        let (cells, done) = match field.cell_bytes() {
            Some(width) => (room(spare.data, cells, width)?, None),
            None => {
                let done = VarCells::new(cells, spare.data, spare.offsets.unwrap_or_default())?;
                (Vec::new(), Some(done))
            }
        };
        Ok(Self {
            field: field.clone(),
            cells,
            validity,
            tiles: Vec::new(),
            done,
        })
    }

    /// Size of a cell in `cells`, in bytes.
    pub(crate) fn width(&self) -> usize {
        self.field.cell_bytes().unwrap_or(8)
    }

    /// The content of `cells` for cells that were never written.
    pub(crate) fn fill(&self) -> Vec<u8> {
        if self.field.cell.is_var() {
            NO_CELL.to_le_bytes().to_vec()
        } else {
            self.field.fill.clone()
        }
    }

    /// The id of the first cell of a tile.
    pub(crate) const fn id_base(tile: usize) -> u64 {
        (tile as u64) << 32
    }

    /// Writes cell `i` of `column` to position `to`. If cells vary in length, `column` is tile number `tile`.
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

/// `cells` cells of `width` values, in the memory of `spare` if that is large enough.
pub(super) fn room<T: Copy + Default>(mut spare: Vec<T>, cells: usize, width: usize) -> Result<Vec<T>> {
    match cells.checked_mul(width) {
        Some(values) if values <= spare.capacity() => {
            spare.resize(values, T::default());
            Ok(spare)
        }
        _ => {
            drop(spare);
            zeroed(cells, width)
        }
    }
}

/// `cells` zeroed cells of `width` values. Their memory is not touched yet.
fn zeroed<T: Copy + Default>(cells: usize, width: usize) -> Result<Vec<T>> {
    reserved::<T>(cells, width)?;
    Ok(vec![T::default(); cells * width])
}

/// An empty vector with capacity for `cells` cells of `width` values.
///
/// # Errors
/// [`Error::NoMemory`].
pub(crate) fn reserved<T>(cells: usize, width: usize) -> Result<Vec<T>> {
    let mut room = Vec::new();
    let values = cells.checked_mul(width);
    let fits = values.is_some_and(|n| room.try_reserve_exact(n).is_ok());
    fits.then_some(room).ok_or_else(|| Error::NoMemory {
        what: "a result".into(),
        bytes: (cells as u64).saturating_mul((width * size_of::<T>()) as u64),
    })
}
