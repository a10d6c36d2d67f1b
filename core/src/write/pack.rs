//! One tile of one field: its statistics, its coordinates' bounds, its filtered bytes.

use std::borrow::Cow;
use std::ops::Range;

use super::field::{Field, Fields};
use super::stats::TileStats;
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Result};
use crate::filter;
use crate::format::fragment::slots::FieldId;
use crate::geometry::key;
use crate::scalar::{Scalar, ScalarRange};

/// The cells of one tile of one field, in the order they are stored.
#[derive(Debug, Clone)]
pub(crate) struct TileCells<'a> {
    /// Values, one cell after another.
    pub(crate) data: Cow<'a, [u8]>,
    /// Starts of variable-length cells and the end of the last, from 0.
    pub(crate) offsets: Option<Cow<'a, [u64]>>,
    /// One byte a cell.
    pub(crate) validity: Option<Cow<'a, [u8]>>,
}

impl TileCells<'_> {
    pub(crate) fn cell(&self, field: &Field, i: usize) -> &[u8] {
        match (&self.offsets, field.cell_bytes()) {
            (Some(o), _) => &self.data[o[i] as usize..o[i + 1] as usize],
            (None, Some(n)) => &self.data[i * n..(i + 1) * n],
            (None, None) => &[],
        }
    }

    pub(crate) fn is_null(&self, i: usize) -> bool {
        self.validity.as_ref().is_some_and(|v| v[i] == 0)
    }
}

/// A tile as it is stored.
#[derive(Debug)]
pub(crate) struct PackedTile {
    /// Framed values, or framed offsets where cells vary in length.
    pub(crate) fixed: Vec<u8>,
    /// Framed values of variable length, and how many bytes they were.
    pub(crate) var: Option<(Vec<u8>, u64)>,
    /// Framed validity.
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) stats: TileStats,
    /// The range of the coordinates, for dimensions.
    pub(crate) range: Option<ScalarRange>,
}

/// Packs one tile. `live` are the cells that are not padding, `capacity` how many there is
/// room for.
pub(crate) fn pack(
    fields: &Fields,
    field: &Field,
    cells: &TileCells<'_>,
    live: &[Range<usize>],
    capacity: u64,
) -> Result<PackedTile> {
    let stats = TileStats::of(field, cells, live, capacity);
    let range = matches!(field.id, FieldId::Dimension(_))
        .then(|| bounds(field, cells))
        .flatten();
    let named = || format!("field '{}'", field.name);
    let f = fields.format(field.datatype, field.cell);
    let (fixed, var) = match &cells.offsets {
        None => (
            filter::encode_tile(&cells.data, &field.filters, &f, &fields.nonces).at(&named())?,
            None,
        ),
        Some(offsets) => {
            let var = filter::encode_var_tile(&cells.data, offsets, &field.filters, &f, &fields.nonces).at(&named())?;
            let starts = if filter::codes_strings(&field.filters, &f) {
                // The strings' own coding holds their lengths: what is left is a tile of no chunks.
                0_u64.to_le_bytes().to_vec()
            } else {
                let starts: &[u8] = bytemuck::cast_slice(&offsets[..offsets.len() - 1]);
                let f = fields.format(Datatype::Uint64, CellCount::ONE);
                filter::encode_tile(starts, &fields.offsets_filters, &f, &fields.nonces).at(&named())?
            };
            (starts, Some((var, cells.data.len() as u64)))
        }
    };
    let validity = match &cells.validity {
        None => None,
        Some(v) => {
            let f = fields.format(Datatype::Uint8, CellCount::ONE);
            Some(filter::encode_tile(v, &fields.validity_filters, &f, &fields.nonces).at(&named())?)
        }
    };
    Ok(PackedTile {
        fixed,
        var,
        validity,
        stats,
        range,
    })
}

/// The smallest and the greatest coordinate of a tile; `None` if it has no cells.
fn bounds(field: &Field, cells: &TileCells<'_>) -> Option<ScalarRange> {
    if let Some(offsets) = &cells.offsets {
        let all = (0..offsets.len() - 1).map(|i| cells.cell(field, i));
        let (lo, hi) = all.fold(None, |e: Option<(&[u8], &[u8])>, c| {
            Some(e.map_or((c, c), |(lo, hi)| (lo.min(c), hi.max(c))))
        })?;
        return Some(ScalarRange {
            lo: Scalar::Bytes(lo.to_vec()),
            hi: Scalar::Bytes(hi.to_vec()),
        });
    }
    let physical = field.datatype.physical();
    let keys = key::keys(physical, &cells.data).ok()?;
    let (lo, hi) = (keys.iter().min()?, keys.iter().max()?);
    Some(ScalarRange {
        lo: key::scalar(physical, *lo),
        hi: key::scalar(physical, *hi),
    })
}
