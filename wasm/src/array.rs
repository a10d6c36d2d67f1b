//! An open array: its schema and fragments, reads and writes.

use futures_util::lock::Mutex;
use hyperslab::internals::filter::rare;
use hyperslab::internals::view::selection::{Axis, Selection};
use hyperslab::schema::{Attribute, Dimension, Layout};
use hyperslab::view::View;
use hyperslab::{
    Array, Batch, Batches, CellCount, Cells, Condition, Error, PlannedRequest, PlannedTile, Query, Region, Result,
    Scalar, ScalarRange, schema_json,
};
use js_sys::{Object, Promise, Uint8Array};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::bridge::on_behalf_of;
use crate::columns::{self, set};
use crate::error::to_js;
use crate::maintain::write_options;
use crate::select;
use crate::store::{until, whole_number, window};
use crate::view::RawView;

/// An array, opened in a time window.
#[wasm_bindgen]
pub struct RawArray {
    pub(crate) array: Array,
}

impl RawArray {
    pub(crate) fn new(array: Array) -> Self {
        Self { array }
    }
}

#[wasm_bindgen]
impl RawArray {
    /// The schema as JSON, without the values of enumerations.
    pub fn schema(&self) -> String {
        schema_json::to_json(self.array.schema(), &[]).to_string()
    }

    /// The dimensions as JSON: `[{name, type, cell, domain?, tile?}]`.
    pub fn dims(&self) -> String {
        let schema = self.array.schema();
        let one = |(i, d): (usize, &Dimension)| {
            let range = schema.limits(i).map(std::slice::from_ref).map(domain);
            let tile = match &d.extent {
                Some(Scalar::F32(_) | Scalar::F64(_)) => d.extent.as_ref().and_then(Scalar::as_f64).map(Value::from),
                Some(_) => d.extent_cells().map(Value::from),
                None => None,
            };
            json!({
                "name": d.name, "type": d.datatype.name(), "cell": cell(d.cell),
                "domain": range.and_then(|mut r| r.get_mut(0).map(Value::take)), "tile": tile,
            })
        };
        schema
            .dimensions
            .iter()
            .enumerate()
            .map(one)
            .collect::<Value>()
            .to_string()
    }

    /// The attributes as JSON: `[{name, type, cell, nullable, enumeration?}]`.
    pub fn attrs(&self) -> String {
        let one = |a: &Attribute| {
            json!({
                "name": a.name, "type": a.datatype.name(), "cell": cell(a.cell),
                "nullable": a.nullable, "enumeration": a.enumeration,
            })
        };
        self.array
            .schema()
            .attributes
            .iter()
            .map(one)
            .collect::<Value>()
            .to_string()
    }

    /// The visible fragments as JSON, oldest first.
    pub fn fragments(&self) -> String {
        let one = |f: &std::sync::Arc<hyperslab::Fragment>| {
            json!({
                "name": f.name, "start": f.start_ms, "end": f.end_ms, "dense": f.dense, "cells": f.cells,
                "bytes": f.bytes, "nonEmptyDomain": f.non_empty_domain().map(domain),
            })
        };
        self.array.fragments().iter().map(one).collect::<Value>().to_string()
    }

    /// The timestamps of writes and deletes as JSON, oldest first.
    pub fn times(&self) -> String {
        json!(self.array.times()).to_string()
    }

    /// The non-empty domain as JSON, or `null`.
    #[wasm_bindgen(js_name = nonEmptyDomain)]
    pub fn non_empty_domain(&self) -> String {
        json!(self.array.non_empty_domain().as_deref().map(domain)).to_string()
    }

    /// The same array in another time window.
    pub async fn at(&self, start: f64, end: f64, aborted: Option<Promise>) -> Result<RawArray, JsValue> {
        until(aborted, self.array.at(window(start, end))).await.map(Self::new)
    }

    /// The opened array as a tree of files. Later writes are not visible.
    pub async fn view(&self, name: String) -> RawView {
        RawView::new(View::of_array(&self.array, name))
    }

    /// Whether the array has filters whose code is loaded separately.
    #[wasm_bindgen(js_name = needsCodecs)]
    pub fn needs_codecs(&self) -> bool {
        let old = self.array.fragments().iter().map(|fragment| &fragment.schema);
        old.chain([self.array.schema()]).any(|schema| rare::is_needed(schema))
    }

    /// The metadata: `[{key, type, num, data}]`.
    pub async fn metadata(&self, aborted: Option<Promise>) -> Result<js_sys::Array, JsValue> {
        let found = until(aborted, self.array.metadata()).await?;
        Ok(columns::metadata_to_js(&found))
    }

    /// The values of an enumeration, as a column.
    pub async fn enumeration(&self, name: String) -> Result<JsValue, JsValue> {
        let found = self.array.enumeration(&name).await.map_err(|e| to_js(&e))?;
        columns::to_js(&name, &found.values).map_err(|e| to_js(&e))
    }

    /// Reads a box: `{columns, shape, single, cells}`. The shape has every dimension. `single` says, for each
    /// dimension, whether one coordinate was selected. If `out` is given, it receives the bytes of the only column.
    /// `selection` may also be ranges; the result then has no `single`. Reads of the store pass on `reader`.
    #[expect(
        clippy::too_many_arguments,
        reason = "JavaScript passes options one by one, so that workers can send them"
    )]
    pub async fn get(
        &self,
        selection: String,
        fields: Option<Vec<String>>,
        order: String,
        condition: Option<String>,
        reader: JsValue,
        out: Option<Uint8Array>,
        aborted: Option<Promise>,
    ) -> Result<JsValue, JsValue> {
        let work = async {
            let (selection, region) = self.selected(&selection).await?;
            let fields = fields.or_else(|| selection.as_ref()?.attributes.clone());
            let batch = self.array.read(&query(fields, region, &order, condition)?).await?;
            let object = batch_to_js(&batch, out)?;
            if let Some(selection) = selection {
                let single: js_sys::Array = selection.axes.iter().map(|a| JsValue::from(a.single)).collect();
                set(&object, "single", &single.into());
            }
            Ok(object.into())
        };
        until(aborted, on_behalf_of(reader, work)).await
    }

    /// Plans a read of a selection or of ranges, as JSON: `{requests: [{key, offset, length}], tiles: [{fragment, number,
    /// domain, bytes}]}`.
    pub async fn explain(
        &self,
        selection: String,
        fields: Option<Vec<String>>,
        order: String,
        condition: Option<String>,
        aborted: Option<Promise>,
    ) -> Result<String, JsValue> {
        let work = async {
            let (selection, region) = self.selected(&selection).await?;
            let fields = fields.or_else(|| selection.as_ref()?.attributes.clone());
            let plan = self.array.explain(&query(fields, region, &order, condition)?).await?;
            let request = |r: &PlannedRequest| json!({"key": &*r.path, "offset": r.range.start, "length": r.range.end - r.range.start});
            let tile = |t: &PlannedTile| json!({"fragment": t.fragment, "number": t.number, "domain": domain(&t.domain), "bytes": t.bytes});
            let requests: Value = plan.requests.iter().map(request).collect();
            let tiles: Value = plan.tiles.iter().map(tile).collect();
            Ok(json!({"requests": requests, "tiles": tiles}).to_string())
        };
        until(aborted, work).await
    }

    /// Starts a streamed read.
    pub fn query(
        &self,
        ranges: &str,
        fields: Option<Vec<String>>,
        order: &str,
        condition: Option<String>,
        batch_bytes: Option<f64>,
        reader: JsValue,
    ) -> Result<RawBatches, JsValue> {
        let start = || {
            let mut query = query(fields, select::region(ranges, self.array.schema())?, order, condition)?;
            if let Some(bytes) = batch_bytes {
                query.batch_bytes = whole_number(bytes);
            }
            Ok(RawBatches {
                batches: Mutex::new(self.array.batches(query)),
                reader,
            })
        };
        start().map_err(|e: Error| to_js(&e))
    }

    /// The number of cells that a query selects.
    pub async fn count(
        &self,
        ranges: String,
        condition: Option<String>,
        aborted: Option<Promise>,
    ) -> Result<f64, JsValue> {
        let work = async {
            let region = select::region(&ranges, self.array.schema())?;
            self.array.count(&query(None, region, "unordered", condition)?).await
        };
        // Counts are far below 2^53.
        until(aborted, work).await.map(|n| n as f64)
    }

    /// Writes a fragment and returns its name. A dense write has a `selection`, its box.
    pub async fn put(
        &self,
        selection: Option<String>,
        order: String,
        columns: js_sys::Array,
        timestamp: f64,
        seed: Vec<u8>,
    ) -> Result<String, JsValue> {
        let work = async {
            let columns = columns::from_js(&columns, &self.array).await?;
            let region = match selection {
                Some(json) => Some(self.written_box(&json).await?),
                None => None,
            };
            let cells = Cells {
                region,
                layout: layout(&order)?,
                columns,
            };
            let name = self.array.write(cells, &write_options(timestamp, &seed)?).await?;
            self.refresh_manifest().await?;
            Ok(name)
        };
        work.await.map_err(|e: Error| to_js(&e))
    }
}

impl RawArray {
    /// The region of a read, from a selection or from ranges.
    async fn selected(&self, given: &str) -> Result<(Option<Selection>, Region)> {
        let schema = self.array.schema();
        if select::is_ranges(given) {
            return Ok((None, select::region(given, schema)?));
        }
        let selection = select::selection(given, &self.array).await?;
        let region = selection.region(schema)?;
        Ok((Some(selection), region))
    }

    /// The box of a dense write.
    pub(crate) async fn written_box(&self, json: &str) -> Result<Vec<ScalarRange>> {
        let selection = select::selection(json, &self.array).await?;
        let plain = |axis: Axis| match axis.range {
            Some(range) if axis.step == 1 && axis.list.is_empty() => Ok(range),
            _ => Err(Error::invalid(
                "a write fills a box; its steps must be 1, without lists",
            )),
        };
        selection.axes.into_iter().map(plain).collect()
    }
}

/// A read in batches.
#[wasm_bindgen]
pub struct RawBatches {
    /// Locked while a batch is read, because JavaScript may call `next` again before the first call is done.
    batches: Mutex<Batches>,
    reader: JsValue,
}

#[wasm_bindgen]
impl RawBatches {
    /// The next batch, `{columns, shape?, cells}`, or `undefined` after the last one.
    pub async fn next(&self, aborted: Option<Promise>) -> Result<JsValue, JsValue> {
        let work = async {
            let batch = self.batches.lock().await.next().await?;
            batch.map_or(Ok(JsValue::UNDEFINED), |batch| {
                batch_to_js(&batch, None).map(Into::into)
            })
        };
        until(aborted, on_behalf_of(self.reader.clone(), work)).await
    }
}

pub(crate) fn query(
    fields: Option<Vec<String>>,
    region: Region,
    order: &str,
    condition: Option<String>,
) -> Result<Query> {
    let condition = condition.map(|text| text.parse::<Condition>()).transpose()?;
    Ok(Query {
        fields,
        region,
        order: layout(order)?,
        condition,
        ..Query::default()
    })
}

fn layout(order: &str) -> Result<Layout> {
    Ok(match order {
        "row" => Layout::RowMajor,
        "col" => Layout::ColMajor,
        "global" => Layout::Global,
        "unordered" => Layout::Unordered,
        other => {
            return Err(Error::invalid(format!(
                "unknown order '{other}'; use row, col, global or unordered"
            )));
        }
    })
}

fn batch_to_js(batch: &Batch, out: Option<Uint8Array>) -> Result<Object> {
    let object = Object::new();
    set(&object, "columns", &columns::all_to_js(&batch.columns, out)?.into());
    // Counts are far below 2^53.
    let number = |n: u64| JsValue::from(n as f64);
    set(&object, "cells", &number(batch.cells));
    if let Some(shape) = &batch.shape {
        set(
            &object,
            "shape",
            &shape.iter().map(|&n| number(n)).collect::<js_sys::Array>().into(),
        );
    }
    Ok(object)
}

/// `[[lo, hi], …]`. Integers are strings of digits, because a double cannot hold all of them.
fn domain(ranges: &[ScalarRange]) -> Value {
    ranges.iter().map(|r| json!([scalar(&r.lo), scalar(&r.hi)])).collect()
}

fn cell(cell: CellCount) -> Value {
    match cell {
        CellCount::Fixed(n) => json!(n),
        CellCount::Var => json!("var"),
    }
}

fn scalar(value: &Scalar) -> Value {
    match value {
        Scalar::Bytes(bytes) => json!(String::from_utf8_lossy(bytes)),
        Scalar::F32(_) | Scalar::F64(_) => json!(value.as_f64()),
        integer => json!({"int": integer.as_i128().unwrap_or(0).to_string()}),
    }
}
