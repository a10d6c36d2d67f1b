//! Converts columns between Rust and JavaScript. Both sides keep them as little-endian bytes.

use hyperslab::schema::Schema;
use hyperslab::{CellCount, Column, Datatype, Error, Result};
use js_sys::{Array, Object, Reflect, Uint8Array, Uint32Array};
use wasm_bindgen::{JsCast, JsValue};

/// `{name, type, cell, data, offsets?, validity?}`. `cell` is 0 for variable-length cells; offsets are in bytes.
pub(crate) fn to_js(name: &str, column: &Column) -> Result<JsValue> {
    with_data(name, column, &Uint8Array::from(column.data.as_slice()))
}

fn with_data(name: &str, column: &Column, data: &Uint8Array) -> Result<JsValue> {
    let object = Object::new();
    set(&object, "name", &name.into());
    set(&object, "type", &column.datatype.name().into());
    let cell = match column.cell {
        CellCount::Var => 0,
        CellCount::Fixed(n) => n,
    };
    set(&object, "cell", &cell.into());
    set(&object, "data", data);
    if let Some(offsets) = &column.offsets {
        // Offsets ascend: if the last one fits, all of them do.
        if offsets.last().is_some_and(|&end| u32::try_from(end).is_err()) {
            return Err(too_large(name));
        }
        let offsets: Vec<u32> = offsets.iter().map(|&o| o as u32).collect();
        set(&object, "offsets", &Uint32Array::from(offsets.as_slice()).into());
    }
    if let Some(validity) = &column.validity {
        set(&object, "validity", &Uint8Array::from(validity.as_slice()).into());
    }
    Ok(object.into())
}

/// Every column of a result. If `out` is given, it receives the data of the only column.
pub(crate) fn all_to_js(columns: &[(String, Column)], out: Option<Uint8Array>) -> Result<Array> {
    let Some(out) = out else {
        return columns.iter().map(|(name, column)| to_js(name, column)).collect();
    };
    let [(name, column)] = columns else {
        let why = format!("'out' takes one attribute, not {}; name it in 'attrs'", columns.len());
        return Err(Error::invalid(why));
    };
    let (bytes, room) = (column.data.len(), out.length() as usize);
    if column.cell.is_var() || bytes != room {
        let why = match column.cell.is_var() {
            true => "has variable-length cells; read it without 'out'".to_owned(),
            false => format!("has {bytes} bytes in this box, but 'out' has {room}"),
        };
        return Err(Error::invalid(format!("'{name}' {why}")));
    }
    out.copy_from(&column.data);
    Ok(Array::of1(&with_data(name, column, &out)?))
}

/// The columns of a write: `[{name, data, offsets?, validity?}]`. Types come from the schema.
pub(crate) fn from_js(columns: &Array, schema: &Schema) -> Result<Vec<(String, Column)>> {
    columns.iter().map(|value| one_from_js(&value, schema)).collect()
}

fn one_from_js(value: &JsValue, schema: &Schema) -> Result<(String, Column)> {
    let get = |name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let name = get("name").as_string().unwrap_or_default();
    let (datatype, cell) = field(schema, &name)?;
    let data = get("data")
        .dyn_into::<Uint8Array>()
        .map_err(|_| Error::invalid(format!("'{name}' has no data")))?;
    let offsets = get("offsets").dyn_into::<Uint32Array>().ok();
    let validity = get("validity").dyn_into::<Uint8Array>().ok();
    if offsets.is_some() != cell.is_var() {
        let what = if cell.is_var() {
            "variable-length cells; give an array of cells, or `offsets`"
        } else {
            "fixed-length cells; leave out `offsets`"
        };
        return Err(Error::invalid(format!("'{name}' has {what}")));
    }
    let column = Column {
        datatype,
        cell,
        data: data.to_vec(),
        offsets: offsets.map(|o| o.to_vec().into_iter().map(u64::from).collect()),
        validity: validity.map(|v| v.to_vec()),
    };
    column.check(&name)?;
    Ok((name, column))
}

/// The type of a dimension or an attribute, and its number of values per cell.
fn field(schema: &Schema, name: &str) -> Result<(Datatype, CellCount)> {
    if let Some((_, attribute)) = schema.attribute(name) {
        return Ok((attribute.datatype, attribute.cell));
    }
    if let Some((_, dimension)) = schema.dimension(name) {
        return Ok((dimension.datatype, dimension.cell));
    }
    let names: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
    Err(Error::invalid(format!(
        "there is no field '{name}'; the attributes are {}",
        names.join(", ")
    )))
}

pub(crate) fn set(object: &Object, name: &str, value: &JsValue) {
    // Setting a property of a fresh, ordinary object cannot fail.
    let _ = Reflect::set(object, &name.into(), value);
}

fn too_large(name: &str) -> Error {
    Error::LimitExceeded {
        what: format!("bytes of column '{name}' in one result; read it in batches"),
        found: u64::from(u32::MAX) + 1,
        limit: u64::from(u32::MAX),
    }
}
