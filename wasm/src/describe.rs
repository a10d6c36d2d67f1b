//! What arrays and groups mean, as JSON.

use hyperslab::conventions::{self, Dataset};
use hyperslab::{Error, Result};
use js_sys::Promise;
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::store::{RawStore, options, until};

#[wasm_bindgen]
impl RawArray {
    /// What the array means, as the JSON of a [`Dataset`].
    pub async fn describe(&self, aborted: Option<Promise>) -> Result<String, JsValue> {
        until(aborted, async { to_json(&conventions::of_array(&self.array).await?) }).await
    }
}

#[wasm_bindgen]
impl RawStore {
    /// What the array or group at `path` means in a time window, as the JSON of a [`Dataset`].
    pub async fn describe(
        &self,
        path: String,
        start: f64,
        end: f64,
        key: Option<Vec<u8>>,
        aborted: Option<Promise>,
    ) -> Result<String, JsValue> {
        let options = options(start, end, key)?;
        let work = async { to_json(&conventions::of(&self.context, &path, &options).await?) };
        until(aborted, work).await
    }
}

fn to_json(dataset: &Dataset) -> Result<String> {
    serde_json::to_string(dataset).map_err(|e| Error::invalid(format!("the description cannot be written: {e}")))
}
