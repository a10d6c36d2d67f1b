//! Coordinates as float scale stores them.
//!
//! Bounding boxes describe coordinates before filtering. Float scale preserves the order of values, so the stored low
//! end of a box is a lower bound of the stored coordinates.

use crate::column::Column;
use crate::error::{AtPath, Result};
use crate::filter::{TileFormat, rounded};
use crate::format::pipeline::Pipeline;

/// Rounds numbers as these filters do.
///
/// # Errors
/// The filters do not accept the column's type.
pub(super) fn as_stored(column: Column, filters: &Pipeline) -> Result<Column> {
    if column.cell.is_var() {
        return Ok(column);
    }
    let format = TileFormat::new(column.datatype, column.cell);
    let data = rounded(column.data, filters, &format).at("bounding boxes")?;
    Ok(Column { data, ..column })
}
