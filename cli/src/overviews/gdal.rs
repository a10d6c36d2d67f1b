//! The XML of GDAL's overviews. GDAL's undeclared prefix `tiledb:` is no XML that a library would write, and everything
//! else in the text must stay as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hyperslab::Datatype;
use hyperslab::conventions::{Dataset, Role};
use hyperslab::metadata::{Entry, MetaValue};

use super::level::Level;
use crate::args::Method;

/// The metadata key of the XML.
pub(super) const KEY: &str = "_gdal";
/// The element with the number of overviews.
const COUNT: &str = "tiledb:OverviewCount";

/// The metadata of an overview.
pub(super) fn metadata(level: &Level, dataset: &Dataset, stored: &BTreeMap<String, MetaValue>) -> Vec<Entry> {
    let text = stored.get(KEY).map(|v| String::from_utf8_lossy(&v.data).into_owned());
    let xml = xml(level, dataset, text.as_deref().unwrap_or_default());
    let entry = |key: &str, value| Entry {
        key: key.to_owned(),
        value: Some(value),
    };
    vec![
        entry(KEY, MetaValue::bytes(Datatype::Uint8, xml.as_bytes())),
        entry("dataset_type", MetaValue::text("raster")),
    ]
}

/// The XML of an overview of the array with the XML `full`.
fn xml(level: &Level, dataset: &Dataset, full: &str) -> String {
    let mut xml = "<PAMDataset>\n".to_owned();
    if let Some(srs) = element(full, "SRS") {
        let _ = writeln!(xml, "  {srs}");
    }
    let axes = dataset.variables.first().map_or(&[][..], |v| &v.axes);
    // How many times larger a cell is: GDAL takes this from the sizes, since the last cells may stick out.
    let of = |role: Role| {
        let at = axes.iter().position(|a| a.role == role)?;
        let (factor, length) = (level.factors.get(at)?, level.lengths.get(at)?);
        Some((*factor as f64, *length))
    };
    let (x, y) = (of(Role::X).unwrap_or((1.0, 1)), of(Role::Y).unwrap_or((1.0, 1)));
    if let Some(g) = dataset.variables.first().and_then(|v| v.geotransform) {
        let numbers = [g[0], g[1] * x.0, g[2] * y.0, g[3], g[4] * x.0, g[5] * y.0];
        let numbers = numbers.map(|n| format!("{n:.16e}")).join(", ");
        let _ = writeln!(xml, "  <GeoTransform>{numbers}</GeoTransform>");
    }
    xml.push_str("  <Metadata domain=\"IMAGE_STRUCTURE\">\n");
    for key in ["DATASET_TYPE", "DATA_TYPE", "INTERLEAVE", "NBITS"] {
        if let Some(value) = item(full, key) {
            let _ = writeln!(xml, "    {value}");
        }
    }
    for (key, size) in [("X_SIZE", x.1), ("Y_SIZE", y.1)] {
        let _ = writeln!(xml, "    <MDI key=\"{key}\">{size}</MDI>");
    }
    xml.push_str("  </Metadata>\n");
    let method = match level.method() {
        Method::Mean => "AVERAGE",
        Method::Mode => "MODE",
    };
    for band in 1..=dataset.channels.len() {
        let _ = writeln!(
            xml,
            "  <PAMRasterBand band=\"{band}\">\n    <Metadata>\n      <MDI key=\"RESAMPLING\">{method}</MDI>\n    \
             </Metadata>\n  </PAMRasterBand>"
        );
    }
    xml.push_str("</PAMDataset>\n");
    xml
}

/// The XML with this number of overviews, in the type of the value.
pub(super) fn with_count(value: &MetaValue, count: usize) -> MetaValue {
    let mut xml = String::from_utf8_lossy(&value.data).into_owned();
    let new = format!("<{COUNT}>{count}</{COUNT}>");
    match element(&xml, COUNT).map(str::to_owned) {
        Some(old) => xml = xml.replacen(&old, &new, 1),
        None => xml = xml.replacen("</PAMDataset>", &format!("  {new}\n</PAMDataset>"), 1),
    }
    MetaValue::bytes(value.datatype, xml.as_bytes())
}

/// The text of the first element with this name.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let start = xml.find(&format!("<{name}"))?;
    let end = format!("</{name}>");
    let length = xml.get(start..)?.find(&end)? + end.len();
    xml.get(start..start + length)
}

/// The text of the item with this key.
fn item<'a>(xml: &'a str, key: &str) -> Option<&'a str> {
    let start = xml.find(&format!("<MDI key=\"{key}\">"))?;
    let length = xml.get(start..)?.find("</MDI>")? + "</MDI>".len();
    xml.get(start..start + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_overviews_is_replaced_or_added() {
        let value = |text: &str| MetaValue::bytes(Datatype::Uint8, text.as_bytes());
        let xml = "<PAMDataset>\n</PAMDataset>\n";
        let one = with_count(&value(xml), 1);
        let expected = "<PAMDataset>\n  <tiledb:OverviewCount>1</tiledb:OverviewCount>\n</PAMDataset>\n";
        assert_eq!(one, value(expected));
        assert_eq!(with_count(&one, 12), value(&expected.replace(">1<", ">12<")));
    }
}
