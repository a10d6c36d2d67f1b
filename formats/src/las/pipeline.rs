//! The metadata `_pdal`: the stages of a pipeline of PDAL as JSON. An import states those that PDAL would have had.

use hyperslab::Datatype;
use hyperslab::metadata::{Entry, MetaValue};
use las::{GpsTimeType, Header};
use serde_json::{Value, json};

use super::transforms;
use crate::meta::{entry, text};

/// The metadata of an array of points.
pub(super) fn metadata(header: &Header, crs: Option<&str>) -> Vec<Entry> {
    let [x, y, z] = transforms(header);
    let version = header.version();
    let format = *header.point_format();
    let reader = json!({
        "major_version": version.major,
        "minor_version": version.minor,
        "dataformat_id": format.to_u8().map_or(0, |id| id & 0x3f),
        "scale_x": x.scale, "scale_y": y.scale, "scale_z": z.scale,
        "offset_x": x.offset, "offset_y": y.offset, "offset_z": z.offset,
        "filesource_id": header.file_source_id(),
        "gps_standard_time": header.gps_time_type() == GpsTimeType::Standard,
        "system_id": header.system_identifier(),
        "software_id": header.generating_software(),
    });
    let pipeline = json!({"root": {
        "readers.las": reader,
        "writers.tiledb": {"spatialreference": crs.unwrap_or("")},
    }});
    let mut bytes = pipeline.to_string().into_bytes();
    bytes.push(0);
    vec![
        text("dataset_type", "pointcloud"),
        entry("_pdal", MetaValue::bytes(Datatype::Uint8, &bytes)),
    ]
}

/// What the metadata says about the file that an array came from.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Stated {
    pub(super) crs: Option<String>,
    pub(super) format: Option<u8>,
    /// Scale and offset of each axis.
    pub(super) transforms: [Option<[f64; 2]>; 3],
    pub(super) standard_time: bool,
    pub(super) source: u16,
    pub(super) system: String,
}

impl Stated {
    /// Reads `_pdal`. What makes no sense counts as unknown.
    pub(super) fn read(json: &str) -> Self {
        let Ok(found) = serde_json::from_str::<Value>(json) else {
            return Self::default();
        };
        let root = found.get("root");
        let at = |stage: &str, key: &str| root?.get(stage)?.get(key);
        let las = |key: &str| at("readers.las", key);
        let number = |key: &str| las(key).and_then(Value::as_f64).filter(|v| v.is_finite());
        let transform = |axis: &str| {
            let scale = number(&format!("scale_{axis}")).filter(|s| *s > 0.0)?;
            Some([scale, number(&format!("offset_{axis}"))?])
        };
        let small = |key: &str| las(key).and_then(Value::as_u64);
        let crs = at("writers.tiledb", "spatialreference").and_then(Value::as_str);
        Self {
            crs: crs.filter(|text| !text.is_empty()).map(str::to_owned),
            format: small("dataformat_id").and_then(|id| u8::try_from(id).ok()),
            transforms: ["x", "y", "z"].map(transform),
            standard_time: las("gps_standard_time").and_then(Value::as_bool).unwrap_or(false),
            source: small("filesource_id")
                .and_then(|id| u16::try_from(id).ok())
                .unwrap_or(0),
            system: las("system_id").and_then(Value::as_str).unwrap_or("").to_owned(),
        }
    }
}
