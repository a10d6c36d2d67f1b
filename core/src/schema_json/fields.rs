//! Converts dimensions, attributes, enumerations and labels to and from JSON.

use serde_json::{Map, Value, json};

use super::read::{Entry, choice};
use super::value::{cell_from_json, cell_to_json, number_from_json, number_to_json, range_from_json, range_to_json};
use super::{filters, name_of};
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::attribute::{DataOrder, OLD_ANONYMOUS};
use crate::format::dimension_label::DimensionLabel;
use crate::format::enumeration::Enumeration;
use crate::format::pipeline::Pipeline;
use crate::format::schema::{Attribute, Dimension, Schema};

const ORDERS: &[(&str, DataOrder)] = &[
    ("unordered", DataOrder::Unordered),
    ("increasing", DataOrder::Increasing),
    ("decreasing", DataOrder::Decreasing),
];

/// An object under construction.
struct Object(Map<String, Value>);

impl Object {
    fn new(name: &str, datatype: Datatype, cell: CellCount, default: CellCount) -> Self {
        let mut new = Self(Map::new());
        new.put("name", json!(name));
        new.put("type", json!(datatype.name()));
        if cell != default {
            new.put("cell", cell_count_to_json(cell));
        }
        new
    }

    fn put(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }

    fn put_if(&mut self, wanted: bool, key: &str, value: impl FnOnce() -> Value) {
        if wanted {
            self.put(key, value());
        }
    }
}

fn cell_count_to_json(cell: CellCount) -> Value {
    match cell {
        CellCount::Fixed(n) => json!(n),
        CellCount::Var => json!("var"),
    }
}

fn datatype(entry: &Entry<'_>) -> Result<Datatype> {
    let e = entry.need("type")?;
    Datatype::from_name(e.str()?).map_err(|why| e.because(why))
}

fn cell_count(entry: &Entry<'_>, default: CellCount) -> Result<CellCount> {
    let Some(e) = entry.get("cell") else { return Ok(default) };
    if e.value.as_str().is_some_and(|s| s.eq_ignore_ascii_case("var")) {
        return Ok(CellCount::Var);
    }
    let n = e
        .value
        .as_u64()
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| (1..CellCount::VAR_ON_DISK).contains(n));
    n.map(CellCount::Fixed)
        .ok_or_else(|| e.wrong("the number of values per cell, from 1, or \"var\""))
}

/// The default number of values per cell of a dimension.
fn dimension_cell(datatype: Datatype) -> CellCount {
    if datatype.is_string() {
        CellCount::Var
    } else {
        CellCount::ONE
    }
}

pub(super) fn dimension_to_json(d: &Dimension) -> Value {
    let mut out = Object::new(&d.name, d.datatype, d.cell, dimension_cell(d.datatype));
    if let Some(domain) = &d.domain {
        out.put("domain", range_to_json(domain, d.datatype));
    }
    if let Some(extent) = &d.extent {
        // The extent of a signed type may be stored as the unsigned number with the same bits. The extent of a date is
        // a length, not a date.
        let cells = d.extent_cells();
        let number = cells.map_or_else(
            || number_to_json(extent, d.datatype),
            |n| number_to_json(&n.into(), Datatype::Uint64),
        );
        out.put("tile", number);
    }
    out.put_if(d.filters != Pipeline::default(), "filters", || {
        filters::to_json(&d.filters)
    });
    Value::Object(out.0)
}

pub(super) fn dimension_from_json(entry: &Entry<'_>) -> Result<Dimension> {
    entry.known(&["name", "type", "cell", "domain", "tile", "filters"])?;
    let datatype = datatype(entry)?;
    let cell = cell_count(entry, dimension_cell(datatype))?;
    let extent = |e: Entry<'_>| {
        if datatype.is_float() {
            return number_from_json(&e, datatype);
        }
        // The domain of dates is written as dates. The extent is a length in the type's unit.
        let takes = || e.wrong(&format!("a whole number of {datatype} coordinates, such as 10"));
        let cells = e.u64().map_err(|_| takes())?;
        let bits = cells.to_le_bytes();
        let fits = u64::MAX
            .checked_shr(64 - 8 * datatype.size() as u32)
            .is_some_and(|max| cells <= max);
        let value = bits
            .get(..datatype.size())
            .and_then(|b| crate::scalar::Scalar::from_le_bytes(datatype.physical(), b));
        value
            .filter(|_| fits)
            .ok_or_else(|| e.wrong(&format!("a number of coordinates that {datatype} can hold")))
    };
    Ok(Dimension {
        name: entry.string("name")?,
        datatype,
        cell,
        filters: pipeline(entry)?,
        domain: entry
            .get("domain")
            .map(|e| range_from_json(&e, datatype, cell))
            .transpose()?,
        extent: entry.get("tile").map(extent).transpose()?,
    })
}

fn pipeline(entry: &Entry<'_>) -> Result<Pipeline> {
    entry
        .get("filters")
        .map_or(Ok(Default::default()), |e| filters::from_json(&e))
}

pub(super) fn attribute_to_json(a: &Attribute) -> Value {
    let mut out = Object::new(&a.name, a.datatype, a.cell, a.datatype.default_cell());
    out.put_if(a.nullable, "nullable", || json!(true));
    let default = Attribute::new("", a.datatype, a.cell).fill;
    let plain = a.fill == default && (a.datatype.is_bytes() || a.cell != CellCount::ONE);
    out.put_if(!plain, "fill", || cell_to_json(&a.fill, a.datatype, a.cell));
    out.put_if(a.fill_valid, "fill_valid", || json!(true));
    out.put_if(a.order != DataOrder::Unordered, "order", || {
        json!(name_of(ORDERS, a.order))
    });
    if let Some(name) = &a.enumeration {
        out.put("enumeration", json!(name));
    }
    out.put_if(a.filters != Pipeline::default(), "filters", || {
        filters::to_json(&a.filters)
    });
    Value::Object(out.0)
}

pub(super) fn attribute_from_json(entry: &Entry<'_>) -> Result<Attribute> {
    entry.known(&[
        "name",
        "type",
        "cell",
        "nullable",
        "fill",
        "fill_valid",
        "order",
        "enumeration",
        "filters",
    ])?;
    let datatype = datatype(entry)?;
    let cell = cell_count(entry, datatype.default_cell())?;
    if cell
        .cell_bytes(datatype)
        .is_some_and(|n| n as u64 > crate::limits::DEFAULT_FILL_BYTES_MAX)
    {
        return Err(entry.because(format!("cells of {cell} are too large")));
    }
    let name = entry.string("name")?;
    let name = if name == OLD_ANONYMOUS { "" } else { &name };
    let mut a = Attribute::new(name, datatype, cell);
    a.nullable = entry.bool("nullable")?;
    if let Some(fill) = entry.get("fill") {
        a.fill = cell_from_json(&fill, datatype, cell)?;
    }
    a.fill_valid = entry.bool("fill_valid")?;
    a.order = entry.get("order").map_or(Ok(a.order), |e| choice(&e, ORDERS))?;
    a.enumeration = entry
        .get("enumeration")
        .map(|e| e.str().map(str::to_owned))
        .transpose()?;
    a.filters = pipeline(entry)?;
    Ok(a)
}

pub(super) fn enumeration_to_json(name: &str, all: &[Enumeration]) -> Value {
    let Some(e) = all.iter().find(|e| e.name == name) else {
        return json!({ "name": name });
    };
    let mut out = Object::new(name, e.values.datatype, e.values.cell, e.values.datatype.default_cell());
    out.put_if(e.ordered, "ordered", || json!(true));
    let values = (0..e.values.len()).map(|i| cell_to_json(e.values.cell(i), e.values.datatype, e.values.cell));
    out.put("values", values.collect());
    Value::Object(out.0)
}

pub(super) fn enumeration_from_json(entry: &Entry<'_>) -> Result<Enumeration> {
    entry.known(&["name", "type", "cell", "ordered", "values"])?;
    if entry.get("values").is_none() {
        let why = "'values' is missing, because the schema of an open array does not include values; read them from its enumeration";
        return Err(Error::invalid(format!("{}: {why}", entry.at)));
    }
    let datatype = datatype(entry)?;
    let cell = cell_count(entry, datatype.default_cell())?;
    let items = entry.need("values")?.items()?;
    let cells = items
        .iter()
        .map(|e| cell_from_json(e, datatype, cell))
        .collect::<Result<Vec<_>>>()?;
    let mut values = Column::from_cells(datatype, cells);
    if !cell.is_var() {
        values = Column {
            cell,
            offsets: None,
            ..values
        };
    }
    Ok(Enumeration {
        name: entry.need("name")?.str()?.to_owned(),
        file: String::new(),
        ordered: entry.bool("ordered")?,
        values,
    })
}

/// The default location of the label at `index`.
fn label_uri(index: usize) -> String {
    format!("__labels/l{index}")
}

const LABEL_ATTRIBUTE: &str = "label";

pub(super) fn label_to_json(l: &DimensionLabel, index: usize, schema: &Schema) -> Value {
    let mut out = Object::new(&l.name, l.datatype, l.cell, l.datatype.default_cell());
    let dimension = schema
        .dimensions
        .get(l.dimension as usize)
        .map_or("", |d| d.name.as_str());
    out.put("dimension", json!(dimension));
    out.put("order", json!(name_of(ORDERS, l.order)));
    out.put_if(l.attribute != LABEL_ATTRIBUTE, "attribute", || json!(l.attribute));
    out.put_if(l.uri != label_uri(index), "uri", || json!(l.uri));
    out.put_if(!l.relative, "relative", || json!(false));
    out.put_if(l.external, "external", || json!(true));
    Value::Object(out.0)
}

pub(super) fn label_from_json(entry: &Entry<'_>, schema: &Schema) -> Result<DimensionLabel> {
    entry.known(&[
        "name",
        "type",
        "cell",
        "dimension",
        "order",
        "attribute",
        "uri",
        "relative",
        "external",
    ])?;
    let datatype = datatype(entry)?;
    let dimension = entry.need("dimension")?;
    let found = schema
        .dimension(dimension.str()?)
        .and_then(|(i, _)| u32::try_from(i).ok());
    let attribute = entry.string("attribute")?;
    let uri = entry.string("uri")?;
    Ok(DimensionLabel {
        dimension: found.ok_or_else(|| dimension.wrong("the name of a dimension"))?,
        name: entry.need("name")?.str()?.to_owned(),
        relative: entry.get("relative").is_none() || entry.bool("relative")?,
        uri: if uri.is_empty() { label_uri(entry.index) } else { uri },
        attribute: if attribute.is_empty() {
            LABEL_ATTRIBUTE.to_owned()
        } else {
            attribute
        },
        order: entry
            .get("order")
            .map_or(Ok(DataOrder::Increasing), |e| choice(&e, ORDERS))?,
        datatype,
        cell: cell_count(entry, datatype.default_cell())?,
        external: entry.bool("external")?,
    })
}
