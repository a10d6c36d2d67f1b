//! The schemas and metadata of SOMA, encoding 1.1.0.

use hyperslab::metadata::{Entry, MetaValue};
use hyperslab::schema::{ArrayType, Attribute, CurrentDomain, DEFAULT_LEVEL, Dimension, Filter, Pipeline, Schema};
use hyperslab::{Datatype, Scalar, ScalarRange};

/// The key of the row numbers of tables.
pub(super) const JOINID: &str = "soma_joinid";
/// The values of matrices.
pub(super) const DATA: &str = "soma_data";
/// The dimensions of matrices.
pub(super) const AXES: [&str; 2] = ["soma_dim_0", "soma_dim_1"];
const ENCODING: &str = "1.1.0";
/// Cells of a tile.
const CAPACITY: u64 = 100_000;
const LEVEL: i32 = 3;

pub(super) fn text(key: &str, value: &str) -> Entry {
    Entry {
        key: key.to_owned(),
        value: Some(MetaValue::text(value)),
    }
}

/// What says that an object belongs to SOMA.
pub(super) fn metadata(kind: &str) -> Vec<Entry> {
    vec![text("soma_object_type", kind), text("soma_encoding_version", ENCODING)]
}

/// A sparse array over dimensions of these lengths, whose domain leaves room.
pub(super) fn schema(dimensions: &[(&str, u64, u64)], attributes: Vec<Attribute>) -> Schema {
    let new = dimensions
        .iter()
        .map(|(name, _, tile)| dimension(name, *tile))
        .collect();
    let mut schema = Schema::new(ArrayType::Sparse, new, attributes);
    schema.capacity = CAPACITY;
    schema.current_domain = Some(CurrentDomain {
        ranges: dimensions.iter().map(|(_, length, _)| range(*length)).collect(),
    });
    schema
}

/// A dimension whose domain leaves room.
pub(super) fn dimension(name: &str, tile: u64) -> Dimension {
    let tile = i64::try_from(tile).unwrap_or(i64::MAX / 2).max(1);
    let mut dimension = Dimension::new(name, Datatype::Int64, 0_i64, i64::MAX - 1 - tile, tile);
    dimension.filters = Pipeline::new(vec![Filter::Zstd { level: LEVEL }]);
    dimension
}

/// The coordinates of this many cells.
pub(super) fn range(length: u64) -> ScalarRange {
    ScalarRange {
        lo: Scalar::I64(0),
        hi: Scalar::I64(i64::try_from(length.saturating_sub(1)).unwrap_or(i64::MAX)),
    }
}

/// The filters of attributes.
pub(super) fn filters() -> Pipeline {
    Pipeline::new(vec![Filter::Zstd { level: DEFAULT_LEVEL }])
}
