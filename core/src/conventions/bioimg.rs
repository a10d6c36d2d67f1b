//! Microscope images of TileDB-BioImaging: a group of dense arrays `l_0.tdb`, `l_1.tdb`, … and JSON about channels.

use serde_json::Value;

use super::driver::Scope;
use super::members::{Found, members};
use super::model::{Application, Axis, Channel, Coordinates, Dataset, Level, Regular, Role};
use super::object::{Array, Object};
use super::value::{json_lengths, json_text};
use super::{parts, value};

/// The most channels and levels.
const ENTRIES_MAX: usize = 1 << 10;

/// The image of a group.
pub(super) fn image(scope: &Scope<'_>, path: &str, group: &Object) -> Dataset {
    let mut dataset = Dataset {
        application: Application::Bioimg,
        version: group.shown("fmt_version"),
        ..Dataset::default()
    };
    if !group.has("valid") {
        scope.note_at(
            path,
            "the metadata 'valid' is absent: the image is of an old release, or its import did not finish",
        );
    }
    for key in ["metadata", "levels", "pixel_depth", "channels"] {
        if group.has(key) && group.json(key).is_none() && group.number(key).is_none() {
            scope.note_at(path, &format!("the metadata '{key}' is not valid JSON and was ignored"));
        }
    }
    let metadata = group.json("metadata").unwrap_or_default();
    let found = members(scope, path, group);
    let mut arrays: Vec<(u64, &Found<'_>, Array<'_>)> = found.iter().filter_map(level_of).collect();
    arrays.sort_by_key(|(level, ..)| *level);
    let transposed = is_transposed(group);
    if transposed {
        scope.note_at(
            path,
            "the importer of PNG swaps rows and columns, so X is drawn down and Y across",
        );
    }
    let levels: Vec<(&Found<'_>, Array<'_>, Vec<Axis>)> = arrays
        .into_iter()
        .map(|(level, f, array)| (f, array, axes(array, &metadata, pixel_depth(group, level), transposed)))
        .collect();
    let Some((finest, array, axes)) = levels.first() else {
        return dataset;
    };
    for attribute in &array.schema.attributes {
        let mut variable = parts::variable(&finest.path, *array, attribute);
        variable.axes.clone_from(axes);
        // Imports of NIfTI note the scale as those of NetCDF do.
        let number = |key: &str| finest.object.number(&format!("__tiledb_attr.{}.{key}", attribute.name));
        variable.packing = value::packing(number("scale_factor"), number("add_offset"));
        dataset.variables.push(variable);
    }
    dataset.channels = channels(scope, path, group, &metadata, axes, &dataset);
    check_shape(scope, path, group, axes);
    if levels.len() > 1 {
        dataset.levels = levels.iter().map(|(f, _, own)| level(&f.path, own, axes)).collect();
    }
    dataset
}

/// The number of a level, from the metadata of its array or else from its name.
fn level_of<'a>(found: &'a Found<'a>) -> Option<(u64, &'a Found<'a>, Array<'a>)> {
    let array = found.object.array().filter(|a| a.schema.is_dense())?;
    let stored = found
        .object
        .number("level")
        .filter(|n| (0.0..1e6).contains(n))
        .map(|n| n as u64);
    let named = || found.name.strip_prefix("l_")?.strip_suffix(".tdb")?.parse().ok();
    Some((stored.or_else(named)?, found, array))
}

/// Samples that follow each other along X at this level: 3 or 4 with the WebP filter.
fn pixel_depth(group: &Object, level: u64) -> u64 {
    let depth = match group.json("pixel_depth") {
        Some(Value::Object(by_level)) => by_level.get(&level.to_string()).and_then(Value::as_u64),
        Some(Value::Number(n)) => n.as_u64(),
        _ => group.number("pixel_depth").map(|n| n as u64),
    };
    depth.filter(|d| (1..=16).contains(d)).unwrap_or(1)
}

/// The importer of PNG, which alone writes this key on the group, calls rows X and columns Y.
fn is_transposed(group: &Object) -> bool {
    group.has("json_write_kwargs") && group.text("axes").is_some_and(|a| a.starts_with("XY"))
}

fn axes(array: Array<'_>, metadata: &Value, depth: u64, transposed: bool) -> Vec<Axis> {
    let mut axes = parts::axes(array);
    for axis in &mut axes {
        axis.role = match (axis.dimension.as_str(), transposed) {
            ("X", false) | ("Y", true) => Role::X,
            ("Y", false) | ("X", true) => Role::Y,
            ("Z", _) => Role::Z,
            ("T", _) => Role::Time,
            ("C" | "S", _) => Role::Channel,
            _ => continue,
        };
        axis.down = axis.role == Role::Y;
        place(axis, metadata);
    }
    let x = axes.iter().position(|a| a.dimension == "X");
    if let (Some(x), true) = (x, depth > 1) {
        let samples = Axis {
            name: "C".to_owned(),
            role: Role::Channel,
            length: Some(depth),
            coordinates: Coordinates::Index,
            down: false,
            unit: None,
            ..axes[x].clone()
        };
        axes[x].stride = depth;
        axes[x].length = axes[x].length.map(|n| n / depth);
        axes.insert(x + 1, samples);
    }
    axes
}

/// The physical size of a pixel. Perkin-Elmer files have keys with a Greek chi and upsilon.
fn place(axis: &mut Axis, metadata: &Value) {
    let keys: &[&str] = match axis.role {
        Role::X => &["physicalSizeX", "physicalSizeΧ"],
        Role::Y => &["physicalSizeY", "physicalSizeΥ"],
        Role::Z => &["physicalSizeZ", "physicalSizeΖ"],
        Role::Time => &["timeIncrement"],
        _ => return,
    };
    let found = keys.iter().find_map(|k| Some((k, metadata.get(k)?.as_f64()?)));
    let Some((key, step)) = found.filter(|(_, step)| step.is_finite() && *step > 0.0) else {
        return;
    };
    axis.coordinates = Coordinates::Regular(Regular { start: 0.0, step });
    axis.unit = json_text(metadata.get(format!("{key}Unit")));
}

fn level(path: &str, own: &[Axis], finest: &[Axis]) -> Level {
    let length = |a: &Axis| a.length.unwrap_or(0);
    let ratio = |(fine, own): (&Axis, &Axis)| length(fine) as f64 / length(own).max(1) as f64;
    Level {
        path: path.to_owned(),
        shape: own.iter().map(length).collect(),
        factors: finest.iter().zip(own).map(ratio).collect(),
        geotransform: None,
    }
}

fn channels(
    scope: &Scope<'_>,
    path: &str,
    group: &Object,
    metadata: &Value,
    axes: &[Axis],
    dataset: &Dataset,
) -> Vec<Channel> {
    let along = axes.iter().find(|a| a.role == Role::Channel);
    let variable = dataset.variables.first().map(|v| v.name.clone()).unwrap_or_default();
    let described = metadata.get("channels").and_then(|c| c.get("intensity")?.as_array());
    let names = group.json("channels");
    let names = names.as_ref().and_then(Value::as_array);
    let count = described.map(Vec::len).or_else(|| names.map(Vec::len)).unwrap_or(0);
    if let Some(length) = along.and_then(|a| a.length).filter(|_| count > 0)
        && u64::try_from(count) != Ok(length)
    {
        scope.note_at(
            path,
            &format!("{count} channels are described, and the array has {length}"),
        );
    }
    let first = along.and_then(|a| a.first).unwrap_or(0);
    let channel = |i: usize| {
        let own = described.and_then(|d| d.get(i)).cloned().unwrap_or_default();
        let number = |key: &str| own.get(key).and_then(Value::as_f64);
        let wavelength = number("emissionWavelength").map(|w| {
            let unit = json_text(own.get("emissionWavelengthUnit")).unwrap_or_default();
            format!("{w} {unit}").trim_end().to_owned()
        });
        Channel {
            name: json_text(own.get("name")).or_else(|| json_text(names?.get(i))),
            variable: variable.clone(),
            index: along.and_then(|_| first.checked_add(i64::try_from(i).ok()?)),
            color: own.get("color").and_then(color),
            range: number("min").zip(number("max")).map(|(lo, hi)| [lo, hi]),
            wavelength: wavelength.map(|w| value::shortened(&w)),
            ..Channel::default()
        }
    };
    (0..count.min(ENTRIES_MAX)).map(channel).collect()
}

fn color(json: &Value) -> Option<[u8; 4]> {
    let part = |key: &str| u8::try_from(json.get(key)?.as_u64()?).ok();
    Some([
        part("red")?,
        part("green")?,
        part("blue")?,
        part("alpha").unwrap_or(255),
    ])
}

/// Notes a level list that contradicts the arrays.
fn check_shape(scope: &Scope<'_>, path: &str, group: &Object, axes: &[Axis]) {
    let levels = group.json("levels");
    let first = levels
        .as_ref()
        .and_then(|l| json_lengths(l.as_array()?.first()?.get("shape")));
    let stored: Option<Vec<u64>> = axes
        .iter()
        .filter(|a| a.stride == 1 || a.role != Role::Channel)
        .map(|a| a.length)
        .collect();
    if let (Some(listed), Some(stored)) = (first, stored)
        && listed != stored
        && axes.iter().all(|a| a.stride <= 1)
    {
        scope.note_at(
            path,
            &format!("the metadata 'levels' says {listed:?}, and the array has {stored:?}; the array counts"),
        );
    }
}
