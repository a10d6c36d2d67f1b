//! Where a raster is: its transform, its control points and its coordinate system.

use std::collections::BTreeMap;

use anyhow::Result;

use super::directory::{Directory, TiffFile, tag};
use super::wkt;

/// A value that says "defined by other keys".
pub(super) const USER_DEFINED: u64 = 32767;

/// The keys of a GeoTIFF.
pub(super) mod key {
    pub(crate) const MODEL_TYPE: u16 = 1024;
    pub(crate) const RASTER_TYPE: u16 = 1025;
    pub(crate) const CITATION: u16 = 1026;
    pub(crate) const GEOGRAPHIC: u16 = 2048;
    pub(crate) const GEOGRAPHIC_CITATION: u16 = 2049;
    pub(crate) const PROJECTED: u16 = 3072;
    pub(crate) const PROJECTED_CITATION: u16 = 3073;
    pub(crate) const VERTICAL: u16 = 4096;
}

/// A key's value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Code(u64),
    Numbers(Vec<f64>),
    Text(String),
}

/// The keys of a GeoTIFF and their values.
#[derive(Debug, Clone, Default)]
pub(super) struct GeoKeys(pub(super) BTreeMap<u16, Value>);

impl GeoKeys {
    /// Reads the keys. Those that point outside of their lists are left out.
    pub(super) fn read(file: &mut TiffFile, directory: &Directory) -> Result<Self> {
        let list = file.integers(directory, tag::GEO_KEYS)?;
        let doubles = file.numbers(directory, tag::GEO_DOUBLES)?;
        let text = file.text(directory, tag::GEO_TEXT)?.unwrap_or_default();
        Ok(Self::of(&list, &doubles, &text))
    }

    /// The keys in a list of integers, with the lists that it refers to.
    fn of(list: &[u64], doubles: &[f64], text: &str) -> Self {
        let entries = list.get(4..).unwrap_or(&[]).as_chunks::<4>().0.iter();
        let value = |[_, place, count, value]: &[u64; 4]| {
            let (from, count) = (*value as usize, *count as usize);
            Some(match *place {
                0 => Value::Code(*value),
                p if p == u64::from(tag::GEO_DOUBLES) => {
                    Value::Numbers(doubles.get(from..from.saturating_add(count))?.to_vec())
                }
                p if p == u64::from(tag::GEO_TEXT) => {
                    let text = text.get(from..from.saturating_add(count).min(text.len()))?;
                    Value::Text(text.trim_end_matches(['|', '\0']).to_owned())
                }
                _ => return None,
            })
        };
        Self(
            entries
                .filter_map(|e| Some((u16::try_from(e[0]).ok()?, value(e)?)))
                .collect(),
        )
    }

    pub(super) fn code(&self, key: u16) -> Option<u64> {
        match self.0.get(&key)? {
            Value::Code(code) => Some(*code),
            _ => None,
        }
    }

    pub(super) fn number(&self, key: u16) -> Option<f64> {
        match self.0.get(&key)? {
            Value::Numbers(all) => all.first().copied(),
            Value::Code(code) => Some(*code as f64),
            Value::Text(_) => None,
        }
    }

    pub(super) fn text(&self, key: u16) -> Option<&str> {
        match self.0.get(&key)? {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A code of the EPSG registry.
    pub(super) fn epsg(&self, key: u16) -> Option<u64> {
        self.code(key).filter(|code| (1024..USER_DEFINED).contains(code))
    }
}

/// A pixel and the place that it stands for.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ControlPoint {
    pub(super) pixel: [f64; 2],
    pub(super) place: [f64; 3],
}

/// Where a raster is.
#[derive(Debug, Clone, Default)]
pub(super) struct Geo {
    /// The six numbers of GDAL, for the outer corner of the first pixel.
    pub(super) transform: Option<[f64; 6]>,
    pub(super) points: Vec<ControlPoint>,
    /// `EPSG:` and a code, or WKT.
    pub(super) crs: Option<String>,
    /// `Area` or `Point`, if the file says so.
    pub(super) area_or_point: Option<&'static str>,
    pub(super) notes: Vec<String>,
}

/// The coordinate system of the keys of a GeoTIFF, as `EPSG:` and a code or WKT, and notes for the user. `list` has four
/// integers for the list itself and for each key.
#[cfg(feature = "las")]
pub(crate) fn crs_of_keys(list: &[u64], doubles: &[f64], text: &str) -> (Option<String>, Vec<String>) {
    let mut geo = Geo::default();
    let crs = geo.coordinate_system(&GeoKeys::of(list, doubles, text));
    (crs, geo.notes)
}

impl Geo {
    pub(super) fn read(file: &mut TiffFile, directory: &Directory) -> Result<Self> {
        let keys = GeoKeys::read(file, directory)?;
        let scale = file.numbers(directory, tag::PIXEL_SCALE)?;
        let ties = file.numbers(directory, tag::TIE_POINTS)?;
        let matrix = file.numbers(directory, tag::TRANSFORMATION)?;
        let area_or_point = match keys.code(key::RASTER_TYPE) {
            Some(1) => Some("Area"),
            Some(2) => Some("Point"),
            _ => None,
        };
        // Of a point, the file places the centre.
        let half = if area_or_point == Some("Point") { 0.5 } else { 0.0 };
        let mut geo = Self {
            area_or_point,
            ..Self::default()
        };
        let moved = |t: [f64; 6]| {
            let [x, a, b, y, c, d] = t;
            [x - half * (a + b), a, b, y - half * (c + d), c, d]
        };
        match (scale.as_slice(), ties.as_slice(), matrix.as_slice()) {
            ([sx, sy, ..], [column, row, _, x, y, ..], _) if *sx != 0.0 && *sy != 0.0 => {
                geo.transform = Some(moved([x - column * sx, *sx, 0.0, y + row * sy.abs(), 0.0, -sy.abs()]));
            }
            (_, _, &[a, b, _, x, c, d, _, y, ..]) => geo.transform = Some(moved([x, a, b, y, c, d])),
            (_, ties, _) => {
                let point = |t: &[f64; 6]| ControlPoint {
                    pixel: [t[0] + half, t[1] + half],
                    place: [t[3], t[4], t[5]],
                };
                geo.points = ties.as_chunks::<6>().0.iter().map(point).collect();
            }
        }
        geo.crs = geo.coordinate_system(&keys);
        Ok(geo)
    }

    fn coordinate_system(&mut self, keys: &GeoKeys) -> Option<String> {
        let model = keys.code(key::MODEL_TYPE);
        let horizontal = match model {
            Some(2) => keys.epsg(key::GEOGRAPHIC),
            _ => keys
                .epsg(key::PROJECTED)
                .or_else(|| keys.epsg(key::GEOGRAPHIC).filter(|_| model.is_none())),
        };
        let name = [key::PROJECTED_CITATION, key::CITATION, key::GEOGRAPHIC_CITATION];
        let name = name.iter().find_map(|k| keys.text(*k)).unwrap_or("unnamed");
        let vertical = keys.epsg(key::VERTICAL);
        if let Some(code) = horizontal {
            return Some(match vertical {
                Some(vertical) => format!("EPSG:{code}+{vertical}"),
                None => format!("EPSG:{code}"),
            });
        }
        if vertical.is_some() {
            self.notes
                .push("the vertical coordinate system does not carry over".to_owned());
        }
        let made = wkt::of(keys);
        if made.is_none() && model.is_some_and(|m| m != 0) {
            self.notes.push(format!(
                "the coordinate system '{name}' does not carry over: it has no EPSG code, and its projection is unknown"
            ));
        }
        made
    }

    /// The transform of a copy with fewer pixels.
    pub(super) fn transform_of(&self, full: [u64; 2], size: [u64; 2]) -> Option<[f64; 6]> {
        let [x, a, b, y, c, d] = self.transform?;
        let [across, down] = [full[0] as f64 / size[0] as f64, full[1] as f64 / size[1] as f64];
        Some([x, a * across, b * down, y, c * across, d * down])
    }
}
