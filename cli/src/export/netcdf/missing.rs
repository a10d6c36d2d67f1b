//! The value that replaces nulls in a NetCDF file, which has none. No other cell has this value.

use anyhow::{Context as _, Result, ensure};
use hyperslab::schema::Attribute;
use hyperslab::{Column, Datatype, Query, Scalar};

use super::sources::Source;

/// The bytes of the value for the nulls of a numeric attribute.
///
/// # Errors
/// All values that were tried are values of cells.
pub(super) async fn value_for_null(source: &Source, attribute: &Attribute, name: &str) -> Result<Vec<u8>> {
    // A boolean is stored in a byte, which has room for a third value.
    if attribute.datatype == Datatype::Bool {
        return Ok(vec![u8::MAX]);
    }
    let mut free = candidates(attribute);
    if !source.job.is_empty() {
        let mut batches = source.job.array.batches(Query {
            fields: Some(vec![attribute.name.clone()]),
            ..source.job.query.clone()
        });
        while let Some(batch) = batches.next().await.with_context(|| source.cannot_read())? {
            for (_, column) in &batch.columns {
                free.retain(|value| !has(column, value));
            }
        }
    }
    ensure!(
        !free.is_empty(),
        "a NetCDF file cannot hold the nulls of '{name}', because its other cells have all the values that could stand \
         for null; leave it out with --attrs, or export to .parquet"
    );
    Ok(free.swap_remove(0))
}

/// The fill value, then the ends of the type's range.
fn candidates(attribute: &Attribute) -> Vec<Vec<u8>> {
    let datatype = attribute.datatype;
    let mut all = vec![attribute.fill.clone()];
    if datatype.is_float() {
        return all;
    }
    let bits = 8 * datatype.size() as u32;
    let powers = [0, 1, bits - 1, bits].map(|power| 1_i128 << power);
    let around = powers.iter().flat_map(|p| [-p, p - 1, -p + 1, p - 2]);
    let fits = around.filter_map(|v| Scalar::from_i128(datatype, v));
    all.extend(fits.map(|v| v.to_le_bytes()));
    all
}

/// Whether a cell that is not null has this value. NaN is no value to lose.
fn has(column: &Column, value: &[u8]) -> bool {
    let is_nan = Scalar::from_le_bytes(column.datatype.physical(), value)
        .and_then(|v| v.as_f64())
        .is_some_and(f64::is_nan);
    !is_nan && (0..column.len()).any(|i| !column.is_null(i) && column.cell(i) == value)
}
