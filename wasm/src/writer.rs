//! Writes fragments in parts.

use futures_util::lock::Mutex;
use hyperslab::{Array, Error, FragmentWriter, Result};
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::columns;
use crate::error::to_js;
use crate::maintain::{refresh_manifest, write_options};

#[wasm_bindgen]
impl RawArray {
    /// Starts a fragment whose cells come in global order. A dense write has a `selection`, its box.
    pub async fn writer(&self, selection: Option<String>, timestamp: f64, seed: Vec<u8>) -> Result<RawWriter, JsValue> {
        let work = async {
            let region = match selection {
                Some(json) => Some(self.written_box(&json).await?),
                None => None,
            };
            let writer = self.array.writer(region, &write_options(timestamp, &seed)?).await?;
            Ok(RawWriter {
                array: self.array.clone(),
                writer: Mutex::new(Some(writer)),
            })
        };
        work.await.map_err(|e: Error| to_js(&e))
    }
}

/// A fragment that is being written.
#[wasm_bindgen]
pub struct RawWriter {
    array: Array,
    /// Locked while cells are written, because JavaScript may call `push` again before the first call is done. `None`
    /// after the end.
    writer: Mutex<Option<FragmentWriter>>,
}

#[wasm_bindgen]
impl RawWriter {
    /// Adds the next cells.
    pub async fn push(&self, columns: js_sys::Array) -> Result<(), JsValue> {
        let work = async {
            let columns = columns::from_js(&columns, &self.array).await?;
            let mut writer = self.writer.lock().await;
            writer.as_mut().ok_or_else(ended)?.push(columns).await
        };
        work.await.map_err(|e| to_js(&e))
    }

    /// Commits the fragment and returns its name.
    pub async fn finish(&self) -> Result<String, JsValue> {
        let work = async {
            let writer = self.writer.lock().await.take();
            let name = writer.ok_or_else(ended)?.finish().await?;
            refresh_manifest(self.array.context(), self.array.path()).await?;
            Ok(name)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }

    /// Removes the files written so far.
    pub async fn abandon(&self) {
        if let Some(writer) = self.writer.lock().await.take() {
            writer.abandon().await;
        }
    }
}

fn ended() -> Error {
    Error::invalid("this write has ended; start another one with writer(array)")
}
