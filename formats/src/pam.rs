//! The XML in which GDAL keeps what a raster means, under the metadata key `_gdal`.

use std::fmt::Write as _;

use anyhow::Result;

use hyperslab::internals::xml::{Element, escape};

/// What a raster means.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pam {
    /// `EPSG:` and a code, or WKT. Coordinates are x, y.
    pub(crate) crs: Option<String>,
    /// `x = t[0] + column · t[1] + row · t[2]`, `y = t[3] + column · t[4] + row · t[5]`.
    pub(crate) transform: Option<[f64; 6]>,
    /// Column, row, x, y, z.
    pub(crate) control_points: Vec<[f64; 5]>,
    /// Items by domain; the domain "" has the usual ones.
    pub(crate) metadata: Vec<(String, Items)>,
    /// What describes the structure, such as `X_SIZE`.
    pub(crate) structure: Items,
    pub(crate) bands: Vec<Band>,
    /// The number of smaller copies.
    pub(crate) overviews: usize,
}

/// Names and values.
pub(crate) type Items = Vec<(String, String)>;

/// What a band means.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Band {
    pub(crate) description: Option<String>,
    pub(crate) unit: Option<String>,
    pub(crate) scale: Option<f64>,
    pub(crate) offset: Option<f64>,
    /// `Red`, `Green`, `Blue`, `Alpha`, `Gray`, `Palette`, …
    pub(crate) color: Option<String>,
    /// Red, green, blue and alpha of each value.
    pub(crate) palette: Vec<[u8; 4]>,
    pub(crate) metadata: Items,
}

impl Pam {
    /// Reads the XML. Unknown elements are left out.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let root = Element::parse(text).map_err(anyhow::Error::msg)?;
        let trimmed = |e: &Element| e.text.trim().to_owned();
        let mut pam = Self {
            crs: root.child("SRS").map(trimmed).filter(|s| !s.is_empty()),
            ..Self::default()
        };
        if let Some(transform) = root.child("GeoTransform") {
            let numbers: Vec<f64> = transform
                .text
                .split(',')
                .filter_map(|n| n.trim().parse().ok())
                .collect();
            pam.transform = numbers.try_into().ok();
        }
        if let Some(list) = root.child("GCPList") {
            pam.crs = list.attribute("Projection").map(str::to_owned);
            let point = |e: &Element| {
                let number = |name: &str| e.number::<f64>(name).unwrap_or(0.0);
                ["Pixel", "Line", "X", "Y", "Z"].map(number)
            };
            pam.control_points = list.all("GCP").map(point).collect();
        }
        for metadata in root.all("Metadata") {
            let domain = metadata.attribute("domain").unwrap_or_default().to_owned();
            match domain.as_str() {
                "IMAGE_STRUCTURE" => pam.structure = items(metadata),
                _ => pam.metadata.push((domain, items(metadata))),
            }
        }
        for element in root.all("PAMRasterBand") {
            let number = element.number::<usize>("band").unwrap_or(0);
            if (1..=65535).contains(&number) {
                pam.bands.resize(pam.bands.len().max(number), Band::default());
                pam.bands[number - 1] = Band::parse(element);
            }
        }
        Ok(pam)
    }

    /// The XML.
    pub(crate) fn xml(&self) -> String {
        let mut xml = "<PAMDataset>\n".to_owned();
        if let Some(crs) = self.crs.as_ref().filter(|_| self.control_points.is_empty()) {
            element(&mut xml, "SRS", crs);
        }
        if let Some(transform) = self.transform {
            let numbers = transform.map(exact).join(", ");
            element(&mut xml, "GeoTransform", &numbers);
        }
        if !self.control_points.is_empty() {
            let crs = self
                .crs
                .as_deref()
                .map_or_else(String::new, |c| format!(" Projection=\"{}\"", escape(c)));
            let _ = writeln!(xml, "  <GCPList{crs}>");
            for (number, [column, row, x, y, z]) in self.control_points.iter().enumerate() {
                let _ = writeln!(
                    xml,
                    "    <GCP Id=\"{}\" Pixel=\"{column}\" Line=\"{row}\" X=\"{}\" Y=\"{}\" Z=\"{}\"/>",
                    number + 1,
                    exact(*x),
                    exact(*y),
                    exact(*z)
                );
            }
            xml.push_str("  </GCPList>\n");
        }
        let structure = [("IMAGE_STRUCTURE".to_owned(), self.structure.clone())];
        for (domain, items) in self.metadata.iter().chain(&structure) {
            metadata(&mut xml, "  ", domain, items);
        }
        for (number, band) in self.bands.iter().enumerate() {
            band.write(&mut xml, number + 1);
        }
        if self.overviews > 0 {
            element(&mut xml, "tiledb:OverviewCount", &self.overviews.to_string());
        }
        xml.push_str("</PAMDataset>\n");
        xml
    }
}

impl Band {
    fn parse(element: &Element) -> Self {
        let text = |name: &str| element.child(name).map(|e| e.text.clone());
        let number = |name: &str| text(name).and_then(|t| t.trim().parse().ok());
        let color = |e: &Element| ["c1", "c2", "c3", "c4"].map(|c| e.number::<u8>(c).unwrap_or(255));
        Self {
            description: text("Description"),
            unit: text("UnitType"),
            scale: number("Scale"),
            offset: number("Offset"),
            color: text("ColorInterp"),
            palette: element
                .child("ColorTable")
                .map_or_else(Vec::new, |t| t.all("Entry").map(color).collect()),
            metadata: element
                .all("Metadata")
                .filter(|m| m.attribute("domain").is_none())
                .flat_map(items)
                .collect(),
        }
    }

    fn write(&self, xml: &mut String, number: usize) {
        if *self == Self::default() {
            return;
        }
        let _ = writeln!(xml, "  <PAMRasterBand band=\"{number}\">");
        let fields = [
            ("Description", self.description.clone()),
            ("UnitType", self.unit.clone()),
            ("Offset", self.offset.map(|n| n.to_string())),
            ("Scale", self.scale.map(|n| n.to_string())),
            ("ColorInterp", self.color.clone()),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                xml.push_str("  ");
                element(xml, name, &value);
            }
        }
        if !self.palette.is_empty() {
            xml.push_str("    <ColorTable>\n");
            for [red, green, blue, alpha] in &self.palette {
                let _ = writeln!(
                    xml,
                    "      <Entry c1=\"{red}\" c2=\"{green}\" c3=\"{blue}\" c4=\"{alpha}\"/>"
                );
            }
            xml.push_str("    </ColorTable>\n");
        }
        metadata(xml, "    ", "", &self.metadata);
        xml.push_str("  </PAMRasterBand>\n");
    }
}

fn items(metadata: &Element) -> Items {
    let item = |e: &Element| (e.attribute("key").unwrap_or_default().to_owned(), e.text.clone());
    metadata.all("MDI").map(item).collect()
}

/// A number with all of its digits.
fn exact(number: f64) -> String {
    format!("{number:.16e}")
}

fn element(xml: &mut String, name: &str, text: &str) {
    let _ = writeln!(xml, "  <{name}>{}</{name}>", escape(text));
}

fn metadata(xml: &mut String, indent: &str, domain: &str, items: &Items) {
    if items.is_empty() {
        return;
    }
    let domain = match domain {
        "" => String::new(),
        domain => format!(" domain=\"{}\"", escape(domain)),
    };
    let _ = writeln!(xml, "{indent}<Metadata{domain}>");
    for (key, value) in items {
        let _ = writeln!(xml, "{indent}  <MDI key=\"{}\">{}</MDI>", escape(key), escape(value));
    }
    let _ = writeln!(xml, "{indent}</Metadata>");
}
