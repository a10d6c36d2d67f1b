//! The life of an array beside reads and writes: deletes, merges, and the removal of what they replaced.

use hyperslab::maintain::{self, ConsolidateOptions, Mode};
use hyperslab::vfs::manifest;
use hyperslab::{Condition, Error, Result, WriteOptions};
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::error::to_js;
use crate::store::{milliseconds, seed_of};

#[wasm_bindgen]
impl RawArray {
    /// Deletes the cells that meet a condition. Returns the name of the delete, or nothing if no cell can meet it.
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

    /// The time of a write or a delete at `now` by the page's clock, which comes after all commits.
    #[wasm_bindgen(js_name = writeTime)]
    pub async fn write_time(&self, now: f64) -> Result<f64, JsValue> {
        let time = self.array.write_time(milliseconds(now)).await.map_err(|e| to_js(&e))?;
        // At most a few seconds after `now`.
        Ok(time as f64)
    }

    /// Merges what the array's window shows, and gives the names of what was written.
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

    /// Removes what consolidations replaced, and gives the paths of what is gone.
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
    /// Brings the manifests up to date that say which files the array has.
    pub(crate) async fn refresh_manifest(&self) -> Result<()> {
        let refreshed = manifest::refresh(&*self.array.context().vfs, self.array.path()).await;
        refreshed.map_err(|e| {
            let why = "the array is changed, and doing it again would do it twice, but this list of its files is not";
            Error::io(manifest::MANIFEST, format!("{why}: {e}; write it anew with `index`"))
        })
    }
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
                "there is no mode '{other}'; fragments, fragment-meta, commits and array-meta are"
            )));
        }
    })
}
