//! The XML in `_gdal`: GDAL's persistent auxiliary metadata.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::model::{Crs, Packing};
use super::super::{crs, value};
use crate::xml::Element;

/// The most bands, categories, colours and items.
const ENTRIES_MAX: usize = 1 << 12;

/// What the XML tells.
#[derive(Default)]
pub(super) struct Pam {
    /// Columns and rows. The array is padded.
    pub(super) size: Option<[u64; 2]>,
    pub(super) geotransform: Option<[f64; 6]>,
    pub(super) crs: Option<Crs>,
    /// The bands by number, from 1.
    pub(super) bands: BTreeMap<usize, Band>,
    /// Free items of metadata.
    pub(super) items: BTreeMap<String, Value>,
}

/// A band.
#[derive(Default, Clone)]
pub(super) struct Band {
    pub(super) description: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) packing: Option<Packing>,
    pub(super) interpretation: Option<String>,
    pub(super) categories: Vec<String>,
    pub(super) colors: Vec<[u8; 4]>,
}

impl Pam {
    /// # Errors
    /// Says what is wrong with the XML.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let root = Element::parse(text)?;
        let structure = items(&root, Some("IMAGE_STRUCTURE"));
        let size = |key: &str| {
            structure
                .get(key)
                .and_then(|v| v.parse::<u64>().ok())
                .filter(|n| *n > 0)
        };
        let bands = root.all("PAMRasterBand").take(ENTRIES_MAX);
        let band = |e: &Element| {
            Some((
                e.attribute("band")?.parse().ok().filter(|n: &usize| *n > 0)?,
                Band::new(e),
            ))
        };
        let free = items(&root, None).into_iter();
        Ok(Self {
            size: size("X_SIZE").zip(size("Y_SIZE")).map(|(x, y)| [x, y]),
            geotransform: root.child_text("GeoTransform").and_then(six_numbers),
            crs: root.child("SRS").filter(|e| !e.text.trim().is_empty()).map(reference),
            bands: bands.filter_map(band).collect(),
            items: free
                .map(|(k, v)| (value::shortened(&k), Value::from(value::shortened(&v))))
                .collect(),
        })
    }
}

fn reference(srs: &Element) -> Crs {
    let mapping = srs.attribute("dataAxisToSRSAxisMapping").unwrap_or_default();
    Crs {
        y_first: mapping.split(',').next().is_some_and(|axis| axis.trim() == "2"),
        ..crs::from_wkt(&srs.text)
    }
}

fn six_numbers(text: &str) -> Option<[f64; 6]> {
    let numbers = text
        .split(',')
        .take(7)
        .map(|n| n.trim().parse::<f64>().ok().filter(|n| n.is_finite()));
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    numbers.try_into().ok()
}

fn items(root: &Element, domain: Option<&str>) -> BTreeMap<String, String> {
    let of_domain = root.all("Metadata").filter(|m| m.attribute("domain") == domain);
    let items = of_domain.flat_map(|m| m.all("MDI")).take(ENTRIES_MAX);
    items
        .filter_map(|e| Some((e.attribute("key")?.to_owned(), e.text.clone())))
        .collect()
}

impl Band {
    fn new(e: &Element) -> Self {
        let number = |name: &str| e.child_text(name).and_then(|t| t.parse::<f64>().ok());
        let short = |name: &str| e.child_text(name).map(value::shortened);
        let categories = e.child("CategoryNames").into_iter().flat_map(|c| c.all("Category"));
        let colors = e.child("ColorTable").into_iter().flat_map(|c| c.all("Entry"));
        Self {
            description: short("Description"),
            unit: short("UnitType"),
            packing: value::packing(number("Scale"), number("Offset")),
            interpretation: short("ColorInterp").map(|c| c.to_lowercase()),
            categories: categories
                .take(ENTRIES_MAX)
                .map(|c| value::shortened(c.text.trim()))
                .collect(),
            colors: colors.take(ENTRIES_MAX).map(color).collect(),
        }
    }
}

fn color(entry: &Element) -> [u8; 4] {
    ["c1", "c2", "c3", "c4"].map(|c| {
        let default = if c == "c4" { 255 } else { 0 };
        entry.attribute(c).and_then(|v| v.parse().ok()).unwrap_or(default)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_categories_and_colours() {
        let xml = "<PAMDataset><PAMRasterBand band=\"1\"><ColorInterp>Palette</ColorInterp>\
            <CategoryNames><Category>none</Category><Category>wood &amp; bush</Category></CategoryNames>\
            <ColorTable><Entry c1=\"1\" c2=\"2\" c3=\"3\" c4=\"4\"/><Entry c1=\"300\"/></ColorTable>\
            </PAMRasterBand><PAMRasterBand band=\"0\"/></PAMDataset>";
        let pam = Pam::parse(xml).unwrap();
        let band = &pam.bands[&1];
        assert_eq!(pam.bands.len(), 1);
        assert_eq!(band.categories, ["none", "wood & bush"]);
        assert_eq!(band.colors, [[1, 2, 3, 4], [0, 0, 0, 255]]);
        assert_eq!(band.interpretation.as_deref(), Some("palette"));
    }

    #[test]
    fn numbers_that_are_none_are_left_out() {
        for text in ["1,2,3,4,5", "1,2,3,4,5,6,7", "1,2,x,4,5,6", "1,2,inf,4,5,6", ""] {
            assert_eq!(six_numbers(text), None, "{text}");
        }
    }
}
