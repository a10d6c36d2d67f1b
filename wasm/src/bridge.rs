//! Adapts a JavaScript store to the engine's [`Vfs`].
//!
//! The engine's futures are `Send`, and promises are not. So each call of a store runs as a local task, which
//! sends its result over a channel. If the engine drops the future, the task aborts the request.

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{poll_fn, ready};
use std::ops::Range;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_channel::oneshot;
use futures_util::future::{Either, select, try_join_all};
use hyperslab::internals::vfs::listing;
use hyperslab::vfs::coalesce::coalesce;
use hyperslab::vfs::{
    BoxFuture, Capabilities, Content, Deletion, Entry, EntryKind, Extent, FileWriter, Neighbours, Vfs, VfsExt,
    WriteMode, check_path, coalesce,
};
use hyperslab::{Error, Result};
use js_sys::{Array, Promise, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, spawn_local};

use crate::error::from_js;

#[wasm_bindgen]
extern "C" {
    /// A JavaScript store, with the methods of `Bridge` in `npm/src/bridge.ts`.
    #[derive(Clone)]
    pub type Backend;

    #[wasm_bindgen(method, catch)]
    fn read(
        this: &Backend,
        path: &str,
        start: f64,
        end: f64,
        reader: &JsValue,
        signal: &JsValue,
    ) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch, js_name = readAll)]
    fn read_all(this: &Backend, path: &str, signal: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn size(this: &Backend, path: &str, signal: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn list(this: &Backend, dir: &str, signal: &JsValue) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn put(this: &Backend, path: &str, bytes: Uint8Array, over: bool) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn remove(this: &Backend, path: &str) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn begin(this: &Backend, path: &str) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn append(this: &Backend, file: f64, bytes: Uint8Array) -> Result<Promise, JsValue>;
    #[wasm_bindgen(method, catch)]
    fn end(this: &Backend, file: f64, keep: bool) -> Result<Promise, JsValue>;

    type AbortController;
    #[wasm_bindgen(constructor)]
    fn new() -> AbortController;
    #[wasm_bindgen(method)]
    fn abort(this: &AbortController);
    #[wasm_bindgen(method, getter)]
    fn signal(this: &AbortController) -> JsValue;
}

thread_local! {
    /// The call whose work runs now, as `Reader` of `npm/src/bridge.ts`. Reads of the store pass it on.
    static READER: RefCell<JsValue> = const { RefCell::new(JsValue::UNDEFINED) };
    /// The last number used, and the JavaScript objects by number. Unlike the objects, numbers are `Send`.
    static BACKENDS: RefCell<(u64, HashMap<u64, Backend>)> = RefCell::default();
}

/// Runs `work` such that reads of the store tell on behalf of which call they are.
pub(crate) fn on_behalf_of<T>(reader: JsValue, work: impl Future<Output = T>) -> impl Future<Output = T> {
    let mut work = Box::pin(work);
    // One thread runs all calls in turn, so the value is set each time that this call goes on.
    poll_fn(move |context| {
        let before = READER.replace(reader.clone());
        let polled = work.as_mut().poll(context);
        READER.set(before);
        polled
    })
}

/// A store in JavaScript, as a [`Vfs`].
#[derive(Debug)]
pub struct JsVfs {
    store: Arc<Number>,
    /// What the paths of a store next to the backend's begin with, such as `../lat/`. The backend resolves it.
    prefix: String,
}

/// The number of a backend, which is forgotten with the last store that has it.
#[derive(Debug)]
struct Number(u64);

impl JsVfs {
    /// The store behind `backend`.
    pub fn new(backend: Backend) -> Self {
        BACKENDS.with_borrow_mut(|(next, backends)| {
            *next += 1;
            backends.insert(*next, backend);
            Self {
                store: Arc::new(Number(*next)),
                prefix: String::new(),
            }
        })
    }

    /// The path as the backend knows it.
    fn own(&self, path: &str) -> String {
        [&self.prefix, path].concat()
    }

    /// Runs `work` as a local task.
    fn task<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Backend, JsValue) -> Result<T> + 'static,
    ) -> BoxFuture<'static, T> {
        task(self.store.0, work)
    }
}

impl Neighbours for JsVfs {
    fn beside(&self, name: &str) -> Option<Arc<dyn Vfs>> {
        let is_near = self.prefix.is_empty() && check_path(name).is_ok();
        is_near.then(|| {
            Arc::new(Self {
                store: Arc::clone(&self.store),
                prefix: format!("../{name}/"),
            }) as Arc<dyn Vfs>
        })
    }
}

fn backend_of(store: u64) -> Option<Backend> {
    BACKENDS.with_borrow(|(_, backends)| backends.get(&store).cloned())
}

/// Runs `work` on the store with this number as a local task.
fn task<T: Send + 'static>(
    store: u64,
    work: impl AsyncFnOnce(Backend, JsValue) -> Result<T> + 'static,
) -> BoxFuture<'static, T> {
    let (mut tx, rx) = oneshot::channel();
    spawn_local(async move {
        let Some(backend) = backend_of(store) else { return };
        let controller = AbortController::new();
        let finished = {
            let work = pin!(work(backend, controller.signal()));
            match select(work, pin!(tx.cancellation())).await {
                Either::Left((result, _)) => Some(result),
                Either::Right(_) => None,
            }
        };
        match finished {
            // Fails only if the receiver has just been dropped.
            Some(result) => drop(tx.send(result)),
            None => controller.abort(),
        }
    });
    Box::pin(async move { rx.await.unwrap_or(Err(Error::Cancelled)) })
}

impl Drop for Number {
    fn drop(&mut self) {
        BACKENDS.with_borrow_mut(|(_, backends)| backends.remove(&self.0));
    }
}

/// Awaits the promise that a store's method returned.
async fn answer(path: &str, returned: Result<Promise, JsValue>) -> Result<JsValue> {
    let failed = |thrown: JsValue| from_js(path, &thrown);
    JsFuture::from(returned.map_err(failed)?).await.map_err(failed)
}

/// The bytes that a store returned. `undefined` and `null` mean that the file does not exist.
fn bytes(path: &str, value: &JsValue) -> Result<Bytes> {
    match value.dyn_ref::<Uint8Array>() {
        Some(array) => Ok(Bytes::from(array.to_vec())),
        None if value.is_undefined() || value.is_null() => Err(Error::not_found(path, "")),
        None => Err(Error::io(
            path,
            "the store did not return a Uint8Array; fix its `get` or `getRange`",
        )),
    }
}

// Files are far smaller than 2^53 bytes.
async fn fetch(backend: &Backend, path: &str, range: Range<u64>, reader: &JsValue, signal: &JsValue) -> Result<Bytes> {
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let value = answer(
        path,
        backend.read(path, range.start as f64, range.end as f64, reader, signal),
    )
    .await?;
    let got = bytes(path, &value)?;
    if got.len() as u64 == range.end - range.start {
        return Ok(got);
    }
    let why = format!(
        "got {} bytes for {}..{}; the file is truncated",
        got.len(),
        range.start,
        range.end
    );
    Err(Error::io(path, why))
}

fn entry(path: &str, value: &JsValue) -> Result<Entry> {
    let get = |name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let name = get("name")
        .as_string()
        .ok_or_else(|| Error::io(path, "the store listed an entry without a name"))?;
    // Sizes are non-negative integers.
    let size = get("size").as_f64().map(|size| size as u64);
    let kind = if get("dir").is_truthy() {
        EntryKind::Dir
    } else {
        EntryKind::File(size)
    };
    Ok(Entry { name, kind })
}

fn children(dir: &str, value: &JsValue) -> Result<Vec<Entry>> {
    let list = value
        .dyn_ref::<Array>()
        .ok_or_else(|| Error::io(dir, "the store's `list` did not return an array"))?;
    let entries = list.iter().map(|item| entry(dir, &item)).collect::<Result<_>>()?;
    Ok(listing::in_order(entries))
}

impl Vfs for JsVfs {
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            neighbours: Some(self),
            ..Capabilities::default()
        }
    }

    fn fetch<'a>(&'a self, path: &'a str, extent: Extent<'a>) -> BoxFuture<'a, Content> {
        let (own, inside) = (self.own(path), check_path(path));
        match extent {
            Extent::Whole => self.task(async move |backend, signal| {
                inside?;
                let whole = bytes(&own, &answer(&own, backend.read_all(&own, &signal)).await?)?;
                Ok(Content::parts(vec![whole]))
            }),
            Extent::Tail(bytes) => Box::pin(async move {
                let size = self.size(path).await?;
                let read = self
                    .fetch(path, Extent::Ranges(&[size.saturating_sub(bytes)..size]))
                    .await?;
                Ok(Content { size, ..read })
            }),
            Extent::Ranges(ranges) => {
                let plan = match coalesce(ranges, coalesce::GAP_BYTES, coalesce::MERGED_BYTES_MAX) {
                    Ok(plan) => plan,
                    Err(e) => return Box::pin(ready(Err(e))),
                };
                let reader = READER.with_borrow(Clone::clone);
                self.task(async move |backend, signal| {
                    let fetches = plan
                        .fetches
                        .iter()
                        .map(|range| fetch(&backend, &own, range.clone(), &reader, &signal));
                    plan.split(&own, &try_join_all(fetches).await?).map(Content::parts)
                })
            }
            Extent::Size => self.task(async move |backend, signal| {
                let size = answer(&own, backend.size(&own, &signal)).await?.as_f64();
                // Sizes are non-negative integers.
                let size = size.map(|n| n as u64).ok_or_else(|| Error::not_found(own, ""))?;
                Ok(Content::size(size))
            }),
        }
    }

    fn list<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, Vec<Entry>> {
        let dir = self.own(dir);
        self.task(async move |backend, signal| children(&dir, &answer(&dir, backend.list(&dir, &signal)).await?))
    }

    fn write<'a>(&'a self, path: &'a str, parts: Vec<Bytes>, mode: WriteMode) -> BoxFuture<'a, ()> {
        let (path, inside) = (self.own(path), check_path(path));
        self.task(async move |backend, _| {
            inside?;
            put(&backend, &path, &parts, mode == WriteMode::Replace).await
        })
    }

    fn create<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Box<dyn FileWriter>> {
        let writer = Writer {
            store: self.store.0,
            path: self.own(path),
            bytes: BytesMut::new(),
            file: None,
        };
        Box::pin(ready(
            check_path(path).map(|()| Box::new(writer) as Box<dyn FileWriter>),
        ))
    }

    fn create_dir<'a>(&'a self, dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(ready(check_path(dir)))
    }

    fn delete<'a>(&'a self, path: &'a str, what: Deletion) -> BoxFuture<'a, ()> {
        let path = self.own(path);
        self.task(async move |backend, signal| {
            if what == Deletion::File {
                return answer(&path, backend.remove(&path)).await.map(drop);
            }
            let (mut folders, mut empty) = (vec![path], Vec::new());
            while let Some(folder) = folders.pop() {
                for child in children(&folder, &answer(&folder, backend.list(&folder, &signal)).await?)? {
                    let path = hyperslab::vfs::join(&folder, &child.name);
                    match child.kind {
                        EntryKind::Dir => folders.push(path),
                        EntryKind::File(_) => answer(&path, backend.remove(&path)).await.map(drop)?,
                    }
                }
                empty.push(folder);
            }
            for folder in empty.iter().rev() {
                // Many stores have no folders, and an empty folder that remains does no harm.
                let _ = answer(folder, backend.remove(folder)).await;
            }
            Ok(())
        })
    }

    fn sync<'a>(&'a self, _dir: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}

/// Copies the parts into one JavaScript array and writes it. With `over`, it may replace an existing file. The path was
/// checked.
async fn put(backend: &Backend, path: &str, parts: &[Bytes], over: bool) -> Result<()> {
    let total: usize = parts.iter().map(Bytes::len).sum();
    let total =
        u32::try_from(total).map_err(|_| Error::invalid(format!("{path}: {total} bytes are too many for one file")))?;
    let whole = Uint8Array::new_with_length(total);
    let mut at = 0;
    for part in parts {
        let end = at + u32::try_from(part.len()).unwrap_or(u32::MAX);
        whole.subarray(at, end).copy_from(part);
        at = end;
    }
    answer(path, backend.put(path, whole, over)).await.map(drop)
}

/// The most bytes of a file that are kept in the engine's memory.
const KEPT_BYTES: usize = 4 << 20;

/// Writes a file in parts. A small file is written at once.
struct Writer {
    /// The number of the store.
    store: u64,
    path: String,
    bytes: BytesMut,
    /// The number by which the store knows the file, after the first part.
    file: Option<f64>,
}

impl Writer {
    /// Gives the store the bytes that were collected.
    fn flush(&mut self) -> BoxFuture<'_, ()> {
        let (part, path) = (self.bytes.split().freeze(), self.path.clone());
        let begun = self.file;
        let written = task(self.store, async move |backend, _| {
            let file = match begun {
                Some(file) => file,
                None => number(&path, &answer(&path, backend.begin(&path)).await?)?,
            };
            answer(&path, backend.append(file, Uint8Array::from(&part[..]))).await?;
            Ok(file)
        });
        Box::pin(async move {
            self.file = Some(written.await?);
            Ok(())
        })
    }

    /// Makes a file that the store has begun visible, or gives it up.
    async fn end(&mut self, keep: bool) -> Result<()> {
        let (Some(file), path) = (self.file.take(), self.path.clone()) else {
            return Ok(());
        };
        let end = async move |backend: Backend, _| answer(&path, backend.end(file, keep)).await.map(drop);
        task(self.store, end).await
    }
}

impl FileWriter for Writer {
    fn append(&mut self, part: Bytes) -> BoxFuture<'_, ()> {
        self.bytes.extend_from_slice(&part);
        match self.bytes.len() {
            ..KEPT_BYTES => Box::pin(ready(Ok(()))),
            KEPT_BYTES.. => self.flush(),
        }
    }

    fn finish(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            let path = self.path.clone();
            if self.file.is_none() {
                let whole = self.bytes.split().freeze();
                let work = async move |backend: Backend, _| put(&backend, &path, &[whole], false).await;
                return task(self.store, work).await;
            }
            self.flush().await?;
            self.end(true).await
        })
    }

    fn abort(mut self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move { self.end(false).await })
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let Some((file, backend)) = self.file.zip(backend_of(self.store)) else {
            return;
        };
        let path = std::mem::take(&mut self.path);
        spawn_local(async move {
            // Nothing can be done about a file that cannot be removed, and readers ignore it.
            let _ = answer(&path, backend.end(file, false)).await;
        });
    }
}

/// The number that a store returned.
fn number(path: &str, value: &JsValue) -> Result<f64> {
    value
        .as_f64()
        .ok_or_else(|| Error::io(path, "the store did not return a number"))
}
