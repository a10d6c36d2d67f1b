//! Coordinate reference systems as text: their names and codes. Their definitions are passed on unread.

use serde_json::Value;

use super::model::{Crs, Dataset};
use super::value;

/// A CRS of PROJJSON, well-known text, or a code such as `EPSG:4326`.
pub(super) fn from_text(text: &str) -> Option<Crs> {
    let text = text.trim();
    if let Ok(json @ Value::Object(_)) = serde_json::from_str::<Value>(text) {
        return Some(from_projjson(json));
    }
    if text.contains('[') {
        return Some(from_wkt(text));
    }
    let is_code = text.split_once(':').is_some_and(|(a, c)| {
        let plain =
            |s: &str| !s.is_empty() && s.len() <= 32 && s.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        plain(a) && plain(c)
    });
    is_code.then(|| Crs {
        code: Some(text.to_owned()),
        ..Crs::default()
    })
}

/// A CRS of well-known text.
pub(super) fn from_wkt(text: &str) -> Crs {
    let text = text.trim();
    let name = text.split('"').nth(1).map(value::shortened);
    Crs {
        name: name.filter(|n| !n.is_empty()),
        code: wkt_code(text),
        wkt: Some(text.to_owned()),
        ..Crs::default()
    }
}

fn from_projjson(json: Value) -> Crs {
    let id = json.get("id");
    let authority = id.and_then(|id| id.get("authority")?.as_str());
    let code = id.and_then(|id| match id.get("code")? {
        Value::Number(n) => Some(n.to_string()),
        Value::String(s) => Some(s.clone()),
        _ => None,
    });
    Crs {
        name: value::json_text(json.get("name")),
        code: authority.zip(code).map(|(a, c)| value::shortened(&format!("{a}:{c}"))),
        projjson: Some(json),
        ..Crs::default()
    }
}

/// The code of the outermost element of well-known text: `AUTHORITY["EPSG","4326"]` or `ID["EPSG",4326]`.
fn wkt_code(text: &str) -> Option<String> {
    let (mut depth, mut quoted) = (0_u32, false);
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '[' | '(' if !quoted => depth += 1,
            ']' | ')' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 1 => {
                let rest = text.get(i + 1..).unwrap_or_default().trim_start();
                let inside = ["AUTHORITY[", "ID["].iter().find_map(|name| rest.strip_prefix(name));
                let inside = inside.and_then(|rest| rest.split(']').next());
                if let Some((authority, code)) = inside.and_then(|inside| inside.split_once(',')) {
                    let plain = |s: &str| s.trim().trim_matches('"').to_owned();
                    let code = code.split(',').next().unwrap_or_default();
                    return Some(value::shortened(&format!("{}:{}", plain(authority), plain(code))));
                }
            }
            _ => {}
        }
    }
    None
}

/// Adds a CRS to those of a dataset, once, and returns its index.
pub(super) fn add(dataset: &mut Dataset, crs: Crs) -> usize {
    let known = dataset.crs.iter().position(|c| *c == crs);
    known.unwrap_or_else(|| {
        dataset.crs.push(crs);
        dataset.crs.len() - 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outermost_code_counts() {
        let wkt1 = "GEOGCS[\"WGS 84, a\",DATUM[\"D\",AUTHORITY[\"EPSG\",\"6326\"]],AUTHORITY[\"EPSG\",\"4326\"]]";
        assert_eq!(from_wkt(wkt1).code.as_deref(), Some("EPSG:4326"));
        assert_eq!(from_wkt(wkt1).name.as_deref(), Some("WGS 84, a"));
        let wkt2 = "PROJCRS[\"U\", BASEGEOGCRS[\"W\",ID[\"EPSG\",4326]], ID[\"EPSG\",32633]]";
        assert_eq!(from_wkt(wkt2).code.as_deref(), Some("EPSG:32633"));
        let json = "{\"name\":\"N\",\"id\":{\"authority\":\"OGC\",\"code\":\"CRS84\"}}";
        assert_eq!(from_text(json).and_then(|c| c.code).as_deref(), Some("OGC:CRS84"));
        assert_eq!(
            from_text("EPSG:3857").and_then(|c| c.code).as_deref(),
            Some("EPSG:3857")
        );
        for odd in ["", "[", "A[\"", "])", "ID[\"x", "{}x", "a b:c"] {
            assert_eq!(from_text(odd).and_then(|c| c.code), None, "{odd}");
        }
    }
}
