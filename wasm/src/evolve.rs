//! Changes the schema of an array.

use hyperslab::maintain::{Evolution, evolve};
use hyperslab::schema::Enumeration;
use hyperslab::{Array, CellCount, Column, Error, Result, schema_json};
use serde_json::{Map, Value, json};
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::error::to_js;
use crate::maintain::write_options;

#[wasm_bindgen]
impl RawArray {
    /// Changes the schema, with the changes as JSON: `{attributes?, enumerations?, extended?, dropped_attributes?,
    /// dropped_enumerations?, current_domain?}`, each as in a schema; `extended` has `{name: [values]}`. With
    /// `after_latest`, the change may get a later time. Returns its time.
    pub async fn evolve(
        &self,
        changes: String,
        timestamp: f64,
        after_latest: bool,
        seed: Vec<u8>,
    ) -> Result<f64, JsValue> {
        let work = async {
            let changes = serde_json::from_str(&changes)
                .map_err(|e| Error::invalid(format!("the changes are not valid JSON: {e}")))?;
            let change = Evolution {
                after_latest,
                ..evolution(&changes, &self.array).await?
            };
            let time = evolve(&self.array, &change, &write_options(timestamp, &seed)?).await?;
            self.refresh_manifest().await?;
            // At most a few seconds after the given time.
            Ok(time as f64)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }
}

/// The changes as core takes them. Their attributes, enumerations and domain are read as a schema with the dimensions of
/// the array.
async fn evolution(changes: &Value, array: &Array) -> Result<Evolution> {
    let of = |key: &str| changes.get(key).cloned().unwrap_or(Value::Null);
    let names = |key: &str| -> Vec<String> {
        let list = changes.get(key).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let known = schema_json::to_json(array.schema(), &[]);
    let mut schema = json!({
        "type": known.get("type"), "dimensions": known.get("dimensions"), "attributes": of("attributes"),
        "enumerations": of("enumerations"), "current_domain": of("current_domain"),
    });
    if let Value::Object(schema) = &mut schema {
        schema.retain(|_, entry| !entry.is_null());
    }
    let (schema, enumerations) = schema_json::from_json(&schema)?;
    let mut extended = Vec::new();
    for (name, values) in of("extended").as_object().unwrap_or(&Map::new()) {
        let old = array.enumeration(name).await?;
        extended.push((old.name.clone(), more_values(&old, values)?));
    }
    Ok(Evolution {
        add: schema.attributes,
        drop: names("dropped_attributes"),
        add_enumerations: enumerations,
        extend_enumerations: extended,
        drop_enumerations: names("dropped_enumerations"),
        current_domain: schema.current_domain.map(|domain| domain.ranges),
        after_latest: false,
    })
}

/// More values for an enumeration, of its type.
fn more_values(old: &Enumeration, values: &Value) -> Result<Column> {
    let cell = match old.values.cell {
        CellCount::Fixed(n) => json!(n),
        CellCount::Var => json!("var"),
    };
    let entry = json!({"name": old.name, "type": old.values.datatype.name(), "cell": cell, "values": values});
    let (_, found) = schema_json::from_json(&json!({"type": "sparse", "enumerations": [entry]}))?;
    let found = found.into_iter().next();
    found.map_or_else(|| Err(Error::invalid("an enumeration has no values")), |e| Ok(e.values))
}
