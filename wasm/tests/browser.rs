//! The engine in a browser, with a memory store, JavaScript stores and fetch.
#![cfg(target_arch = "wasm32")]

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::{Either, select};
use hyperslab::schema::{ArrayType, Attribute, Dimension, Layout, Schema};
use hyperslab::vfs::{ManifestVfs, MemVfs, VfsExt, conformance, manifest};
use hyperslab::{Array, CellCount, Cells, Column, Context, CreateOptions, Datatype, OpenOptions, Query, WriteOptions};
use hyperslab_wasm::{Backend, JsVfs};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_dedicated_worker);

#[wasm_bindgen(module = "/tests/js/backends.js")]
extern "C" {
    type MemoryBackend;
    #[wasm_bindgen(constructor)]
    fn new() -> MemoryBackend;

    #[derive(Clone)]
    type FetchBackend;
    #[wasm_bindgen(constructor)]
    fn new(base: &str) -> FetchBackend;
    #[wasm_bindgen(method, getter)]
    fn requests(this: &FetchBackend) -> u32;

    #[derive(Clone)]
    type StuckBackend;
    #[wasm_bindgen(constructor)]
    fn new() -> StuckBackend;
    #[wasm_bindgen(method, getter)]
    fn aborted(this: &StuckBackend) -> u32;
}

fn store(backend: impl Into<JsValue>) -> JsVfs {
    JsVfs::new(backend.into().unchecked_into::<Backend>())
}

#[wasm_bindgen_test]
async fn memory_vfs_conforms() {
    conformance::check(&MemVfs::new()).await.unwrap();
}

#[wasm_bindgen_test]
async fn javascript_stores_conform() {
    conformance::check(&store(MemoryBackend::new())).await.unwrap();
}

#[wasm_bindgen_test]
async fn dropping_a_read_aborts_its_request() {
    let backend = StuckBackend::new();
    let vfs = store(backend.clone());
    // The request starts when the read is first polled.
    let Either::Right(((), read)) = select(Box::pin(vfs.read_all("never")), Box::pin(next_task())).await else {
        panic!("the read ended");
    };
    assert_eq!(backend.aborted(), 0);
    drop(read);
    next_task().await;
    assert_eq!(backend.aborted(), 1);
}

/// Waits until all ready tasks have run.
async fn next_task() {
    let timer = js_sys::Function::new_with_args("done", "setTimeout(done, 0)");
    let promise = js_sys::Promise::new(&mut |done, _| drop(timer.call1(&JsValue::UNDEFINED, &done)));
    wasm_bindgen_futures::JsFuture::from(promise).await.unwrap();
}

fn schema() -> Schema {
    let dims = vec![
        Dimension::new("y", Datatype::Int32, 0, 99, 10),
        Dimension::new("x", Datatype::Int32, 0, 99, 10),
    ];
    Schema::new(
        ArrayType::Dense,
        dims,
        vec![Attribute::new("a", Datatype::Int64, CellCount::ONE)],
    )
}

async fn write_and_read(context: &Context) {
    let options = CreateOptions {
        timestamp_ms: 1,
        seed: [1; 32],
        key: None,
    };
    Array::create(context, "array", &schema(), &[], &options).await.unwrap();
    let array = Array::open(context, "array", &OpenOptions::default()).await.unwrap();
    let values: Vec<i64> = (0..10_000).collect();
    let columns = vec![("a".to_owned(), Column::from_values(Datatype::Int64, &values))];
    let cells = Cells {
        region: None,
        layout: Layout::RowMajor,
        columns,
    };
    let options = WriteOptions {
        timestamp_ms: 2,
        seed: [2; 32],
        sync: false,
    };
    array.write(cells, &options).await.unwrap();
    assert_eq!(read(context, "array").await, values);
}

async fn read(context: &Context, path: &str) -> Vec<i64> {
    let array = Array::open(context, path, &OpenOptions::default()).await.unwrap();
    let result = array.read(&Query::default()).await.unwrap();
    result.column("a").unwrap().values::<i64>().unwrap().into_owned()
}

#[wasm_bindgen_test]
async fn arrays_in_memory_can_be_read_and_written() {
    write_and_read(&Context::memory()).await;
}

#[wasm_bindgen_test]
async fn arrays_in_javascript_stores_can_be_read_and_written() {
    write_and_read(&Context::new(Arc::new(store(MemoryBackend::new())))).await;
}

/// `tests/data/small` has the cells that [`write_and_read`] writes, compressed. The test runner serves it with this page;
/// its server supports neither listing nor ranges.
#[wasm_bindgen_test]
async fn arrays_with_a_manifest_can_be_read_over_fetch() {
    let origin = js_sys::Reflect::get(&js_sys::global(), &"location".into())
        .and_then(|location| js_sys::Reflect::get(&location, &"origin".into()))
        .unwrap();
    let backend = FetchBackend::new(&format!("{}/tests/data/small", origin.as_string().unwrap()));
    let requests = || backend.requests();
    let vfs = ManifestVfs::new(Arc::new(store(backend.clone())));
    let context = Context::new(Arc::new(vfs));
    let array = Array::open(&context, "", &OpenOptions::default()).await.unwrap();
    assert_eq!(requests(), 1, "opening takes the manifest alone");
    let result = array.read(&Query::default()).await.unwrap();
    let values = result.column("a").unwrap().values::<i64>().unwrap().into_owned();
    assert_eq!(values, (0..10_000).collect::<Vec<i64>>());
    assert_eq!(requests(), 2, "and reading one data file");
}

#[wasm_bindgen_test]
async fn manifests_work_with_javascript_stores() {
    let vfs = store(MemoryBackend::new());
    vfs.put("__schema/__1_1_0a", vec![Bytes::from_static(b"schema")])
        .await
        .unwrap();
    manifest::write(&vfs, "").await.unwrap();
    let with = ManifestVfs::new(Arc::new(vfs));
    assert_eq!(with.read_all("__schema/__1_1_0a").await.unwrap(), "schema");
}
