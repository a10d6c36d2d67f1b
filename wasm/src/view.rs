//! An array, a group, or a folder of arrays as files.

use hyperslab::Error;
use hyperslab::view::{FileType, NodeKind, View};
use js_sys::{Promise, Uint8Array};
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::store::{until, whole_number};

/// A tree of files.
#[wasm_bindgen]
pub struct RawView {
    view: View,
}

impl RawView {
    pub(crate) const fn new(view: View) -> Self {
        Self { view }
    }
}

#[wasm_bindgen]
impl RawView {
    /// The type and size of the file at `path`, as JSON `{dir, size?}`. `None` if there is no such file.
    pub async fn stat(&self, path: String, aborted: Option<Promise>) -> Result<Option<String>, JsValue> {
        let node = until(aborted, self.view.lookup(&path)).await?;
        Ok(node.map(|node| match node.kind {
            NodeKind::Dir | NodeKind::Link => json!({"dir": true}).to_string(),
            NodeKind::File { size } => json!({"dir": false, "size": size}).to_string(),
        }))
    }

    /// The names in a folder, as JSON `[{name, dir}]`.
    pub async fn list(&self, path: String, aborted: Option<Promise>) -> Result<String, JsValue> {
        let entries = until(aborted, self.view.list(&path)).await?;
        let items = entries
            .into_iter()
            .map(|e| json!({"name": e.name, "dir": e.file_type != FileType::File}));
        Ok(items.collect::<serde_json::Value>().to_string())
    }

    /// Bytes `start..end` of a file, cut at its end.
    pub async fn read(
        &self,
        path: String,
        start: f64,
        end: f64,
        aborted: Option<Promise>,
    ) -> Result<Uint8Array, JsValue> {
        let work = async {
            let node = self.view.lookup(&path).await?;
            let node = node.ok_or_else(|| Error::not_found(path.as_str(), "there is no such file"))?;
            self.view.read(&node, whole_number(start)..whole_number(end)).await
        };
        let bytes = until(aborted, work).await?;
        Ok(Uint8Array::from(&bytes[..]))
    }
}
