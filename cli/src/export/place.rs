//! Where the pixels of an array with the CF conventions lie, in the XML that GDAL writes for rasters.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Result;
use hyperslab::internals::xml::escape;
use hyperslab::metadata::MetaValue;
use hyperslab::{AxisValues, Window, vfs};

use super::job::Job;
use super::netcdf::{parent, text};
use crate::store::Env;

/// How far a coordinate may be from an even spacing, in steps. Coordinates of 32 bits are rounded.
const UNEVEN_MAX: f64 = 1e-3;

/// The metadata of an array.
type Metadata = BTreeMap<String, MetaValue>;

/// The XML, if the coordinates along the last two axes are evenly spaced.
pub(super) async fn xml(
    env: &Env,
    job: &Job,
    attribute: &str,
    metadata: &Metadata,
    bands: u64,
) -> Result<Option<String>> {
    let Some(first) = job.array.schema().dimensions.len().checked_sub(2) else {
        return Ok(None);
    };
    let mut ends = Vec::new();
    for d in [first + 1, first] {
        let low = job
            .array
            .schema()
            .dimensions
            .get(d)
            .and_then(|d| d.domain.as_ref()?.lo.as_i128());
        let values = job.array.axis_values(d).await.ok().flatten();
        let values = values.filter(|values| Some(values.first) == low);
        let Some([start, step]) = values.and_then(|values| spacing(&values)) else {
            return Ok(None);
        };
        ends.push([start - step / 2.0, step]);
    }
    let [[x, across], [y, down]] = ends.as_slice() else {
        return Ok(None);
    };
    let mut xml = "<PAMDataset>\n".to_owned();
    if let Some(crs) = system(env, job, attribute, metadata).await {
        let _ = writeln!(xml, "<SRS>{}</SRS>", escape(&crs));
    }
    let _ = writeln!(
        xml,
        "<GeoTransform>{x:e}, {across:e}, 0, {y:e}, 0, {down:e}</GeoTransform>"
    );
    let of = |key: &str| metadata.get(&format!("__tiledb_attr.{attribute}.{key}"));
    let fields = [
        ("UnitType", "units"),
        ("Offset", "add_offset"),
        ("Scale", "scale_factor"),
        ("Description", "long_name"),
    ];
    let fields = fields
        .iter()
        .filter_map(|(element, key)| Some((element, shown(of(key)?)?)));
    let fields: String = fields
        .map(|(element, value)| format!("<{element}>{}</{element}>", escape(&value)))
        .collect();
    for band in 1..=bands.min(u16::MAX.into()) {
        let _ = writeln!(xml, "<PAMRasterBand band=\"{band}\">{fields}</PAMRasterBand>");
    }
    Ok(Some(xml + "</PAMDataset>\n"))
}

/// The first value and the step of evenly spaced values.
fn spacing(axis: &AxisValues) -> Option<[f64; 2]> {
    if axis.values.datatype.is_temporal() {
        return None;
    }
    let count = axis.values.len();
    let number = |i: usize| axis.at(i)?.as_f64().filter(|v| v.is_finite());
    let start = number(0)?;
    let step = (number(count.checked_sub(1).filter(|last| *last > 0)?)? - start) / (count - 1) as f64;
    let even = |i: usize| number(i).is_some_and(|v| (v - start - i as f64 * step).abs() <= UNEVEN_MAX * step.abs());
    (step != 0.0 && (0..count).all(even)).then_some([start, step])
}

/// WKT or an EPSG code: that of the grid mapping, or that of longitudes and latitudes in degrees.
async fn system(env: &Env, job: &Job, attribute: &str, metadata: &Metadata) -> Option<String> {
    let folder = parent(&job.url);
    let sibling = async |name: &str| {
        let is_name = !name.is_empty() && !name.contains(['/', '\\']) && !name.starts_with('.');
        let array = env
            .open(&vfs::join_url(&folder, name), Window::ALL)
            .await
            .ok()
            .filter(|_| is_name)?;
        array.metadata().await.ok()
    };
    let value = |metadata: &Metadata, end: &str| {
        let found = metadata.iter().find(|(key, _)| key.ends_with(end));
        found.map(|(_, value)| text(value)).filter(|text| !text.is_empty())
    };
    let mapping = metadata
        .get(&format!("__tiledb_attr.{attribute}.grid_mapping"))
        .map(text);
    let word = mapping.as_deref().and_then(|m| m.split_whitespace().next());
    let found = match word {
        Some(word) => sibling(word.trim_end_matches(':')).await.unwrap_or_default(),
        None => Metadata::new(),
    };
    let wkt = value(&found, ".crs_wkt").or_else(|| value(&found, ".spatial_ref"));
    if wkt.is_some() {
        return wkt;
    }
    let plain = value(&found, ".grid_mapping_name").is_none_or(|name| name == "latitude_longitude");
    let name = &job.array.schema().dimensions.last()?.name;
    let units = value(&sibling(name).await?, ".units")?;
    (plain && units.starts_with("degree")).then(|| "EPSG:4326".to_owned())
}

/// A text or a number.
fn shown(value: &MetaValue) -> Option<String> {
    if value.datatype.is_string() {
        return Some(text(value));
    }
    let one = value.data.get(..value.datatype.size())?;
    let number = hyperslab::Scalar::from_le_bytes(value.datatype.physical(), one)?;
    number.as_f64().map(|v| v.to_string())
}
