//! Converts columns between Rust and JavaScript. Both sides keep them as little-endian bytes.

use std::collections::{BTreeMap, HashMap};

use hyperslab::internals::calendar;
use hyperslab::metadata::MetaValue;
use hyperslab::schema::{Attribute, Dimension, Schema};
use hyperslab::{CellCount, Column, Datatype, Error, Result, Scalar};
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

/// The entries of metadata: `[{key, type, num, data}]`.
pub(crate) fn metadata_to_js(found: &BTreeMap<String, MetaValue>) -> Array {
    let entry = |(key, value): (&String, &MetaValue)| {
        let object = Object::new();
        set(&object, "key", &key.as_str().into());
        set(&object, "type", &value.datatype.name().into());
        set(&object, "num", &value.num.into());
        set(&object, "data", &Uint8Array::from(value.data.as_slice()).into());
        object
    };
    found.iter().map(entry).collect()
}

/// The columns of a write: `[{name, data, offsets?, validity?, isText?}]`. Types come from the schema. With `isText`, the
/// cells are UTF-8: labels of the attribute's enumeration, or dates.
pub(crate) async fn from_js(columns: &Array, array: &hyperslab::Array) -> Result<Vec<(String, Column)>> {
    let mut out = Vec::new();
    for value in columns.iter() {
        out.push(one_from_js(&value, array).await?);
    }
    Ok(out)
}

async fn one_from_js(value: &JsValue, array: &hyperslab::Array) -> Result<(String, Column)> {
    let get = |name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let name = get("name").as_string().unwrap_or_default();
    let field = FieldType::of(array.schema(), &name)?;
    let data = get("data")
        .dyn_into::<Uint8Array>()
        .map_err(|_| Error::invalid(format!("'{name}' has no data")))?;
    let offsets = get("offsets").dyn_into::<Uint32Array>().ok();
    let validity = get("validity").dyn_into::<Uint8Array>().ok();
    let is_text = get("isText").is_truthy();
    let cell = if is_text { CellCount::Var } else { field.cell };
    if offsets.is_some() != cell.is_var() {
        let what = if cell.is_var() {
            "variable-length cells; give an array of cells, or `offsets`"
        } else {
            "fixed-length cells; leave out `offsets`"
        };
        return Err(Error::invalid(format!("'{name}' has {what}")));
    }
    let column = Column {
        datatype: if is_text { Datatype::StringUtf8 } else { field.datatype },
        cell,
        data: data.to_vec(),
        offsets: offsets.map(|o| o.to_vec().into_iter().map(u64::from).collect()),
        validity: validity.map(|v| v.to_vec()),
    };
    column.check(&name)?;
    let column = match field.enumeration {
        _ if !is_text => column,
        Some(_) => from_labels(&name, &field, &column, array).await?,
        None => from_dates(&name, &field, &column)?,
    };
    Ok((name, column))
}

/// The type of the cells of a field.
struct FieldType {
    datatype: Datatype,
    /// Values per cell.
    cell: CellCount,
    enumeration: Option<String>,
}

impl FieldType {
    fn of(schema: &Schema, name: &str) -> Result<Self> {
        let of_attribute = |a: &Attribute| Self {
            datatype: a.datatype,
            cell: a.cell,
            enumeration: a.enumeration.clone(),
        };
        let of_dimension = |d: &Dimension| Self {
            datatype: d.datatype,
            cell: d.cell,
            enumeration: None,
        };
        let attribute = schema.attribute(name).map(|(_, a)| of_attribute(a));
        let found = attribute.or_else(|| schema.dimension(name).map(|(_, d)| of_dimension(d)));
        found.ok_or_else(|| {
            let names: Vec<&str> = schema.attributes.iter().map(|a| a.name.as_str()).collect();
            let why = format!("there is no field '{name}'; the attributes are {}", names.join(", "));
            Error::invalid(why)
        })
    }

    /// A column of one number per cell. Null cells are 0.
    fn column(&self, texts: &Column, number: impl Fn(&[u8]) -> Result<i128>) -> Result<Column> {
        let mut data = Vec::with_capacity(texts.len() * self.datatype.size());
        for i in 0..texts.len() {
            let is_null = texts.validity.as_ref().is_some_and(|v| v.get(i) == Some(&0));
            let found = if is_null { 0 } else { number(texts.cell(i))? };
            let value = Scalar::from_i128(self.datatype, found);
            let value = value.ok_or_else(|| Error::invalid(format!("{found} does not fit {}", self.datatype)))?;
            data.extend(value.to_le_bytes());
        }
        Ok(Column {
            datatype: self.datatype,
            cell: CellCount::ONE,
            data,
            offsets: None,
            validity: texts.validity.clone(),
        })
    }
}

/// The indices of labels in the attribute's enumeration.
async fn from_labels(name: &str, field: &FieldType, texts: &Column, array: &hyperslab::Array) -> Result<Column> {
    let enumeration = array.enumeration(name).await?;
    let values = &enumeration.values;
    if !values.datatype.is_string() || values.datatype.size() != 1 {
        let why = format!(
            "the enumeration of '{name}' has values of {}; give indices",
            values.datatype
        );
        return Err(Error::invalid(why));
    }
    let indices: HashMap<&[u8], usize> = (0..values.len()).map(|i| (values.cell(i), i)).collect();
    field.column(texts, |label| {
        let found = indices.get(label).and_then(|&i| i128::try_from(i).ok());
        found.ok_or_else(|| {
            let (label, own) = (String::from_utf8_lossy(label), &enumeration.name);
            let add = format!("evolve(array, {{ extendEnumerations: {{ {own:?}: [{label:?}] }} }})");
            Error::invalid(format!(
                "'{name}': its enumeration '{own}' has no value '{label}'; add it with {add}"
            ))
        })
    })
}

/// The dates that texts describe, in the field's unit. A period such as `2020-03` is its first tick.
fn from_dates(name: &str, field: &FieldType, texts: &Column) -> Result<Column> {
    field.column(texts, |text| {
        let found = calendar::parse(&String::from_utf8_lossy(text), field.datatype);
        found
            .map(|(first, _)| first.into())
            .map_err(|why| Error::invalid(format!("'{name}': {why}")))
    })
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
