//! What the attributes of a CF coordinate say about its axis.

use std::collections::BTreeMap;

use super::super::model::{Axis, Role};
use super::super::value;
use crate::format::metadata::MetaValue;

/// The attributes of a variable.
pub(in crate::conventions) type Keys<'a> = BTreeMap<&'a str, &'a MetaValue>;

/// The attribute with this name, as a short text.
pub(in crate::conventions) fn text(keys: &Keys<'_>, name: &str) -> Option<String> {
    value::text(keys.get(name)?)
        .map(|t| value::shortened(&t))
        .filter(|t| !t.is_empty())
}

/// Fills in an axis from the attributes of its coordinates.
pub(in crate::conventions) fn describe(axis: &mut Axis, keys: &Keys<'_>) {
    axis.unit = text(keys, "units");
    axis.calendar = text(keys, "calendar");
    axis.long_name = text(keys, "long_name");
    axis.standard_name = text(keys, "standard_name");
    if let Some(role) = role(keys) {
        axis.role = role;
    }
}

/// The role that the attributes state: `axis` first, then `units`, then `standard_name`.
pub(in crate::conventions) fn role(keys: &Keys<'_>) -> Option<Role> {
    let stated = text(keys, "axis").and_then(|axis| match axis.as_str() {
        "X" => Some(Role::X),
        "Y" => Some(Role::Y),
        "Z" => Some(Role::Z),
        "T" => Some(Role::Time),
        _ => None,
    });
    let vertical = || keys.contains_key("positive").then_some(Role::Z);
    stated
        .or_else(|| of_units(&text(keys, "units")?))
        .or_else(vertical)
        .or_else(|| of_standard_name(&text(keys, "standard_name")?))
}

fn of_units(units: &str) -> Option<Role> {
    if units.contains(" since ") {
        return Some(Role::Time);
    }
    match units {
        "degrees_east" | "degree_east" | "degrees_E" | "degree_E" | "degreesE" | "degreeE" => Some(Role::X),
        "degrees_north" | "degree_north" | "degrees_N" | "degree_N" | "degreesN" | "degreeN" => Some(Role::Y),
        "Pa" | "hPa" | "bar" | "mbar" | "millibar" | "decibar" | "dbar" | "atm" => Some(Role::Z),
        _ => None,
    }
}

fn of_standard_name(name: &str) -> Option<Role> {
    Some(match name {
        "longitude" | "grid_longitude" | "projection_x_coordinate" | "projection_x_angular_coordinate" => Role::X,
        "latitude" | "grid_latitude" | "projection_y_coordinate" | "projection_y_angular_coordinate" => Role::Y,
        "time" => Role::Time,
        "height" | "depth" | "altitude" | "air_pressure" | "height_above_reference_ellipsoid" => Role::Z,
        name if name.starts_with("atmosphere_") && name.ends_with("_coordinate") => Role::Z,
        name if name.starts_with("ocean_") && name.ends_with("_coordinate") => Role::Z,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_axis_units_and_names() {
        let role_of = |pairs: &[(&str, &str)]| {
            let stored: Vec<_> = pairs.iter().map(|(k, v)| (*k, MetaValue::text(v))).collect();
            role(&stored.iter().map(|(k, v)| (*k, v)).collect())
        };
        assert_eq!(role_of(&[("units", "degrees_east")]), Some(Role::X));
        assert_eq!(role_of(&[("units", "degree_N")]), Some(Role::Y));
        assert_eq!(role_of(&[("units", "degreesE")]), Some(Role::X));
        assert_eq!(role_of(&[("units", "degrees")]), None);
        assert_eq!(role_of(&[("units", "hPa")]), Some(Role::Z));
        assert_eq!(role_of(&[("units", "m"), ("positive", "down")]), Some(Role::Z));
        assert_eq!(role_of(&[("units", "days since 2000-01-01")]), Some(Role::Time));
        assert_eq!(
            role_of(&[("units", "m"), ("standard_name", "projection_x_coordinate")]),
            Some(Role::X)
        );
        assert_eq!(role_of(&[("axis", "Y"), ("units", "degrees_east")]), Some(Role::Y));
        assert_eq!(role_of(&[("units", "m")]), None);
    }
}
