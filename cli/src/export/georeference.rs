//! The XML of a GDAL raster for an array of another application: geotransform, coordinate system, unit and packing.

use std::fmt::Write as _;

use hyperslab::conventions::{Application, Axis, Dataset, Variable};
use hyperslab::internals::xml::escape;

/// The XML, if the coordinates along the last two axes are evenly spaced.
pub(super) fn xml(dataset: &Dataset, attribute: &str, bands: u64) -> Option<String> {
    // The pixel sizes of images are no places on a map.
    if !matches!(
        dataset.application,
        Application::Cf | Application::Bare | Application::Hyperslab
    ) {
        return None;
    }
    let variable = dataset.variables.iter().find(|v| v.attribute == attribute)?;
    let [.., down, across] = variable.axes.as_slice() else {
        return None;
    };
    let (x, y) = (across.coordinates.regular()?, down.coordinates.regular()?);
    let mut xml = "<PAMDataset>\n".to_owned();
    if let Some(crs) = system(dataset, variable, across) {
        let _ = writeln!(xml, "<SRS>{}</SRS>", escape(&crs));
    }
    let (left, top) = (x.start - x.step / 2.0, y.start - y.step / 2.0);
    let _ = writeln!(
        xml,
        "<GeoTransform>{left:e}, {:e}, 0, {top:e}, 0, {:e}</GeoTransform>",
        x.step, y.step
    );
    let number = |n: f64| n.to_string();
    let fields = [
        ("UnitType", variable.unit.clone()),
        ("Offset", variable.packing.map(|p| number(p.offset))),
        ("Scale", variable.packing.map(|p| number(p.scale))),
        ("Description", variable.long_name.clone()),
    ];
    let fields = fields
        .into_iter()
        .filter_map(|(element, value)| Some((element, value?)));
    let fields: String = fields
        .map(|(element, value)| format!("<{element}>{}</{element}>", escape(&value)))
        .collect();
    for band in 1..=bands.min(u16::MAX.into()) {
        let _ = writeln!(xml, "<PAMRasterBand band=\"{band}\">{fields}</PAMRasterBand>");
    }
    Some(xml + "</PAMDataset>\n")
}

/// The WKT or code of the variable's coordinate system; WGS 84 for degrees without one.
fn system(dataset: &Dataset, variable: &Variable, across: &Axis) -> Option<String> {
    let crs = variable.crs.and_then(|crs| dataset.crs.get(crs));
    if let Some(stated) = crs.and_then(|crs| crs.wkt.clone().or_else(|| crs.code.clone())) {
        return Some(stated);
    }
    let name = crs.and_then(|crs| crs.cf.get("grid_mapping_name")?.as_str());
    let in_degrees = across.unit.as_deref().is_some_and(|unit| unit.starts_with("degree"));
    let is_plain = name.is_none_or(|name| name == "latitude_longitude");
    (is_plain && in_degrees).then(|| "EPSG:4326".to_owned())
}
