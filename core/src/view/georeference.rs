//! The georeference of an array, as attributes of the Zarr view: the grid mapping of CF, and the GeoZarr conventions
//! `proj` and `spatial`. Does no I/O.

use serde_json::{Map, Value, json};

use super::meaning::Meaning;
use super::members::GRID_MAPPING;
use crate::conventions::{Crs, Role};

/// A Zarr convention: its name, its identifier, and what it is for.
pub(super) type Convention = (&'static str, &'static str, &'static str);
const PROJ: Convention = (
    "proj",
    "f17cb550-5864-4468-aeb7-f3180cfb622f",
    "Coordinate reference system information for geospatial data",
);
const SPATIAL: Convention = (
    "spatial",
    "689b58e2-cf7b-45e0-9fff-9cfc0883d6b4",
    "Spatial coordinate information",
);

pub(super) const MULTISCALES: Convention = (
    "multiscales",
    "d35379db-88df-4056-af3a-620245f8e347",
    "Multiscale layout of zarr datasets",
);

/// The attributes of the grid mapping; `None` if there is no map projection that CF can express.
pub(super) fn grid_mapping(meaning: &Meaning) -> Option<Map<String, Value>> {
    let (variable, crs) = meaning.placed()?;
    let mut found: Map<String, Value> = crs.cf.clone().into_iter().collect();
    if let Some(wkt) = &crs.wkt {
        // GDAL and older readers look for the second name.
        for key in ["crs_wkt", GRID_MAPPING] {
            found.entry(key).or_insert_with(|| json!(wkt));
        }
    }
    if found.is_empty() {
        return None;
    }
    if let Some(g) = variable.geotransform.or_else(|| transform(meaning)) {
        let numbers: Vec<String> = g.iter().map(ToString::to_string).collect();
        found.entry("GeoTransform").or_insert_with(|| json!(numbers.join(" ")));
    }
    Some(found)
}

/// The attributes of an attribute's values that say where they lie. `names` are those of the dimensions.
pub(super) fn of_values(meaning: &Meaning, attribute: &str, names: &[&str]) -> Map<String, Value> {
    let mut found = Map::new();
    let variable = meaning.variable(attribute);
    let Some((variable, crs)) = variable.and_then(|v| Some((v, meaning.crs.get(v.crs?)?))) else {
        return found;
    };
    if grid_mapping(meaning).is_some() {
        found.insert("grid_mapping".to_owned(), json!(GRID_MAPPING));
    }
    let mut conventions = Vec::new();
    let projection = projection(crs);
    if !projection.is_empty() {
        conventions.push(PROJ);
        found.extend(projection);
    }
    let place = variable.geotransform.or_else(|| transform(meaning));
    if let Some(spatial) = place.and_then(|g| spatial(meaning, g, names)) {
        conventions.push(SPATIAL);
        found.extend(spatial);
    }
    if !conventions.is_empty() {
        let all: Vec<Value> = conventions.into_iter().map(convention).collect();
        found.insert("zarr_conventions".to_owned(), Value::Array(all));
    }
    found
}

/// A convention as an entry of `zarr_conventions`.
pub(super) fn convention((name, uuid, description): Convention) -> Value {
    let repository = format!("zarr-conventions/{name}");
    json!({
        "uuid": uuid,
        "schema_url": format!("https://raw.githubusercontent.com/{repository}/refs/tags/v0.1/schema.json"),
        "spec_url": format!("https://github.com/{repository}/blob/v0.1/README.md"),
        "name": name,
        "description": description,
    })
}

fn projection(crs: &Crs) -> Map<String, Value> {
    let is_code = |code: &&String| {
        let parts = code.split_once(':');
        parts.is_some_and(|(a, n)| a.bytes().all(|b| b.is_ascii_uppercase()) && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let mut found = Map::new();
    if let Some(code) = crs.code.as_ref().filter(is_code) {
        found.insert("proj:code".to_owned(), json!(code));
    }
    if let Some(json) = &crs.projjson {
        found.insert("proj:projjson".to_owned(), json.clone());
    }
    // The first version of well-known text has other words.
    let is_second = |wkt: &&String| wkt.split('[').next().is_some_and(|word| word.ends_with("CRS"));
    if let Some(wkt) = crs.wkt.as_ref().filter(is_second) {
        found.insert("proj:wkt2".to_owned(), json!(wkt));
    }
    found
}

/// The position of evenly spaced coordinates, as GDAL's geotransform.
fn transform(meaning: &Meaning) -> Option<[f64; 6]> {
    let along = |role| meaning.with_role(role).and_then(|(_, axis)| axis.regular());
    let (x, y) = (along(Role::X)?, along(Role::Y)?);
    Some([x.start - x.step / 2.0, x.step, 0.0, y.start - y.step / 2.0, 0.0, y.step])
}

fn spatial(meaning: &Meaning, g: [f64; 6], names: &[&str]) -> Option<Map<String, Value>> {
    let ((x, columns), (y, rows)) = (meaning.with_role(Role::X)?, meaning.with_role(Role::Y)?);
    let (x, y) = (names.get(x)?, names.get(y)?);
    // The transform is that of the first position, and readers start with the first cell.
    if columns.before + rows.before > 0 {
        return None;
    }
    let (width, height) = (columns.length, rows.length);
    let corner = |column: f64, row: f64| (g[0] + column * g[1] + row * g[2], g[3] + column * g[4] + row * g[5]);
    let (w, h) = (width as f64, height as f64);
    let corners = [corner(0.0, 0.0), corner(w, 0.0), corner(0.0, h), corner(w, h)];
    let ends = |of: fn(&(f64, f64)) -> f64| {
        let all = corners.iter().map(of);
        (
            all.clone().fold(f64::INFINITY, f64::min),
            all.fold(f64::NEG_INFINITY, f64::max),
        )
    };
    let ((west, east), (south, north)) = (ends(|c| c.0), ends(|c| c.1));
    let found = json!({
        "spatial:dimensions": [y, x],
        "spatial:shape": [height, width],
        "spatial:transform": [g[1], g[2], g[0], g[4], g[5], g[3]],
        "spatial:bbox": [west, south, east, north],
        "spatial:registration": "pixel",
    });
    found.as_object().cloned()
}
