//! A raster or an image with several levels as one Zarr hierarchy: `zarr/zarr.json`, `zarr/0/`, `zarr/1/`, … Does no I/O.
//!
//! Each level is the hierarchy of its array. The attributes of the whole describe the levels: a raster has those of the
//! GeoZarr convention `multiscales`, and an image those of OME-NGFF 0.5.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::fill::Facts;
use super::levels::Pyramid;
use super::members::{Member, dimension_names, members, values_a_cell};
use super::{georeference, zarr};
use crate::array::Array;
use crate::conventions::{Application, Axis, Channel, Role, Variable};
use crate::datatype::{Datatype, Physical};
use crate::error::Result;

/// An opened level.
pub(super) type Opened = (Array, Arc<Facts>);

impl Pyramid {
    /// `zarr.json` of the group. It repeats the metadata of all levels.
    pub(super) fn document(&self, levels: &[Opened]) -> Result<Value> {
        let mut all = Map::new();
        for (number, (array, facts)) in levels.iter().enumerate() {
            let mut group = zarr::group(array, facts)?;
            let members = group
                .as_object_mut()
                .and_then(|group| group.remove("consolidated_metadata"))
                .and_then(|mut consolidated| consolidated.get_mut("metadata").map(Value::take));
            all.insert(number.to_string(), group);
            for (name, member) in members.as_ref().and_then(Value::as_object).into_iter().flatten() {
                all.insert(format!("{number}/{name}"), member.clone());
            }
        }
        let attributes = match self.dataset.application {
            Application::GdalRaster => self.multiscales(levels),
            _ => self.ome(levels),
        };
        Ok(json!({
            "zarr_format": 3,
            "node_type": "group",
            "attributes": attributes,
            "consolidated_metadata": { "kind": "inline", "must_understand": false, "metadata": all },
        }))
    }

    /// The attributes of GeoZarr: `multiscales`, and the place of the finest level.
    fn multiscales(&self, levels: &[Opened]) -> Map<String, Value> {
        let Some(variable) = self.dataset.variables.first() else {
            return Map::new();
        };
        let place = |(array, facts): &Opened| {
            let names = dimension_names(array.schema());
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            georeference::of_values(&facts.meaning, &variable.attribute, &names)
        };
        let is_spatial = |axis: &&(usize, &Axis)| matches!(axis.1.role, Role::X | Role::Y);
        let axes: Vec<(usize, &Axis)> = variable.axes.iter().enumerate().collect();
        let spatial: Vec<usize> = axes.iter().filter(is_spatial).map(|(at, _)| *at).collect();
        let mut layout = Vec::new();
        for (number, level) in levels.iter().enumerate() {
            let factor = |axis: &usize| self.factor(number, *axis);
            let scale: Vec<f64> = spatial.iter().map(factor).collect();
            let mut entry = Map::new();
            entry.insert("asset".to_owned(), json!(number.to_string()));
            if number > 0 {
                entry.insert("derived_from".to_owned(), json!("0"));
            }
            let translation = vec![0.0; scale.len()];
            entry.insert(
                "transform".to_owned(),
                json!({ "scale": scale, "translation": translation }),
            );
            let place = place(level).into_iter();
            entry.extend(place.filter(|(key, _)| matches!(key.as_str(), "spatial:shape" | "spatial:transform")));
            layout.push(Value::Object(entry));
        }
        let mut found = levels.first().map(place).unwrap_or_default();
        found.remove("grid_mapping");
        let conventions = found.entry("zarr_conventions").or_insert_with(|| json!([]));
        if let Some(conventions) = conventions.as_array_mut() {
            conventions.push(georeference::convention(georeference::MULTISCALES));
        }
        found.insert("multiscales".to_owned(), json!({ "layout": layout }));
        found
    }

    /// How many positions of the finest level one of this level covers along an axis.
    fn factor(&self, level: usize, axis: usize) -> f64 {
        let found = self.dataset.levels.get(level).and_then(|level| level.factors.get(axis));
        found.copied().unwrap_or(1.0)
    }

    /// The attributes of OME-NGFF, of the variables whose axes it allows.
    fn ome(&self, levels: &[Opened]) -> Map<String, Value> {
        let mut found = Map::new();
        let shown: Vec<(&Variable, Value)> = self
            .dataset
            .variables
            .iter()
            .filter_map(|v| Some((v, self.multiscale(v, levels)?)))
            .collect();
        let Some((first, _)) = shown.first() else { return found };
        let mut ome = json!({ "version": "0.5" });
        if let Some(channels) = self.channels(first) {
            ome["omero"] = json!({ "channels": channels });
        }
        ome["multiscales"] = shown.into_iter().map(|(_, multiscale)| multiscale).collect();
        found.insert("ome".to_owned(), ome);
        found
    }

    /// An entry of `multiscales`.
    fn multiscale(&self, variable: &Variable, levels: &[Opened]) -> Option<Value> {
        let finest = levels.first()?.0.schema();
        let names = dimension_names(finest);
        let kinds: Option<Vec<u8>> = variable.axes.iter().map(|axis| rank(axis.role)).collect();
        let kinds = kinds?;
        let same = variable.axes.iter().zip(&finest.dimensions);
        let is_plain = variable.axes.len() == finest.dimensions.len()
            && same.into_iter().all(|(a, d)| a.dimension == d.name && a.stride <= 1)
            && values_a_cell(finest, &variable.attribute) == 1;
        let is_ordered = kinds.is_sorted_by(|a, b| a < b) && kinds.iter().filter(|kind| **kind >= SPACE).count() >= 2;
        if !is_plain || !is_ordered {
            return None;
        }
        let axes = variable
            .axes
            .iter()
            .zip(&names)
            .map(|(axis, name)| described(axis, name));
        let axes: Vec<Value> = axes.collect();
        let mut datasets = Vec::new();
        for (number, (array, _)) in levels.iter().enumerate() {
            let wanted = Member::Values(variable.attribute.clone());
            let (node, _) = members(array.schema()).into_iter().find(|(_, m)| *m == wanted)?;
            let steps = variable.axes.iter().enumerate();
            let steps = steps.map(|(at, axis)| (step(axis), self.factor(number, at)));
            let (scale, translation): (Vec<f64>, Vec<f64>) = steps
                .map(|(step, factor)| (step * factor, step * (factor - 1.0) / 2.0))
                .unzip();
            let mut transformations = vec![json!({ "type": "scale", "scale": scale })];
            if translation.iter().any(|t| *t != 0.0) {
                transformations.push(json!({ "type": "translation", "translation": translation }));
            }
            datasets.push(json!({
                "path": format!("{number}/{node}"),
                "coordinateTransformations": transformations,
            }));
        }
        let name = match self.dataset.variables.len() {
            1 => &self.name,
            _ => &variable.name,
        };
        Some(json!({ "name": name, "axes": axes, "datasets": datasets }))
    }

    /// The channels of a variable, if the range of each is known.
    fn channels(&self, variable: &Variable) -> Option<Vec<Value>> {
        let channels: Vec<&Channel> = self
            .dataset
            .channels
            .iter()
            .filter(|c| c.variable == variable.name)
            .collect();
        let along = variable.axes.iter().find(|axis| axis.role == Role::Channel);
        let count = along.map_or(Some(1), |axis| axis.length)?;
        if channels.is_empty() || u64::try_from(channels.len()) != Ok(count) {
            return None;
        }
        let limits = Datatype::from_name(variable.datatype).ok().and_then(limits);
        let one = |(number, channel): (usize, &&Channel)| {
            let [low, high] = channel.range.or(limits)?;
            let [min, max] = limits.unwrap_or([low, high]);
            let [red, green, blue, _] = channel.color.unwrap_or([255; 4]);
            let label = channel.name.clone().unwrap_or_else(|| format!("Channel {number}"));
            Some(json!({
                "label": label,
                "color": format!("{red:02X}{green:02X}{blue:02X}"),
                "window": { "start": low, "end": high, "min": min, "max": max },
                "active": true,
            }))
        };
        channels.iter().enumerate().map(one).collect()
    }
}

/// The first rank of an axis in space.
const SPACE: u8 = 2;

/// The place of an axis in the order of OME-NGFF.
const fn rank(role: Role) -> Option<u8> {
    match role {
        Role::Time => Some(0),
        Role::Channel => Some(1),
        Role::Z => Some(SPACE),
        Role::Y => Some(3),
        Role::X => Some(4),
        Role::Row | Role::Column | Role::Other => None,
    }
}

/// An axis of OME-NGFF.
fn described(axis: &Axis, name: &str) -> Value {
    let kind = match axis.role {
        Role::Time => "time",
        Role::Channel => "channel",
        _ => "space",
    };
    let mut found = json!({ "name": name, "type": kind });
    let unit = axis.unit.as_deref().filter(|_| kind != "channel").and_then(unit);
    if let Some(unit) = unit {
        found["unit"] = json!(unit);
    }
    found
}

/// The distance between positions of the finest level.
fn step(axis: &Axis) -> f64 {
    let regular = axis.coordinates.regular().filter(|_| axis.role != Role::Channel);
    regular.map_or(1.0, |regular| regular.step.abs())
}

/// The name that UDUNITS has for a unit.
fn unit(text: &str) -> Option<&'static str> {
    Some(match text {
        "m" | "meter" | "metre" => "meter",
        "cm" | "centimeter" => "centimeter",
        "mm" | "millimeter" => "millimeter",
        "µm" | "μm" | "um" | "micrometer" | "micron" => "micrometer",
        "nm" | "nanometer" => "nanometer",
        "Å" | "angstrom" => "angstrom",
        "s" | "second" => "second",
        "ms" | "millisecond" => "millisecond",
        "µs" | "μs" | "us" | "microsecond" => "microsecond",
        "min" | "minute" => "minute",
        "h" | "hour" => "hour",
        _ => return None,
    })
}

/// The least and the greatest value of small integers.
fn limits(datatype: Datatype) -> Option<[f64; 2]> {
    Some(match datatype.physical() {
        Physical::U8 => [0.0, u8::MAX.into()],
        Physical::I8 => [i8::MIN.into(), i8::MAX.into()],
        Physical::U16 => [0.0, u16::MAX.into()],
        Physical::I16 => [i16::MIN.into(), i16::MAX.into()],
        Physical::U32 => [0.0, u32::MAX.into()],
        Physical::I32 => [i32::MIN.into(), i32::MAX.into()],
        _ => return None,
    })
}
