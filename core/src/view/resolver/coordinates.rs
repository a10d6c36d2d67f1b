//! Loads chunks of coordinates for the Zarr view.

use std::ops::Range;

use crate::array::Array;
use crate::error::Result;
use crate::format::schema::Attribute;
use crate::query::{Query, Region};
use crate::scalar::{Scalar, ScalarRange};
use crate::view::meaning::{Meaning, ShownCoordinates};
use crate::view::zarr;

/// The bytes of a chunk of a dimension's coordinates; `None` after the last chunk.
///
/// # Errors
/// Errors of reading the array of the coordinates.
pub(super) async fn chunk(array: &Array, meaning: &Meaning, dimension: usize, chunk: u64) -> Result<Option<Vec<u8>>> {
    let Some((cells, count)) = zarr::coordinate_cells(array.schema(), meaning, dimension, chunk) else {
        return Ok(None);
    };
    let Some(axis) = meaning.axes.get(dimension) else {
        return Ok(None);
    };
    let mut bytes = match &axis.coordinates {
        ShownCoordinates::Regular(regular) => axis.evenly(*regular, cells.clone()),
        ShownCoordinates::Array(other, attribute, _) => stored(other, attribute, cells.clone()).await?,
        ShownCoordinates::Dimension => {
            zarr::own_coordinates(array.schema(), dimension, cells.clone()).unwrap_or_default()
        }
    };
    // All chunks have the same size. Readers ignore what is after the end of the axis.
    let width = bytes.len() / usize::try_from(cells.end - cells.start).unwrap_or(usize::MAX).max(1);
    bytes.resize(width * usize::try_from(count).unwrap_or(0), 0);
    Ok(Some(bytes))
}

/// The values of an attribute of a one-dimensional array. Cells outside of its domain have the fill value.
async fn stored(array: &Array, attribute: &Attribute, cells: Range<u64>) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let missing = |count: u64| attribute.fill.repeat(usize::try_from(count).unwrap_or(0));
    let range = within(array, &cells);
    if let Some((range, count)) = range {
        let query = Query {
            region: Region::from_box(vec![range]),
            fields: Some(vec![attribute.name.clone()]),
            ..Query::default()
        };
        let mut batch = array.read(&query).await?;
        bytes = batch.columns.pop().map(|(_, column)| column.data).unwrap_or_default();
        bytes.extend(missing(cells.end - cells.start - count));
    } else {
        bytes.extend(missing(cells.end - cells.start));
    }
    Ok(bytes)
}

/// The coordinates of the cells that are in the array's domain, and their number.
fn within(array: &Array, cells: &Range<u64>) -> Option<(ScalarRange, u64)> {
    let schema = array.schema();
    let (dimension, limits) = (schema.dimensions.first()?, schema.limits(0)?);
    let (start, last) = (dimension.domain.as_ref()?.lo.as_i128()?, limits.hi.as_i128()?);
    let first = start + i128::from(cells.start);
    let end = (start + i128::from(cells.end)).min(last + 1);
    let count = u64::try_from(end - first).ok().filter(|n| *n > 0)?;
    let at = |v: i128| Scalar::from_i128(dimension.datatype, v);
    Some((
        ScalarRange {
            lo: at(first)?,
            hi: at(end - 1)?,
        },
        count,
    ))
}
