//! The array that an import makes of a point cloud.

use anyhow::{Result, ensure};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Filter, Layout, Pipeline, Schema};
use hyperslab::{CellCount, Datatype, Scalar, ScalarRange};
use las::{Header, Transform};

use super::record::Field;
use super::{AXES, crs, pipeline, transforms};
use crate::{Length, NewArray, Plan};

/// Points of a tile, as PDAL sets it.
const CAPACITY: u64 = 100_000;
/// The levels of zstd in PDAL's profile `balanced`.
const LEVEL: i32 = 7;
const LEVEL_OF_FLAGS: i32 = 5;

/// The plan of the import.
pub(super) fn plan(header: &Header, fields: &[Field], domain: [[f64; 2]; 3], mut notes: Vec<String>) -> Result<Plan> {
    ensure!(header.number_of_points() > 0, "the file has no points");
    let axes = AXES.iter().zip(transforms(header)).zip(domain);
    let dimensions = axes.map(|((name, transform), ends)| dimension(name, &transform, ends));
    let attributes = fields.iter().map(|field| {
        let mut attribute = Attribute::new(&field.name, field.datatype, CellCount::ONE);
        attribute.filters = filters(field);
        attribute
    });
    let mut schema = Schema::new(
        ArrayType::Sparse,
        dimensions.collect::<Result<_>>()?,
        attributes.collect(),
    );
    schema.allows_duplicates = true;
    schema.capacity = CAPACITY;
    schema.cell_order = Layout::Hilbert;
    let crs = crs::read(header, &mut notes);
    let array = NewArray {
        path: String::new(),
        schema,
        enumerations: Vec::new(),
        metadata: pipeline::metadata(header, crs.as_deref()),
        length: Length::Rows(Some(header.number_of_points())),
    };
    Ok(Plan {
        notes,
        ..Plan::single(array)
    })
}

fn dimension(name: &str, transform: &Transform, [lo, hi]: [f64; 2]) -> Result<Dimension> {
    let Transform { scale, offset } = *transform;
    ensure!(
        scale.is_finite() && offset.is_finite() && scale > 0.0,
        "the coordinates along {name} have the scale {scale} and the offset {offset}; the header is damaged"
    );
    Ok(Dimension {
        name: name.to_owned(),
        datatype: Datatype::Float64,
        cell: CellCount::ONE,
        filters: Pipeline::new(vec![
            Filter::FloatScale {
                scale,
                offset,
                byte_width: 4,
            },
            Filter::Delta {
                level: 0,
                reinterpret: Some(Datatype::Int32),
            },
            Filter::Bitshuffle,
            Filter::Zstd { level: LEVEL },
        ]),
        domain: Some(ScalarRange {
            lo: Scalar::F64(lo),
            hi: Scalar::F64(hi),
        }),
        extent: None,
    })
}

/// The filters of PDAL's profile `balanced`.
fn filters(field: &Field) -> Pipeline {
    let delta = |reinterpret| Filter::Delta { level: 0, reinterpret };
    let width = Filter::BitWidthReduction { max_window: 256 };
    Pipeline::new(match field.name.as_str() {
        "GpsTime" => vec![delta(Some(Datatype::Int64)), width, Filter::Zstd { level: LEVEL }],
        "Red" | "Green" | "Blue" | "Infrared" => vec![delta(None), width, Filter::Zstd { level: LEVEL }],
        "Intensity" => vec![delta(None), Filter::Zstd { level: LEVEL_OF_FLAGS }],
        _ if field.datatype.size() > 2 => vec![Filter::Byteshuffle, Filter::Zstd { level: LEVEL_OF_FLAGS }],
        _ => vec![Filter::Zstd { level: LEVEL_OF_FLAGS }],
    })
}
