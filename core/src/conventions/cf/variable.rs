//! Builds variables from CF attributes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::super::driver::Scope;
use super::super::model::{Axis, Crs, Dataset, Flag, Missing, Variable, VariableRole};
use super::super::{crs, parts, value};
use super::axis::{self, Keys, text};
use super::{SCALARS, Var};
use crate::datatype::Datatype;
use crate::format::metadata::MetaValue;

/// Attributes that the model has a place for.
const CLAIMED: [&str; 20] = [
    "units",
    "calendar",
    "long_name",
    "standard_name",
    "axis",
    "positive",
    "scale_factor",
    "add_offset",
    "missing_value",
    "_FillValue",
    "valid_range",
    "valid_min",
    "valid_max",
    "coordinates",
    "bounds",
    "grid_mapping",
    "flag_values",
    "flag_masks",
    "flag_meanings",
    "nodata",
];

/// Builds the variables of a dataset, which refer to each other by name.
pub(super) struct Builder<'s, 'a> {
    scope: &'s Scope<'a>,
    all: &'s [Var<'a>],
    /// The variables with the coordinates of each dimension.
    coordinates: BTreeMap<&'s str, &'s Var<'a>>,
    /// The length of each dimension: where the written cells of any array end.
    lengths: BTreeMap<&'s str, u64>,
    /// Variables that others name as coordinates, bounds and grid mappings.
    auxiliary: BTreeSet<String>,
    bounds: BTreeSet<String>,
    grids: BTreeSet<String>,
}

impl<'s, 'a> Builder<'s, 'a> {
    pub(super) fn new(scope: &'s Scope<'a>, all: &'s [Var<'a>]) -> Self {
        let mut lengths: BTreeMap<&str, u64> = BTreeMap::new();
        for var in all {
            let ranges = var.array.non_empty.unwrap_or_default();
            for (dimension, range) in var.array.schema.dimensions.iter().zip(ranges) {
                let lo = dimension.domain.as_ref().and_then(|d| d.lo.as_i128());
                let written = lo
                    .zip(range.hi.as_i128())
                    .and_then(|(lo, hi)| u64::try_from(hi - lo + 1).ok());
                let known = lengths.entry(&dimension.name).or_default();
                *known = written.unwrap_or_default().max(*known);
            }
        }
        let named = |key: &'static str| all.iter().flat_map(move |v| words(&v.keys, key)).collect();
        let is_coordinate = |v: &&Var<'_>| match v.array.schema.dimensions.as_slice() {
            [dimension] => dimension.name == v.name,
            _ => false,
        };
        // Variables of the groups around come last and count only if there is no other.
        let coordinates = all.iter().rev().filter(is_coordinate).map(|v| (v.name.as_str(), v));
        Self {
            scope,
            all,
            coordinates: coordinates.collect(),
            lengths,
            auxiliary: named("coordinates"),
            bounds: named("bounds"),
            grids: all.iter().filter_map(grid_mapping).collect(),
        }
    }

    /// The variable, with its grid mapping added to the dataset.
    pub(super) fn variable(&mut self, var: &Var<'a>, dataset: &mut Dataset) -> Variable {
        let keys = &var.keys;
        let mut variable = parts::variable(&var.path, var.array, var.attribute);
        variable.name.clone_from(&var.name);
        variable.role = self.role(var);
        variable.axes = self.axes(var);
        variable.unit = text(keys, "units");
        variable.calendar = text(keys, "calendar");
        variable.long_name = text(keys, "long_name");
        variable.standard_name = text(keys, "standard_name");
        variable.packing = self.packing(var);
        variable.missing = missing(keys, variable.missing);
        variable.coordinates = words(keys, "coordinates");
        variable.bounds = words(keys, "bounds").into_iter().next();
        variable.flags = self.flags(var);
        if let Some(grid) = grid_mapping(var) {
            variable.crs = self.crs(&grid).map(|c| crs::add(dataset, c));
            if variable.crs.is_none() {
                self.scope
                    .note_at(&var.path, &format!("there is no grid mapping '{grid}'"));
            }
        }
        let free = keys.iter().filter(|(k, _)| !CLAIMED.contains(k)).take(256);
        let shown = free.filter_map(|(k, v)| Some((value::shortened(k), value::shown(v)?)));
        variable.attributes = shown.collect();
        variable
    }

    fn role(&self, var: &Var<'_>) -> VariableRole {
        let mut dimensions = var.array.schema.dimensions.iter();
        if self.grids.contains(&var.name) || var.keys.contains_key("grid_mapping_name") {
            VariableRole::GridMapping
        } else if dimensions.len() == 1 && dimensions.all(|d| d.name == var.name) {
            VariableRole::Coordinate
        } else if self.bounds.contains(&var.name) {
            VariableRole::Bounds
        } else if self.auxiliary.contains(&var.name) {
            VariableRole::Auxiliary
        } else {
            VariableRole::Data
        }
    }

    fn axes(&self, var: &Var<'_>) -> Vec<Axis> {
        let all = parts::axes(var.array).into_iter().filter(|a| a.dimension != SCALARS);
        all.map(|mut axis| {
            let written = self.lengths.get(axis.dimension.as_str());
            axis.length = written.copied().filter(|n| *n > 0).or(axis.length);
            self.place(&mut axis);
            axis
        })
        .collect()
    }

    /// Places an axis by the variable with its coordinates.
    pub(super) fn place(&self, axis: &mut Axis) {
        if let Some(found) = self.coordinates.get(axis.name.as_str()) {
            axis::describe(axis, &found.keys);
            let own = parts::axis(found.array, 0);
            parts::place_by_array(self.scope, axis, &found.path, &found.attribute.name, &own);
        }
    }

    fn packing(&self, var: &Var<'_>) -> Option<super::super::model::Packing> {
        let number = |key: &str| value::numbers(var.keys.get(key)?).first().copied();
        let (scale, offset) = (number("scale_factor"), number("add_offset"));
        if scale.is_some_and(|s| !s.is_finite() || s == 0.0) || offset.is_some_and(|o| !o.is_finite()) {
            self.scope.note_at(
                &var.path,
                "a scale_factor or add_offset that is 0 or not finite was ignored",
            );
        }
        value::packing(scale, offset)
    }

    fn flags(&self, var: &Var<'_>) -> Vec<Flag> {
        let list = |key: &str| var.keys.get(key).map(|v| value::list(v)).unwrap_or_default();
        let (values, masks, meanings) = (
            list("flag_values"),
            list("flag_masks"),
            words(&var.keys, "flag_meanings"),
        );
        let count = values.len().max(masks.len());
        if count != meanings.len() {
            self.scope
                .note_at(&var.path, &format!("{count} flags have {} meanings", meanings.len()));
        }
        let flag = |(i, meaning): (usize, String)| {
            let mask = masks.get(i).cloned();
            let value = values.get(i).cloned().or_else(|| mask.clone())?;
            Some(Flag {
                value,
                mask,
                meaning,
                color: None,
            })
        };
        meanings.into_iter().enumerate().filter_map(flag).collect()
    }

    fn crs(&self, name: &str) -> Option<Crs> {
        let found = self.all.iter().find(|v| v.name == name)?;
        let wkt = ["crs_wkt", "spatial_ref"]
            .iter()
            .find_map(|k| value::text(found.keys.get(k)?));
        let mut known = wkt.map(|w| crs::from_wkt(&w)).unwrap_or_default();
        let code = text(&found.keys, "epsg_code").and_then(|c| crs::from_text(&c)?.code);
        known.code = known.code.or(code);
        let names = ["horizontal_datum_name", "crs_wkt", "spatial_ref"];
        let facts = found.keys.iter().filter(|(k, _)| !names.contains(k)).take(64);
        known.cf = facts
            .filter_map(|(k, v)| Some((value::shortened(k), value::shown(v)?)))
            .collect();
        Some(known)
    }
}

/// The name of the variable's grid mapping: `name`, or `name: x y`.
pub(super) fn grid_mapping(var: &Var<'_>) -> Option<String> {
    let first = words(&var.keys, "grid_mapping").into_iter().next()?;
    Some(first.trim_end_matches(':').to_owned())
}

fn words(keys: &Keys<'_>, key: &str) -> Vec<String> {
    let found = text(keys, key).unwrap_or_default();
    found.split_whitespace().take(256).map(str::to_owned).collect()
}

fn missing(keys: &Keys<'_>, mut missing: Missing) -> Missing {
    for value in ["missing_value", "_FillValue"]
        .iter()
        .filter_map(|k| keys.get(k))
        .flat_map(|v| plain_list(v))
    {
        if !missing.values.contains(&value) {
            missing.values.push(value);
        }
    }
    let range = keys.get("valid_range").map(|v| plain_list(v)).unwrap_or_default();
    let one = |key: &str| keys.get(key).and_then(|v| plain_list(v).into_iter().next());
    let (lo, hi) = match <[Value; 2]>::try_from(range) {
        Ok([lo, hi]) => (Some(lo), Some(hi)),
        Err(_) => (None, None),
    };
    missing.valid_min = lo.or_else(|| one("valid_min"));
    missing.valid_max = hi.or_else(|| one("valid_max"));
    missing
}

/// Numbers as JSON. A text counts if it is a number.
fn plain_list(stored: &MetaValue) -> Vec<Value> {
    match stored.datatype {
        Datatype::Blob | Datatype::Any => Vec::new(),
        _ => value::list(stored),
    }
}
