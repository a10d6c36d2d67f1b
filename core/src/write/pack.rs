//! Packs one tile of one field: computes its statistics and coordinate bounds, and filters its bytes.

use std::ops::Range;

use bytes::Bytes;

use super::cells::TileCells;
use super::field::{Fields, WrittenField};
use super::stats::{StatsBuilder, TileStats};
use crate::datatype::{CellCount, Datatype};
use crate::error::{AtPath, Result};
use crate::filter::{self, TileEncoder};
use crate::format::field::Field;
use crate::key;
use crate::scalar::{Scalar, ScalarRange};

/// A tile in its stored form.
#[derive(Debug, Clone)]
pub(crate) struct PackedTile {
    /// Framed values, or framed offsets for variable-length cells.
    pub(crate) fixed: Bytes,
    /// Framed variable-length values, and their unfiltered size in bytes.
    pub(crate) var: Option<(Bytes, u64)>,
    /// Framed validity.
    pub(crate) validity: Option<Bytes>,
    pub(crate) stats: TileStats,
    /// The range of the coordinates. Only for dimensions.
    pub(crate) range: Option<ScalarRange>,
}

/// Packs one tile. `live` are the cells that are not padding; `capacity` is the number of cells the tile has room for.
pub(crate) fn pack(
    fields: &Fields,
    written: &WrittenField,
    cells: &TileCells<'_>,
    live: &[Range<usize>],
    capacity: u64,
) -> Result<PackedTile> {
    let WrittenField { field, filters, .. } = written;
    let mut tally = StatsBuilder::new(field, cells.validity.as_deref(), live);
    let range = field.is_dimension().then(|| bounds(field, cells)).flatten();
    let named = || format!("field '{}'", field.name);
    let f = fields.format_of(written);
    let (fixed, var) = match &cells.offsets {
        None => {
            // One pass over each chunk, while its gathered cells are still in the CPU cache.
            let mut encode = || {
                let mut tile = TileEncoder::new(filters, &f, &fields.nonces, cells.values.bytes(), |n| {
                    fields.spare.take(n)
                })?;
                cells.values.chunks(tile.chunk_bytes(), |chunk| {
                    tally.add(chunk);
                    tile.push(chunk)
                })?;
                Ok(tile.finish())
            };
            (fields.spare.lend(encode().at(&named())?), None)
        }
        Some(offsets) => {
            let data = cells.values.whole();
            tally.add_var(&data, offsets);
            let var = filter::encode_var_tile(&data, offsets, filters, &f, &fields.nonces).at(&named())?;
            let starts = if filter::codes_strings(filters, &f) {
                // The string filter stores the lengths with the strings, so the offsets tile has no chunks.
                0_u64.to_le_bytes().to_vec()
            } else {
                let starts: &[u8] = bytemuck::cast_slice(&offsets[..offsets.len() - 1]);
                let f = fields.format(Datatype::Uint64, CellCount::ONE);
                filter::encode_tile(starts, &fields.offsets_filters, &f, &fields.nonces).at(&named())?
            };
            (Bytes::from(starts), Some((Bytes::from(var), data.len() as u64)))
        }
    };
    let validity = match &cells.validity {
        None => None,
        Some(v) => {
            let f = fields.format(Datatype::Uint8, CellCount::ONE);
            let tile = filter::encode_tile(v, &fields.validity_filters, &f, &fields.nonces).at(&named())?;
            Some(Bytes::from(tile))
        }
    };
    Ok(PackedTile {
        fixed,
        var,
        validity,
        stats: tally.finish(capacity),
        range,
    })
}

/// The smallest and greatest coordinate of a tile, or `None` if it has no cells.
fn bounds(field: &Field, cells: &TileCells<'_>) -> Option<ScalarRange> {
    let data = cells.values.whole();
    if let Some(offsets) = &cells.offsets {
        let all = offsets.windows(2).map(|o| &data[o[0] as usize..o[1] as usize]);
        let (lo, hi) = all.fold(None, |e: Option<(&[u8], &[u8])>, c| {
            Some(e.map_or((c, c), |(lo, hi)| (lo.min(c), hi.max(c))))
        })?;
        return Some(ScalarRange {
            lo: Scalar::Bytes(lo.to_vec()),
            hi: Scalar::Bytes(hi.to_vec()),
        });
    }
    let physical = field.datatype.physical();
    let keys = key::keys(physical, &data).ok()?;
    let (lo, hi) = (keys.iter().min()?, keys.iter().max()?);
    Some(ScalarRange {
        lo: key::scalar(physical, *lo),
        hi: key::scalar(physical, *hi),
    })
}
