//! The schemas of the benchmarked arrays.

use anyhow::{Result, bail};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Pipeline, Schema};
use hyperslab::{CellCount, Datatype};

use super::data::{DenseQueries, SparseQueries};

/// The extent of a sparse tile along each dimension.
const EXTENT: i64 = 10_000;

/// The filters of a codec, by its name.
pub(super) fn filters(codec: &str) -> Result<Vec<Filter>> {
    Ok(match codec {
        "none" => Vec::new(),
        "gzip6" => vec![Filter::Gzip { level: 6 }],
        "zstd3" => vec![Filter::Zstd { level: 3 }],
        "bszstd3" => vec![Filter::Bitshuffle, Filter::Zstd { level: 3 }],
        other => bail!("no codec '{other}'"),
    })
}

/// The dense matrix, with one integer per cell.
pub(super) fn dense(q: &DenseQueries, codec: &str) -> Result<Schema> {
    let dimension = |name, i: usize| Dimension::new(name, Datatype::Int64, 0_i64, q.shape[i] - 1, q.tile[i]);
    let mut v = Attribute::new("v", Datatype::Int32, CellCount::ONE);
    v.filters = Pipeline::new(filters(codec)?);
    Ok(Schema::new(
        ArrayType::Dense,
        vec![dimension("row", 0), dimension("col", 1)],
        vec![v],
    ))
}

/// Matrices of integers, one per name, in tiles of a hundred whole rows.
pub(super) fn many_tiles(rows: i64, columns: i64, names: &[String]) -> Result<Schema> {
    let dimension = |n: i64, tile: i64, name| Dimension::new(name, Datatype::Int64, 0_i64, n - 1, tile);
    let filters = Pipeline::new(filters("zstd3")?);
    let attribute = |name: &String| Attribute {
        filters: filters.clone(),
        ..Attribute::new(name, Datatype::Int32, CellCount::ONE)
    };
    let dimensions = vec![dimension(rows, 100, "row"), dimension(columns, columns, "col")];
    Ok(Schema::new(
        ArrayType::Dense,
        dimensions,
        names.iter().map(attribute).collect(),
    ))
}

/// The positions of ships: two dimensions, then attributes.
pub(super) fn sparse(q: &SparseQueries, codec: &str, duplicates: bool) -> Result<Schema> {
    let mut filters = filters(codec)?;
    if filters.is_empty() {
        // An empty pipeline would mean the filters of all coordinates.
        filters.push(Filter::None);
    }
    let dimension = |name: &String, i: usize| Dimension {
        filters: Pipeline::new(filters.clone()),
        ..Dimension::new(name, Datatype::Int64, q.domain[2 * i], q.domain[2 * i + 1], EXTENT)
    };
    let attribute = |name: &String| Attribute {
        filters: Pipeline::new(filters.clone()),
        ..Attribute::new(name, Datatype::Int64, CellCount::ONE)
    };
    let (dimensions, attributes) = q.columns.split_at(2);
    let mut schema = Schema::new(
        ArrayType::Sparse,
        dimensions.iter().enumerate().map(|(i, n)| dimension(n, i)).collect(),
        attributes.iter().map(attribute).collect(),
    );
    schema.allows_duplicates = duplicates;
    Ok(schema)
}

/// The sort key of a cell in global order: its tile, then its position in the tile.
pub(super) fn global_key(x: i64, y: i64) -> (i64, i64, i64, i64) {
    (x / EXTENT, y / EXTENT, x, y)
}
