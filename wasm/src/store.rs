//! A store, and operations on whole arrays in it.

use std::cell::Cell;
use std::sync::Arc;

use hyperslab::group::{Group, object_type};
use hyperslab::internals::filter::rare;
use hyperslab::internals::vfs::listing::{FolderIndex, parse_index};
use hyperslab::vfs::{EntryKind, ManifestVfs, Vfs, manifest};
use hyperslab::view::{Source, View};
use hyperslab::{Array, Cache, Context, Cpu, CreateOptions, Error, Key, OpenOptions, Result, Window, schema_json};
use js_sys::Promise;
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::array::RawArray;
use crate::bridge::{Backend, JsVfs};
use crate::error::to_js;
use crate::group::RawGroup;
use crate::view::RawView;

/// A store and its cache.
#[wasm_bindgen]
pub struct RawStore {
    pub(crate) context: Context,
    url: String,
    /// Whether an array was opened before. The next `open` then refreshes the store, because its files may have changed.
    opened: Cell<bool>,
}

#[wasm_bindgen]
impl RawStore {
    /// The store behind `backend`. `url` is the URL of its root, or empty. With `has_manifest`, a `__manifest.json` in
    /// the root is used, and compared with the listing if the store can list.
    #[wasm_bindgen(constructor)]
    pub fn new(backend: Backend, url: String, has_manifest: bool, cache_bytes: f64) -> Self {
        let js: Arc<dyn Vfs> = Arc::new(JsVfs::new(backend));
        let vfs: Arc<dyn Vfs> = if has_manifest {
            Arc::new(ManifestVfs::checked(js))
        } else {
            js
        };
        let cache = Arc::new(Cache::keeping_tiles(whole_number(cache_bytes)));
        Self {
            context: Context {
                vfs,
                cpu: Cpu::Inline,
                cache,
                transaction: None,
            },
            url,
            opened: Cell::new(false),
        }
    }

    /// Opens the array at `path` in a time window, in milliseconds since 1970.
    pub async fn open(
        &self,
        path: String,
        start: f64,
        end: f64,
        key: Option<Vec<u8>>,
        aborted: Option<Promise>,
    ) -> Result<RawArray, JsValue> {
        let options = options(start, end, key)?;
        let work = async {
            if self.opened.replace(true) {
                self.context.vfs.invalidate().await?;
            }
            Array::open(&self.context, &path, &options).await
        };
        until(aborted, work).await.map(RawArray::new)
    }

    /// The kind of object at `path`: `"array"`, `"group"`, or `None`.
    pub async fn kind(&self, path: String) -> Result<Option<String>, JsValue> {
        let found = object_type(&self.context, &path).await.map_err(|e| to_js(&e))?;
        Ok(found.map(|kind| kind.name().to_owned()))
    }

    /// Opens the group at `path` in a time window.
    pub async fn group(
        &self,
        path: String,
        start: f64,
        end: f64,
        key: Option<Vec<u8>>,
        aborted: Option<Promise>,
    ) -> Result<RawGroup, JsValue> {
        let options = options(start, end, key)?;
        let group = until(aborted, Group::open(&self.context, &path, &options)).await?;
        Ok(RawGroup::new(group))
    }

    /// Creates an array from its schema as JSON.
    pub async fn create(
        &self,
        path: String,
        schema: String,
        timestamp: f64,
        seed: Vec<u8>,
        key: Option<Vec<u8>>,
    ) -> Result<(), JsValue> {
        let work = async {
            let json = serde_json::from_str(&schema)
                .map_err(|e| Error::invalid(format!("the schema is not valid JSON: {e}")))?;
            let (schema, enumerations) = schema_json::from_json(&json)?;
            let options = CreateOptions {
                timestamp_ms: milliseconds(timestamp),
                seed: seed_of(&seed)?,
                key: parse_key(key)?,
            };
            Array::create(&self.context, &path, &schema, &enumerations, &options).await
        };
        work.await.map_err(|e| to_js(&e))
    }

    /// Writes the manifest of the array at `path`.
    pub async fn index(&self, path: String) -> Result<(), JsValue> {
        manifest::write(&*self.context.vfs, &path)
            .await
            .map(drop)
            .map_err(|e| to_js(&e))
    }

    /// The array or group at `path` as a tree of files. If the window covers all of time, names without a time show
    /// the data written up to `now`.
    pub async fn view(
        &self,
        path: String,
        name: String,
        start: f64,
        end: f64,
        now: f64,
        key: Option<Vec<u8>>,
    ) -> Result<RawView, JsValue> {
        let source = Source {
            context: self.context.clone(),
            url: self.url.clone(),
            path,
            options: options(start, end, key)?,
            name,
        };
        Ok(RawView::new(View::new(source, milliseconds(now))))
    }
}

/// Records that the rare codecs were loaded.
#[wasm_bindgen(js_name = codecsLoaded)]
pub fn codecs_loaded() {
    rare::set_loaded();
}

/// Parses a web server's listing of a folder into JSON `[{name, dir, size?}]`. Returns `None` if it is not a listing.
#[wasm_bindgen(js_name = parseListing)]
pub fn parse_listing(content_type: &str, text: &str) -> Option<String> {
    let FolderIndex::Entries(entries) = parse_index(content_type, text) else {
        return None;
    };
    let items = entries.into_iter().map(|entry| match entry.kind {
        EntryKind::Dir => json!({"name": entry.name, "dir": true}),
        EntryKind::File(size) => json!({"name": entry.name, "dir": false, "size": size}),
    });
    Some(items.collect::<serde_json::Value>().to_string())
}

/// Waits for `work`. If `aborted` is rejected first, drops `work`, which aborts its requests.
pub(crate) async fn until<T>(aborted: Option<Promise>, work: impl Future<Output = Result<T>>) -> Result<T, JsValue> {
    use futures_util::future::{Either, select};

    let work = std::pin::pin!(work);
    let Some(aborted) = aborted else {
        return work.await.map_err(|e| to_js(&e));
    };
    match select(work, wasm_bindgen_futures::JsFuture::from(aborted)).await {
        Either::Left((result, _)) => result.map_err(|e| to_js(&e)),
        Either::Right((Err(reason), _)) => Err(reason),
        Either::Right((Ok(_), work)) => work.await.map_err(|e| to_js(&e)),
    }
}

pub(crate) fn options(start: f64, end: f64, key: Option<Vec<u8>>) -> Result<OpenOptions, JsValue> {
    Ok(OpenOptions {
        window: window(start, end),
        key: parse_key(key).map_err(|e| to_js(&e))?,
    })
}

pub(crate) fn window(start: f64, end: f64) -> Window {
    Window {
        start_ms: milliseconds(start),
        end_ms: milliseconds(end),
    }
}

/// Converts a JavaScript number, such as a number of bytes. Infinity becomes `u64::MAX`.
// The cast saturates.
pub(crate) fn whole_number(number: f64) -> u64 {
    number as u64
}

/// A timestamp in milliseconds. Infinity is the end of time.
pub(crate) fn milliseconds(time: f64) -> u64 {
    whole_number(time)
}

pub(crate) fn seed_of(bytes: &[u8]) -> Result<[u8; 32]> {
    bytes
        .try_into()
        .map_err(|_| Error::invalid("a seed must have 32 bytes"))
}

pub(crate) fn parse_key(bytes: Option<Vec<u8>>) -> Result<Option<Key>> {
    let key = |bytes: Vec<u8>| {
        bytes
            .try_into()
            .map(Key)
            .map_err(|_| Error::invalid("a key must have 32 bytes"))
    };
    bytes.map(key).transpose()
}
