//! The layout of TileDB-BioImaging: a group with an array `l_<n>.tdb` for each level.

use hyperslab::Datatype;
use hyperslab::metadata::Entry;
use hyperslab::schema::Dimension;
use serde_json::{Map, Value, json};

use crate::meta::{integer, text};

/// The attribute of the arrays.
pub(crate) const INTENSITY: &str = "intensity";
/// The longest side of a tile along X and Y.
const TILE: u64 = 1024;

/// What an image means.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meaning {
    /// The axes of the file, such as `CZYX`, slowest first.
    pub(crate) source_axes: String,
    /// The lengths of these axes.
    pub(crate) source_shape: Vec<u64>,
    pub(crate) channels: Vec<Channel>,
    /// Sizes of a voxel and the step of time, by the name of BioImaging, such as `physicalSizeX`; with units.
    pub(crate) sizes: Vec<(&'static str, f64, Option<String>)>,
    /// The OME-XML of the file.
    pub(crate) ome_xml: Option<String>,
}

/// A channel.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Channel {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Red, green, blue, alpha.
    pub(crate) color: Option<[u8; 4]>,
    pub(crate) wavelength: Option<(f64, Option<String>)>,
    /// The smallest and the largest value to show.
    pub(crate) range: Option<[f64; 2]>,
}

/// The dimensions of an array with these axes, which are letters of `TCZYX`.
pub(crate) fn dimensions(axes: &str, shape: &[u64]) -> Vec<Dimension> {
    let axis = |(letter, length): (char, &u64)| {
        let tile = match letter {
            'X' | 'Y' => TILE.min(*length),
            'C' => *length,
            _ => 1,
        };
        let name = letter.to_string();
        Dimension::new(&name, Datatype::Uint64, 0_u64, length.saturating_sub(1), tile.max(1))
    };
    axes.chars().zip(shape).map(axis).collect()
}

/// The name of a level's array.
pub(crate) fn level_name(level: usize) -> String {
    format!("l_{level}.tdb")
}

/// The metadata of a level's array.
pub(crate) fn level_metadata(level: usize) -> Vec<Entry> {
    vec![integer("level", level as i64)]
}

/// The metadata of the group. `axes` are those of the arrays, and `shapes` the lengths in each level.
pub(crate) fn metadata(meaning: &Meaning, axes: &str, shapes: &[Vec<u64>]) -> Vec<Entry> {
    let levels: Vec<Value> = shapes
        .iter()
        .enumerate()
        .map(|(level, shape)| json!({"level": level, "name": level_name(level), "axes": axes, "shape": shape}))
        .collect();
    let depths: Map<String, Value> = (0..shapes.len()).map(|level| (level.to_string(), json!(1))).collect();
    let names: Vec<&str> = meaning.channels.iter().map(|c| c.name.as_str()).collect();
    let mut all = vec![
        text("axes", &meaning.source_axes),
        text("channels", &json!(names).to_string()),
        integer("fmt_version", 2),
        text("levels", &json!(levels).to_string()),
        text("metadata", &image(meaning, axes, shapes).to_string()),
        text("pixel_depth", &json!(depths).to_string()),
    ];
    if let Some(xml) = &meaning.ome_xml {
        all.push(text("original_metadata", &json!({"ome_metadata": xml}).to_string()));
    }
    all.push(text("dataset_type", "bioimg"));
    all.push(integer("valid", 1));
    all
}

/// The value of the key `metadata`.
fn image(meaning: &Meaning, axes: &str, shapes: &[Vec<u64>]) -> Value {
    let channels: Vec<Value> = meaning.channels.iter().map(Channel::json).collect();
    let mut image = Map::new();
    image.insert("channels".into(), json!({INTENSITY: channels}));
    for (name, size, unit) in &meaning.sizes {
        image.insert((*name).into(), json!(size));
        if let Some(unit) = unit {
            image.insert(format!("{name}Unit"), json!(unit));
        }
    }
    let letters = |axes: &str| axes.chars().map(String::from).collect::<Vec<_>>();
    let mapping: Map<String, Value> = letters(axes).into_iter().map(|a| (a.clone(), json!([a]))).collect();
    let axes: Vec<Value> = shapes
        .iter()
        .map(|shape| {
            let source: Vec<u64> = letters(&meaning.source_axes)
                .iter()
                .zip(&meaning.source_shape)
                .map(|(letter, length)| {
                    let stored = axes.find(letter.as_str()).and_then(|at| shape.get(at));
                    stored.copied().unwrap_or(*length)
                })
                .collect();
            json!({
                "originalAxes": letters(&meaning.source_axes),
                "originalShape": source,
                "storedAxes": letters(axes),
                "storedShape": shape,
                "axesMapping": mapping,
            })
        })
        .collect();
    image.insert("axes".into(), json!(axes));
    Value::Object(image)
}

impl Channel {
    fn json(&self) -> Value {
        let mut channel = Map::new();
        channel.insert("id".into(), json!(self.id));
        channel.insert("name".into(), json!(self.name));
        if let Some([red, green, blue, alpha]) = self.color {
            let color = json!({"red": red, "green": green, "blue": blue, "alpha": alpha});
            channel.insert("color".into(), color);
        }
        if let Some([low, high]) = self.range {
            channel.insert("min".into(), json!(low));
            channel.insert("max".into(), json!(high));
        }
        if let Some((length, unit)) = &self.wavelength {
            channel.insert("emissionWavelength".into(), json!(length));
            if let Some(unit) = unit {
                channel.insert("emissionWavelengthUnit".into(), json!(unit));
            }
        }
        Value::Object(channel)
    }
}
