//! Rasters of GDAL: bands over rows and columns, with an XML text that tells size, position and bands.

mod pam;

use super::driver::Scope;
use super::members::{members, resolve};
use super::model::{Application, Axis, Channel, Coordinates, Dataset, Flag, Level, Packing, Regular, Role, Variable};
use super::object::{Array, Object};
use super::{crs, parts};
use crate::vfs::last_part;
use pam::Pam;

/// The most levels.
const LEVELS_MAX: usize = 32;

/// The raster of a group, whose levels are the arrays `l_0`, `l_1`, …
pub(super) fn group(scope: &Scope<'_>, path: &str, group: &Object) -> Dataset {
    // GDAL finds levels by their paths. Stale members are noted when they are looked for.
    let found = members(scope, path, group);
    let mut levels = Vec::new();
    for number in 0..LEVELS_MAX {
        let name = format!("l_{number}");
        let listed = found
            .iter()
            .find(|f| last_part(&f.path) == name)
            .map(|f| f.path.clone());
        let at = listed.or_else(|| (number == 0).then(|| resolve(path, &name)).flatten());
        let Some(array) = at.as_ref().and_then(|at| scope.object(at)?.array()) else {
            break;
        };
        levels.push((at.unwrap_or_default(), array));
    }
    let Some((at, finest)) = levels.first() else {
        if scope.why_missing(&resolve(path, "l_0").unwrap_or_default()).is_some() {
            scope.note_at(path, "there is no array 'l_0' in this raster");
        }
        return Dataset {
            application: Application::GdalRaster,
            ..Dataset::default()
        };
    };
    let mut dataset = array(scope, at, *finest);
    if levels.len() > 1 {
        dataset.levels = levels.iter().map(|(at, array)| level(scope, at, *array)).collect();
        let finest = dataset.levels.first().map(|l| l.shape.clone()).unwrap_or_default();
        for level in &mut dataset.levels {
            let ratio = |(fine, own): (&u64, &u64)| *fine as f64 / (*own).max(1) as f64;
            level.factors = finest.iter().zip(&level.shape).map(ratio).collect();
        }
    }
    dataset
}

fn level(scope: &Scope<'_>, path: &str, array: Array<'_>) -> Level {
    let pam = read(scope, path, array);
    let axes = axes(array, &pam);
    Level {
        path: path.to_owned(),
        shape: axes.iter().map(|a| a.length.unwrap_or(0)).collect(),
        factors: Vec::new(),
        geotransform: pam.geotransform,
    }
}

fn read(scope: &Scope<'_>, path: &str, array: Array<'_>) -> Pam {
    let Some(text) = array.object.text("_gdal") else {
        return Pam::default();
    };
    Pam::parse(&text).unwrap_or_else(|why| {
        scope.note_at(
            path,
            &format!("the metadata '_gdal' is not valid XML and was ignored: {why}"),
        );
        Pam::default()
    })
}

/// The raster of an array.
pub(super) fn array(scope: &Scope<'_>, path: &str, array: Array<'_>) -> Dataset {
    let pam = read(scope, path, array);
    let mut dataset = Dataset {
        application: Application::GdalRaster,
        attributes: pam.items.clone(),
        ..Dataset::default()
    };
    let mut free = parts::attributes(scope, path, array.object, &["_gdal", "dataset_type", "overviews"]);
    dataset.attributes.append(&mut free);
    let axes = axes(array, &pam);
    let crs = pam.crs.clone().map(|c| crs::add(&mut dataset, c));
    for attribute in &array.schema.attributes {
        let mut variable = Variable {
            axes: axes.clone(),
            crs,
            geotransform: pam.geotransform,
            ..parts::variable(path, array, attribute)
        };
        // `TDB_VALUES` has every band along an axis, `TDB_VALUES_2` is the second.
        let single = attribute
            .name
            .strip_prefix("TDB_VALUES_")
            .and_then(|n| n.parse::<usize>().ok().filter(|n| *n > 0));
        if single.is_some() || attribute.name == "TDB_VALUES" {
            describe_bands(&mut dataset, &mut variable, &pam, single);
        }
        dataset.variables.push(variable);
    }
    // Colors that some bands state leave none to guess for the others.
    let stated = dataset.channels.iter().any(|c| c.interpretation.is_some());
    let count = if stated { 0 } else { dataset.channels.len() };
    for (i, channel) in dataset.channels.iter_mut().enumerate() {
        channel.interpretation = channel
            .interpretation
            .take()
            .or_else(|| Some(usual_color(i, count)?.to_owned()));
    }
    dataset
}

/// The axes of an array that GDAL wrote as a raster, without the rest of its description. `None` for other objects.
pub fn raster_axes(object: &Object) -> Option<Vec<Axis>> {
    let (array, text) = (object.array()?, object.text("_gdal")?);
    Some(axes(array, &Pam::parse(&text).ok()?))
}

/// What GDAL takes a band for that does not say: the first three of several are red, green and blue.
const fn usual_color(band: usize, count: usize) -> Option<&'static str> {
    match (count, band) {
        (1, _) => Some("gray"),
        (3 | 4, 0) => Some("red"),
        (3 | 4, 1) => Some("green"),
        (3 | 4, 2) => Some("blue"),
        (4, 3) => Some("alpha"),
        _ => None,
    }
}

fn axes(array: Array<'_>, pam: &Pam) -> Vec<Axis> {
    let mut axes = parts::axes(array);
    for axis in &mut axes {
        let (role, size, step) = match axis.dimension.as_str() {
            "X" => (
                Role::X,
                pam.size.map(|s| s[0]),
                pam.geotransform.map(|g| (g[0], g[1], g[2])),
            ),
            "Y" => (
                Role::Y,
                pam.size.map(|s| s[1]),
                pam.geotransform.map(|g| (g[3], g[5], g[4])),
            ),
            "BANDS" => (Role::Channel, None, None),
            _ => continue,
        };
        axis.role = role;
        // The domain is padded to whole tiles.
        axis.length = size.filter(|n| axis.length.is_none_or(|len| *n <= len)).or(axis.length);
        axis.coordinates = Coordinates::Index;
        axis.down = axis.role == Role::Y;
        if let Some((start, step, _)) = step.filter(|(_, step, rotation)| *rotation == 0.0 && *step != 0.0) {
            let start = start + step / 2.0;
            axis.coordinates = Coordinates::Regular(Regular { start, step });
            axis.down = axis.role == Role::Y && step < 0.0;
        }
    }
    axes
}

/// Adds the bands of a variable to the channels, and what all of them agree on to the variable.
fn describe_bands(dataset: &mut Dataset, variable: &mut Variable, pam: &Pam, single: Option<usize>) {
    let along = variable.axes.iter().find(|a| a.role == Role::Channel);
    let first = along.and_then(|a| a.first).unwrap_or(1);
    let count = along.and_then(|a| a.length).unwrap_or(1).min(1 << 12);
    let numbers: Vec<usize> = match single {
        Some(number) => vec![number],
        None => (1..=usize::try_from(count).unwrap_or(1)).collect(),
    };
    let mut packings: Vec<Option<Packing>> = Vec::new();
    let mut units: Vec<Option<String>> = Vec::new();
    for number in &numbers {
        let band = pam.bands.get(number).cloned().unwrap_or_default();
        packings.push(band.packing);
        units.push(band.unit.clone());
        let offset = i64::try_from(*number - 1).unwrap_or(0);
        dataset.channels.push(Channel {
            name: band.description,
            variable: variable.name.clone(),
            index: (single.is_none() && along.is_some()).then(|| first.saturating_add(offset)),
            interpretation: band.interpretation,
            unit: band.unit,
            packing: band.packing,
            ..Channel::default()
        });
    }
    if packings.windows(2).all(|w| w[0] == w[1]) {
        variable.packing = packings.first().copied().flatten();
    }
    if units.windows(2).all(|w| w[0] == w[1]) {
        variable.unit = units.first().cloned().flatten();
    }
    if let [number] = numbers.as_slice()
        && let Some(band) = pam.bands.get(number)
    {
        variable.long_name.clone_from(&band.description);
        variable.flags = flags(&band.categories, &band.colors);
    }
}

fn flags(categories: &[String], colors: &[[u8; 4]]) -> Vec<Flag> {
    let flag = |i: usize| Flag {
        value: i.into(),
        mask: None,
        meaning: categories.get(i).cloned().unwrap_or_default(),
        color: colors.get(i).copied(),
    };
    let all = (0..categories.len().max(colors.len())).map(flag);
    all.filter(|f| !f.meaning.is_empty() || f.color.is_some()).collect()
}
