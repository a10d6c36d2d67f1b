//! Coordinates as float scale stores them.
//!
//! Bounding boxes describe coordinates before filtering. Float scale preserves the order of values, so the stored low
//! end of a box is a lower bound of the stored coordinates.

use crate::column::Column;
use crate::error::{AtPath, Result};
use crate::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use crate::format::pipeline::{Filter, Pipeline};

/// Rounds numbers as these filters do.
///
/// # Errors
/// The filters do not accept the column's type.
pub(super) fn as_stored(column: Column, filters: &Pipeline) -> Result<Column> {
    let scales = filters
        .filters
        .iter()
        .filter(|f| matches!(f, Filter::FloatScale { .. }));
    let scales = Pipeline::new(scales.cloned().collect());
    if scales.is_empty() || column.cell.is_var() {
        return Ok(column);
    }
    let format = TileFormat::new(column.datatype, column.cell);
    let rounded = encode_tile(&column.data, &scales, &format, &Nonces::none())
        .and_then(|tile| decode_tile(&tile, &scales, &format, column.data.len() as u64));
    let data = rounded.at("bounding boxes")?;
    Ok(Column { data, ..column })
}
