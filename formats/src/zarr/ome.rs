//! Images of OME-NGFF, versions 0.1 to 0.5, in the layout of TileDB-BioImaging.
//!
//! ```text
//! attributes multiscales, omero (in `ome` from 0.5 on)  ─▶  metadata of a group
//! datasets[0] "0"  t c z y x  ─▶  array l_0.tdb, dimensions T C Z Y X without those of length 1
//! datasets[1] "1"             ─▶  array l_1.tdb
//! ```

mod positions;

use std::collections::HashSet;
use std::ops::Range;

use anyhow::{Context as _, Result, bail};
use hyperslab::schema::{ArrayType, Attribute, Filter, Pipeline, Schema};
use hyperslab::{CellCount, Column};
use serde_json::{Map, Value};

use self::positions::Positions;
use super::chunks::Reader;
use super::meta::Meta;
use super::tree::{Kind, Node};
use crate::bioimg::{self, Channel, INTENSITY, Meaning};
use crate::{Length, NewArray, NewGroup, Plan, Source};

/// The most levels and channels.
const ENTRIES_MAX: usize = 1 << 10;
/// The most arrays that a note names.
const NAMES_MAX: usize = 16;
/// The axes of images before version 0.3.
const AXES: [&str; 5] = ["t", "c", "z", "y", "x"];

/// An image, as its attributes describe it.
pub(super) struct Image<'a> {
    /// The group with the image.
    path: String,
    multiscales: &'a Value,
    omero: Option<&'a Value>,
    /// The letters of the axes, slowest first.
    axes: Vec<char>,
    notes: Vec<String>,
    /// The paths of the levels that notes are about.
    noted: HashSet<String>,
}

/// A level of an image.
struct Level<'a> {
    node: &'a Node,
    meta: Meta,
    /// Its entry in `datasets`.
    dataset: &'a Value,
}

impl<'a> Image<'a> {
    /// The image of a store: that of its root, or the only one of the layout of bioformats2raw. `None` if the store is no
    /// image, or one of several. Other programs have pyramids with `multiscales` too, such as ndpyramid, whose levels are
    /// groups. `nodes` are in the order of their paths.
    pub(super) fn of(nodes: &'a [Node]) -> Option<Self> {
        let described = |node: &'a Node| {
            let own = node.attributes.get("ome").and_then(Value::as_object);
            let attributes: &'a Map<String, Value> = own.unwrap_or(&node.attributes);
            let all = attributes.get("multiscales")?.as_array()?;
            let first = all.first()?;
            let is_image = matches!(node.kind, Kind::Group) && first.get("datasets").is_some_and(Value::is_array);
            is_image.then(|| (node, first, all.len(), attributes.get("omero")))
        };
        // Labels are images within an image.
        let is_label = |node: &Node| node.path.split('/').any(|part| part == "labels");
        let mut images = nodes.iter().filter(|node| !is_label(node)).filter_map(described);
        let (node, multiscales, count, omero) = images.next()?;
        if !node.path.is_empty() && (node.path.contains('/') || images.next().is_some()) {
            return None;
        }
        let mut notes = Vec::new();
        if count > 1 {
            notes.push(format!(
                "{} further multiscales of the image do not carry over",
                count - 1
            ));
        }
        let image = Self {
            path: node.path.clone(),
            axes: axes(multiscales)?,
            multiscales,
            omero,
            notes,
            noted: HashSet::new(),
        };
        image.has_pixels(nodes).then_some(image)
    }

    /// Whether the first level is an array with the axes and the cells of an image, or is missing.
    fn has_pixels(&self, nodes: &[Node]) -> bool {
        let first = self.datasets().next().and_then(|d| d.get("path")?.as_str());
        let first = first.map(|name| hyperslab::vfs::join(&self.path, name));
        let Some(path) = first.filter(|path| find(nodes, path).is_some()) else {
            return true;
        };
        level(nodes, &path, self.axes.len()).is_ok_and(|(_, meta)| pixels(&meta).is_ok())
    }

    fn datasets(&self) -> impl Iterator<Item = &'a Value> + use<'a> {
        let all = self.multiscales.get("datasets").and_then(Value::as_array);
        all.into_iter().flatten().take(ENTRIES_MAX)
    }

    /// The levels, finest first.
    fn levels(&mut self, nodes: &'a [Node]) -> Result<Vec<Level<'a>>> {
        let mut levels: Vec<Level<'a>> = Vec::new();
        for dataset in self.datasets() {
            let name = dataset.get("path").and_then(Value::as_str);
            let name = name.context("a level of the image has no path")?;
            let path = hyperslab::vfs::join(&self.path, name);
            let level = level(nodes, &path, self.axes.len()).map(|(node, meta)| Level { node, meta, dataset });
            let first = levels.first().map(|level| level.meta.of.stored());
            match (level, first) {
                (Ok(level), Some(first)) if level.meta.of.stored() != first => {
                    let why = "its type is not that of the first level";
                    self.notes.push(format!("the level '{name}' is left out: {why}"));
                    self.noted.insert(path);
                }
                (Ok(level), _) => levels.push(level),
                (Err(why), None) => return Err(why.context(format!("cannot read the level '{name}' of the image"))),
                (Err(why), Some(_)) => {
                    self.notes.push(format!("the level '{name}' is left out: {why:#}"));
                    self.noted.insert(path);
                }
            }
        }
        Ok(levels)
    }

    /// The source of the image's arrays.
    pub(super) fn source(
        mut self,
        nodes: &'a [Node],
        reader: impl Fn(&str, Meta) -> Reader,
    ) -> Result<Box<dyn Source>> {
        let levels = self.levels(nodes)?;
        let first = levels.first().context("the image has no levels")?;
        // Axes of length 1 are left out, as in imports of OME-TIFF.
        let is_kept = |axis: usize| {
            let is_plane = matches!(self.axes.get(axis), Some('X' | 'Y'));
            is_plane || levels.iter().any(|l| l.meta.shape.get(axis).is_some_and(|n| *n != 1))
        };
        let kept: Vec<bool> = (0..self.axes.len()).map(is_kept).collect();
        let of_kept = |shape: &[u64]| {
            let lengths = shape.iter().zip(&kept).filter(|(_, kept)| **kept);
            lengths.map(|(length, _)| *length).collect::<Vec<u64>>()
        };
        let letters = self.axes.iter().zip(&kept).filter(|(_, kept)| **kept);
        let stored: String = letters.map(|(letter, _)| *letter).collect();
        let mut plan = Plan::default();
        let (mut shapes, mut readers) = (Vec::new(), Vec::new());
        for (number, level) in levels.iter().enumerate() {
            let shape = of_kept(&level.meta.shape);
            let attribute = pixels(&level.meta)?;
            let schema = Schema::new(ArrayType::Dense, bioimg::dimensions(&stored, &shape), vec![attribute]);
            schema.check()?;
            plan.arrays.push(NewArray {
                path: bioimg::level_name(number),
                schema,
                enumerations: Vec::new(),
                metadata: bioimg::level_metadata(number),
                length: Length::Box(shape.clone()),
            });
            shapes.push(shape);
            readers.push(reader(&level.node.path, level.meta.clone()));
        }
        let channel_axis = self.axes.iter().position(|letter| *letter == 'C');
        let channel_count = channel_axis
            .and_then(|axis| first.meta.shape.get(axis).copied())
            .unwrap_or(1);
        let meaning = Meaning {
            source_axes: stored.clone(),
            source_shape: shapes.first().cloned().unwrap_or_default(),
            channels: self.channels(channel_count),
            sizes: self.sizes(),
            ome_xml: None,
        };
        plan.groups = vec![NewGroup {
            path: String::new(),
            metadata: bioimg::metadata(&meaning, &stored, &shapes),
        }];
        self.note_others(nodes, &levels, &reader);
        plan.notes = self.notes;
        Ok(Box::new(Arrays { plan, readers, kept }))
    }

    /// The channels that `omero` describes, if it describes all.
    fn channels(&self, count: u64) -> Vec<Channel> {
        let known = self.omero.and_then(|omero| omero.get("channels")?.as_array());
        let known = known.filter(|known| known.len() as u64 == count);
        let of = |number: u64| {
            let own = known.and_then(|known| known.get(usize::try_from(number).ok()?));
            let text = |key: &str| own?.get(key)?.as_str().filter(|text| !text.is_empty());
            let limit = |key: &str| own?.get("window")?.get(key)?.as_f64();
            Channel {
                id: format!("Channel:0:{number}"),
                name: text("label").map_or_else(|| format!("Channel {number}"), str::to_owned),
                color: text("color").and_then(color),
                wavelength: None,
                range: limit("start").zip(limit("end")).map(|(low, high)| [low, high]),
            }
        };
        (0..count.min(ENTRIES_MAX as u64)).map(of).collect()
    }

    /// The sizes of a voxel of the finest level, and the step of time.
    fn sizes(&mut self) -> Vec<(&'static str, f64, Option<String>)> {
        let finest = self.datasets().next();
        let both = [finest, Some(self.multiscales)];
        let transforms = |kind: &str| {
            let all = both
                .iter()
                .flatten()
                .filter_map(|v| v.get("coordinateTransformations")?.as_array());
            let all = all.flatten().filter_map(|t| t.get(kind)?.as_array());
            all.map(|numbers| numbers.iter().map(Value::as_f64).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let (scales, translations) = (transforms("scale"), transforms("translation"));
        let moves = |numbers: &Vec<Option<f64>>| numbers.iter().flatten().any(|n| *n != 0.0);
        if translations.iter().any(moves) {
            self.notes
                .push("the position of the image does not carry over".to_owned());
        }
        if scales.is_empty() {
            return Vec::new();
        }
        let names = [
            ('X', "physicalSizeX"),
            ('Y', "physicalSizeY"),
            ('Z', "physicalSizeZ"),
            ('T', "timeIncrement"),
        ];
        let size = |(letter, name): (char, &'static str)| {
            let axis = self.axes.iter().position(|a| *a == letter)?;
            let factors = scales.iter().map(|scale| scale.get(axis).copied().flatten());
            let size: f64 = factors.collect::<Option<Vec<f64>>>()?.iter().product();
            let unit = self
                .multiscales
                .get("axes")
                .and_then(|axes| axes.get(axis)?.get("unit")?.as_str());
            let is_known = size.is_finite() && size > 0.0 && (unit.is_some() || size != 1.0);
            is_known.then(|| (name, size, unit.map(|unit| symbol(unit).to_owned())))
        };
        names.into_iter().filter_map(size).collect()
    }

    /// Notes the arrays of the store that are no levels, and do not follow from the sizes.
    fn note_others(&mut self, nodes: &[Node], levels: &[Level<'_>], reader: &impl Fn(&str, Meta) -> Reader) {
        let positions = Positions::of(levels);
        let mut known: HashSet<&str> = self.noted.iter().map(String::as_str).collect();
        known.extend(levels.iter().map(|level| level.node.path.as_str()));
        let arrays = nodes.iter().filter(|node| !matches!(node.kind, Kind::Group));
        let others = arrays.filter(|node| !known.contains(node.path.as_str()));
        let others = others.filter(|node| !positions.follow(self, node, reader));
        let others: Vec<&str> = others.map(|node| node.path.as_str()).collect();
        if others.is_empty() {
            return;
        }
        let names: Vec<String> = others.iter().take(NAMES_MAX).map(|path| format!("'{path}'")).collect();
        let more = match others.len() - names.len() {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        self.notes.push(format!(
            "arrays that are no levels of the image are left out: {}{more}; import them by their own paths",
            names.join(", ")
        ));
    }
}

/// The letters of the axes of an image; `None` if they are not those of BioImaging.
fn axes(multiscales: &Value) -> Option<Vec<char>> {
    let named = multiscales.get("axes").and_then(Value::as_array);
    let names: Vec<&str> = match named {
        Some(axes) => axes
            .iter()
            .map(|axis| axis.as_str().or_else(|| axis.get("name")?.as_str()))
            .collect::<Option<_>>()?,
        None => AXES.to_vec(),
    };
    let mut letters = Vec::new();
    for letter in names.iter().filter_map(|name| letter(name)) {
        if letters.contains(&letter) {
            return None;
        }
        letters.push(letter);
    }
    let is_whole = letters.len() == names.len() && letters.contains(&'X') && letters.contains(&'Y');
    is_whole.then_some(letters)
}

/// The letter of an axis, as BioImaging has it.
fn letter(name: &str) -> Option<char> {
    let known = AXES.iter().any(|axis| axis.eq_ignore_ascii_case(name));
    name.chars()
        .next()
        .filter(|_| known)
        .map(|letter| letter.to_ascii_uppercase())
}

/// The group or array at a path.
fn find<'a>(nodes: &'a [Node], path: &str) -> Option<&'a Node> {
    let at = nodes.binary_search_by(|node| node.path.as_str().cmp(path)).ok()?;
    nodes.get(at)
}

/// The array of a level.
fn level<'a>(nodes: &'a [Node], path: &str, axes: usize) -> Result<(&'a Node, Meta)> {
    let node = find(nodes, path).with_context(|| format!("there is no array '{path}'"))?;
    let meta = match &node.kind {
        Kind::Group => bail!("it is a group"),
        Kind::Array2(value) => Meta::of_v2(value)?,
        Kind::Array3(value) => Meta::of_v3(value)?,
    };
    let found = meta.shape.len();
    if found != axes {
        bail!("it has {found} axes, but the image has {axes}");
    }
    Ok((node, meta))
}

/// The attribute of a level.
fn pixels(meta: &Meta) -> Result<Attribute> {
    let (datatype, cell) = meta.of.stored();
    if cell != CellCount::ONE || datatype.is_bytes() {
        bail!("the cells of the image are {datatype}; an image has single numbers");
    }
    let mut attribute = Attribute::new(INTENSITY, datatype, cell);
    let zstd = Filter::Zstd { level: 5 };
    attribute.filters = Pipeline::new(match datatype.size() {
        1 => vec![zstd],
        _ => vec![Filter::Byteshuffle, zstd],
    });
    Ok(attribute)
}

/// The color of hexadecimal digits, such as `FF8000`.
fn color(text: &str) -> Option<[u8; 4]> {
    let digits = text.trim_start_matches('#');
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 6)?;
    let [_, red, green, blue] = number.to_be_bytes();
    Some([red, green, blue, 255])
}

/// The symbol of a unit, as OME-XML has it.
fn symbol(unit: &str) -> &str {
    match unit {
        "angstrom" => "Å",
        "nanometer" => "nm",
        "micrometer" => "µm",
        "millimeter" => "mm",
        "centimeter" => "cm",
        "meter" => "m",
        "nanosecond" => "ns",
        "microsecond" => "µs",
        "millisecond" => "ms",
        "second" => "s",
        "minute" => "min",
        "hour" => "h",
        other => other,
    }
}

/// The levels of an image as a source of arrays.
struct Arrays {
    plan: Plan,
    readers: Vec<Reader>,
    /// Whether the arrays have each axis of the store.
    kept: Vec<bool>,
}

impl Source for Arrays {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn read_box(&mut self, array: usize, ranges: &[Range<u64>]) -> Result<Vec<(String, Column)>> {
        let reader = self.readers.get_mut(array).context("there is no such level")?;
        let mut given = ranges.iter().cloned();
        let all = self.kept.iter().map(|kept| match kept {
            true => given.next().context("an axis has no range"),
            false => Ok(0..1),
        });
        let column = reader.read(&all.collect::<Result<Vec<_>>>()?);
        let column = column.with_context(|| format!("cannot read the level {array} of the image"))?;
        Ok(vec![(INTENSITY.to_owned(), column)])
    }

    fn read_rows(&mut self, _: usize, _: usize) -> Result<Option<Vec<(String, Column)>>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn axes_are_named_or_those_of_old_versions() {
        let of = |axes: Value| self::axes(&json!({ "axes": axes })).map(|found| found.into_iter().collect::<String>());
        assert_eq!(
            of(json!([{"name": "c", "type": "channel"}, {"name": "y"}, {"name": "x"}])).as_deref(),
            Some("CYX")
        );
        assert_eq!(of(json!(["z", "y", "x"])).as_deref(), Some("ZYX"));
        assert_eq!(axes(&json!({})), Some(vec!['T', 'C', 'Z', 'Y', 'X']));
        for odd in [
            json!(["y"]),
            json!(["y", "x", "x"]),
            json!(["lat", "lon"]),
            json!([1, 2]),
            json!([]),
        ] {
            assert_eq!(of(odd.clone()), None, "{odd}");
        }
    }

    #[test]
    fn colors_have_six_digits() {
        assert_eq!(color("FF8000"), Some([255, 128, 0, 255]));
        for odd in ["", "red", "FF80", "FF800012", "GG0000"] {
            assert_eq!(color(odd), None, "{odd}");
        }
    }
}
