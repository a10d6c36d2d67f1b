//! An open group: its members and metadata.

use hyperslab::group::{Group, ObjectType};
use js_sys::{Array, Promise};
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::columns;
use crate::store::until;

/// A group, opened in a time window.
#[wasm_bindgen]
pub struct RawGroup {
    group: Group,
}

impl RawGroup {
    pub(crate) const fn new(group: Group) -> Self {
        Self { group }
    }
}

#[wasm_bindgen]
impl RawGroup {
    /// The members as JSON: `[{name, kind, uri, relative}]`. The URI of a relative member is its path in the store.
    pub fn members(&self) -> String {
        let members = self.group.members.iter().map(|m| {
            let kind = m.kind.map_or("unknown", ObjectType::name);
            json!({"name": m.name, "kind": kind, "uri": m.uri, "relative": m.relative})
        });
        members.collect::<serde_json::Value>().to_string()
    }

    /// The metadata: `[{key, type, num, data}]`.
    pub async fn metadata(&self, aborted: Option<Promise>) -> Result<Array, JsValue> {
        let found = until(aborted, self.group.metadata()).await?;
        Ok(columns::metadata_to_js(&found))
    }
}
