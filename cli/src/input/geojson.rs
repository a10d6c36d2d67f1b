//! GeoJSON points as the rows of a table, in the layout of GDAL's vector layers: the coordinates are the columns `_X` and
//! `_Y`, and the properties the others. A third coordinate is the column `z`, and the id of a feature the column `id`.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::Datatype;

use super::json::{JsonValue as Value, members};

/// The columns of the coordinates, which become dimensions.
pub(crate) const AXES: [&str; 2] = ["_X", "_Y"];
/// The column of the third coordinate.
const HEIGHT: &str = "z";
/// The columns that no property may be called.
const OWN: [&str; 4] = [AXES[0], AXES[1], HEIGHT, "id"];

/// The metadata of an array of such points: what it is, its CRS (RFC 7946 allows this one only), its geometry.
pub(crate) fn metadata() -> Vec<(String, String)> {
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    vec![
        entry("dataset_type", "geometry"),
        entry("CRS", WGS_84),
        entry("GeometryType", "Point"),
    ]
}

/// The type of the columns of coordinates.
pub(super) fn datatype(column: &str) -> Option<Datatype> {
    AXES.into_iter()
        .chain([HEIGHT])
        .any(|name| name == column)
        .then_some(Datatype::Float64)
}

/// WGS 84 with the longitude first.
const WGS_84: &str = r#"GEOGCRS["WGS 84 (CRS84)",DATUM["World Geodetic System 1984",ELLIPSOID["WGS 84",6378137,298.257223563,LENGTHUNIT["metre",1]]],PRIMEM["Greenwich",0,ANGLEUNIT["degree",0.0174532925199433]],CS[ellipsoidal,2],AXIS["geodetic longitude (Lon)",east,ORDER[1],ANGLEUNIT["degree",0.0174532925199433]],AXIS["geodetic latitude (Lat)",north,ORDER[2],ANGLEUNIT["degree",0.0174532925199433]],ID["OGC","CRS84"]]"#;

/// Whether the start of a JSON text is that of a FeatureCollection.
pub(super) fn is_collection(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    let wanted = b"\"FeatureCollection\"";
    text.starts_with(b"{") && text.windows(wanted.len()).any(|w| w == wanted)
}

/// Checks a member of the collection before its features.
pub(super) fn check_member(key: &str, value: &[u8]) -> Result<()> {
    let text = String::from_utf8_lossy(value);
    match key {
        "type" => ensure!(
            text == "\"FeatureCollection\"",
            "the file is a {text}, but only a FeatureCollection is read"
        ),
        // Files from before RFC 7946.
        "crs" => ensure!(
            ["CRS84", "EPSG::4326", "EPSG:4326", "null"]
                .iter()
                .any(|known| text.contains(known)),
            "the file has the CRS {}; transform it to WGS 84 first, as in `ogr2ogr -t_srs EPSG:4326 out.geojson IN`",
            crate::show::shorten(&text, 80)
        ),
        _ => {}
    }
    Ok(())
}

/// The row of a feature.
pub(super) fn feature(found: Vec<(String, Value)>) -> Result<Vec<(String, Value)>> {
    let (mut row, mut properties, mut id) = (Vec::new(), Vec::new(), None);
    for (key, value) in found {
        match (key.as_str(), value) {
            ("geometry", Value::Nested(geometry)) => row = coordinates(&geometry)?,
            ("properties", Value::Nested(text)) => properties = members(text.as_bytes())?,
            ("id", value @ (Value::Text(_) | Value::Bare(_))) => id = Some(value),
            ("type", Value::Text(kind)) => ensure!(kind == "Feature", "the object is a {kind}, not a Feature"),
            _ => {}
        }
    }
    if row.is_empty() {
        row = AXES.map(|name| (name.to_owned(), Value::Null)).to_vec();
    }
    row.extend(id.map(|id| ("id".to_owned(), id)));
    for (mut key, value) in properties {
        while OWN.contains(&key.as_str()) {
            key.push('_');
        }
        row.push((key, value));
    }
    Ok(row)
}

/// The coordinates of a geometry.
fn coordinates(geometry: &str) -> Result<Vec<(String, Value)>> {
    let geometry = members(geometry.as_bytes())?;
    let of = |name: &str| geometry.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let kind = match of("type") {
        Some(Value::Text(kind)) => kind.as_str(),
        _ => bail!("the geometry has no type"),
    };
    ensure!(
        kind == "Point",
        "the geometry is a {kind}, but only points are read; take the centres of the geometries, as in \
         `ogr2ogr -dialect sqlite -sql \"select st_centroid(geometry), * from LAYER\" points.geojson IN`"
    );
    let Some(Value::Nested(list)) = of("coordinates") else {
        bail!("the point has no coordinates");
    };
    let numbers: Vec<&serde_json::value::RawValue> =
        serde_json::from_str(list).context("the coordinates of the point are not a list")?;
    ensure!(
        numbers.len() >= 2,
        "the point has {} coordinates, but needs a longitude and a latitude",
        numbers.len()
    );
    let names = AXES.into_iter().chain([HEIGHT]);
    let named = names.zip(numbers).map(|(name, number)| {
        let number = number.get();
        ensure!(
            number.starts_with(|c: char| c == '-' || c.is_ascii_digit()),
            "the coordinate {number} is not a number"
        );
        Ok((name.to_owned(), Value::Bare(number.to_owned())))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> Result<String> {
        let shown = |(key, value): (String, Value)| match value {
            Value::Null => format!("{key} null"),
            Value::Bare(v) => format!("{key}={v}"),
            Value::Text(v) => format!("{key}='{v}'"),
            Value::Nested(v) => format!("{key} {v}"),
        };
        let row = feature(members(text.as_bytes())?)?;
        Ok(row.into_iter().map(shown).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn features_are_rows() {
        let geometry = r#""geometry":{"type":"Point","coordinates":[-1.50,2,3]}"#;
        let text = format!(r#"{{"type":"Feature","id":"a","properties":{{"mag":2,"id":7,"_X":null}},{geometry}}}"#);
        assert_eq!(row(&text).unwrap(), "_X=-1.50 _Y=2 z=3 id='a' mag=2 id_=7 _X_ null");
        let none = r#"{"type":"Feature","geometry":null,"properties":null}"#;
        assert_eq!(row(none).unwrap(), "_X null _Y null");
    }

    #[test]
    fn other_geometries_are_refused_with_advice() {
        let of = |geometry: &str| {
            row(&format!(r#"{{"type":"Feature","geometry":{geometry}}}"#))
                .unwrap_err()
                .to_string()
        };
        assert!(
            of(r#"{"type":"Polygon","coordinates":[]}"#)
                .contains("a Polygon, but only points are read; take the centres")
        );
        assert!(of(r#"{"type":"Point","coordinates":[1]}"#).contains("needs a longitude"));
        assert!(of(r#"{"type":"Point","coordinates":["a",2]}"#).contains("\"a\" is not a number"));
        let crs = check_member("crs", br#"{"type":"name","properties":{"name":"EPSG:3857"}}"#);
        assert!(crs.unwrap_err().to_string().contains("ogr2ogr -t_srs"));
        check_member("crs", b"{\"properties\":{\"name\":\"urn:ogc:def:crs:OGC:1.3:CRS84\"}}").unwrap();
    }

    #[test]
    fn collections_are_known_by_their_start() {
        assert!(is_collection(b" {\"type\": \"FeatureCollection\","));
        assert!(!is_collection(b"[{\"type\": \"FeatureCollection\"}]"));
        assert!(!is_collection(b"{\"a\": 1}"));
    }
}
