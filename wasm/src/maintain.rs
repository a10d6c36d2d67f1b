//! Deletes cells, consolidates fragments, and vacuums what consolidation replaced.

use hyperslab::maintain::{ConsolidateOptions, Mode};
use hyperslab::vfs::manifest;
use hyperslab::{Condition, Context, Error, Result, WriteOptions, maintain};
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::error::to_js;
use crate::store::{milliseconds, seed_of};

#[wasm_bindgen]
impl RawArray {
    /// Deletes the cells that meet a condition. Returns the name of the delete, or `None` if no cell can meet it.
    #[wasm_bindgen(js_name = deleteCells)]
    pub async fn delete_cells(
        &self,
        condition: String,
        timestamp: f64,
        seed: Vec<u8>,
    ) -> Result<Option<String>, JsValue> {
        let work = async {
            let condition: Condition = condition.parse()?;
            let name = maintain::delete(&self.array, &condition, &write_options(timestamp, &seed)?).await?;
            self.refresh_manifest().await?;
            Ok(name)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }

    /// Counts the cells that a delete would remove, as JSON: `{name: cells}` for each fragment.
    #[wasm_bindgen(js_name = countDeleted)]
    pub async fn count_deleted(&self, condition: String, timestamp: f64, seed: Vec<u8>) -> Result<String, JsValue> {
        let work = async {
            let condition: Condition = condition.parse()?;
            let counts = maintain::count_deleted(&self.array, &condition, &write_options(timestamp, &seed)?).await?;
            Ok(json!(counts).to_string())
        };
        work.await.map_err(|e: Error| to_js(&e))
    }

    /// The timestamp for a write or a delete at `now` by the page's clock. It is later than all commits.
    #[wasm_bindgen(js_name = writeTime)]
    pub async fn write_time(&self, now: f64) -> Result<f64, JsValue> {
        let time = self.array.write_time(milliseconds(now)).await.map_err(|e| to_js(&e))?;
        // At most a few seconds after `now`.
        Ok(time as f64)
    }

    /// Consolidates what is visible in the array's time window. Returns the names of the files written.
    pub async fn consolidate(&self, mode: String, amplification: f32, seed: Vec<u8>) -> Result<Vec<String>, JsValue> {
        let work = async {
            let mut options = ConsolidateOptions::new(mode_of(&mode)?);
            options.steps.amplification = amplification;
            let done =
                maintain::consolidate(&self.array, &options, &write_options(js_sys::Date::now(), &seed)?).await?;
            self.refresh_manifest().await?;
            Ok(done.written)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }

    /// Removes what consolidations replaced. Returns the paths of the removed files.
    pub async fn vacuum(&self, mode: String, seed: Vec<u8>) -> Result<Vec<String>, JsValue> {
        let work = async {
            let options = write_options(0.0, &seed)?;
            let gone = maintain::vacuum(&self.array, mode_of(&mode)?, false, &options).await?;
            self.refresh_manifest().await?;
            Ok(gone)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }
}

impl RawArray {
    /// Updates the manifests that list the array's files.
    pub(crate) async fn refresh_manifest(&self) -> Result<()> {
        refresh_manifest(self.array.context(), self.array.path()).await
    }
}

/// Updates the manifests that list the files at `path`, an array or a group that was changed.
pub(crate) async fn refresh_manifest(context: &Context, path: &str) -> Result<()> {
    manifest::refresh(&*context.vfs, path).await.map_err(|e| {
        let why = "the change was made, so do not repeat the call, but updating this manifest failed";
        Error::io(manifest::MANIFEST, format!("{why}: {e}; run writeManifest(array)"))
    })
}

pub(crate) fn write_options(timestamp: f64, seed: &[u8]) -> Result<WriteOptions> {
    Ok(WriteOptions {
        timestamp_ms: milliseconds(timestamp),
        seed: seed_of(seed)?,
        sync: false,
    })
}

fn mode_of(name: &str) -> Result<Mode> {
    Ok(match name {
        "fragments" => Mode::Fragments,
        "fragment-meta" => Mode::FragmentMetadata,
        "commits" => Mode::Commits,
        "array-meta" => Mode::ArrayMetadata,
        other => {
            return Err(Error::invalid(format!(
                "unknown mode '{other}'; use fragments, fragment-meta, commits or array-meta"
            )));
        }
    })
}
