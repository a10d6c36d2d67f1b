//! Converts cases to the engine's types.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, anyhow, bail};
use hyperslab::schema::{
    ArrayType, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration, EnumerationRef, Filter,
    Layout, Pipeline, Schema, WebpFormat,
};
use hyperslab::{CellCount, Column, CompareOp, Condition, Datatype, Region, Scalar, ScalarRange};
use serde_json::Value;

use super::{AttrSpec, Case, ColSpec, DimSpec, EnumSpec, FilterSpec, LabelSpec, Op, QuerySpec, SchemaSpec};
use crate::hex::{self, Hex};

/// The layout with this name.
///
/// # Errors
/// If there is no such layout.
pub fn layout(name: &str) -> Result<Layout> {
    Ok(match name {
        "row" => Layout::RowMajor,
        "col" => Layout::ColMajor,
        "global" => Layout::Global,
        "unordered" => Layout::Unordered,
        "hilbert" => Layout::Hilbert,
        other => bail!("no layout '{other}'"),
    })
}

fn datatype(name: &str) -> Result<Datatype> {
    Ok(Datatype::from_name(name)?)
}

fn cell(value: &Value) -> Result<CellCount> {
    match value.as_u64() {
        Some(n) => Ok(CellCount::Fixed(u32::try_from(n)?)),
        None => Ok(CellCount::Var),
    }
}

fn order(name: &str) -> DataOrder {
    match name {
        "increasing" => DataOrder::Increasing,
        "decreasing" => DataOrder::Decreasing,
        _ => DataOrder::Unordered,
    }
}

/// A value of type `datatype`: a number, or the bytes of a string.
pub fn scalar(datatype: Datatype, bytes: &[u8]) -> Scalar {
    if datatype.is_string() || datatype.is_opaque() {
        return Scalar::Bytes(bytes.to_vec());
    }
    Scalar::from_le_bytes(datatype.physical(), bytes).unwrap_or_else(|| Scalar::Bytes(bytes.to_vec()))
}

fn range(datatype: Datatype, (lo, hi): &(Hex, Hex)) -> ScalarRange {
    ScalarRange {
        lo: scalar(datatype, &lo.0),
        hi: scalar(datatype, &hi.0),
    }
}

fn pipeline(filters: &[FilterSpec]) -> Result<Pipeline> {
    Ok(Pipeline::new(filters.iter().map(filter).collect::<Result<_>>()?))
}

fn filter((name, options): &FilterSpec) -> Result<Filter> {
    let number = |key: &str| options.get(key).and_then(Value::as_f64);
    let int = |key: &str, default: i64| number(key).map_or(default, |v| v as i64);
    let level = i32::try_from(int("level", -1))?;
    let reinterpret = options
        .get("reinterpret")
        .and_then(Value::as_str)
        .map(datatype)
        .transpose()?;
    Ok(match name.as_str() {
        "none" => Filter::None,
        "gzip" => Filter::Gzip { level },
        "zstd" => Filter::Zstd { level },
        "lz4" => Filter::Lz4 { level },
        "rle" => Filter::Rle { level },
        "bzip2" => Filter::Bzip2 { level },
        "double_delta" => Filter::DoubleDelta { level, reinterpret },
        "delta" => Filter::Delta { level, reinterpret },
        "dictionary" => Filter::Dictionary { level },
        "bit_width_reduction" => Filter::BitWidthReduction {
            max_window: u32::try_from(int("window", 256))?,
        },
        "positive_delta" => Filter::PositiveDelta {
            max_window: u32::try_from(int("window", 1024))?,
        },
        "bitshuffle" => Filter::Bitshuffle,
        "byteshuffle" => Filter::Byteshuffle,
        "md5" => Filter::Md5,
        "sha256" => Filter::Sha256,
        "xor" => Filter::Xor,
        "float_scale" => Filter::FloatScale {
            scale: number("scale").unwrap_or(1.0),
            offset: number("offset").unwrap_or(0.0),
            byte_width: u64::try_from(int("byte_width", 8))?,
        },
        "webp" => Filter::Webp {
            quality: 100.0,
            format: match int("format", 1) {
                2 => WebpFormat::Bgr,
                3 => WebpFormat::Rgba,
                4 => WebpFormat::Bgra,
                _ => WebpFormat::Rgb,
            },
            lossless: int("lossless", 1) != 0,
            y_extent: 0,
            x_extent: 0,
        },
        other => bail!("no filter '{other}'"),
    })
}

impl AttrSpec {
    /// The engine's attribute.
    ///
    /// # Errors
    /// If the description contains an unknown name.
    pub fn build(&self) -> Result<Attribute> {
        let mut a = Attribute::new(&self.name, datatype(&self.datatype)?, cell(&self.cell)?);
        a.filters = pipeline(&self.filters)?;
        a.nullable = self.nullable;
        if let Some(fill) = &self.fill {
            a.fill.clone_from(&fill.0);
        }
        a.fill_valid = self.nullable && self.fill_valid;
        a.enumeration.clone_from(&self.enumeration);
        Ok(a)
    }
}

impl EnumSpec {
    /// The values as a column of type `datatype`.
    pub fn values(&self, datatype: Datatype) -> Column {
        let cell = if self.off.is_some() {
            CellCount::Var
        } else {
            CellCount::Fixed(self.cell.unwrap_or(1))
        };
        column(datatype, cell, &self.data.0, self.off.as_deref(), None)
    }

    /// The engine's enumeration, without a file.
    ///
    /// # Errors
    /// If the description names an unknown datatype.
    pub fn build(&self) -> Result<Enumeration> {
        let values = self.values(datatype(&self.datatype)?);
        Ok(Enumeration {
            name: self.name.clone(),
            file: String::new(),
            ordered: self.ordered,
            values,
        })
    }
}

/// A column from offsets without the final one, as libtiledb takes and returns them.
fn column(datatype: Datatype, cell: CellCount, data: &[u8], off: Option<&[u64]>, valid: Option<&[u8]>) -> Column {
    let offsets = off.map(|o| {
        let mut all = o.to_vec();
        all.push(data.len() as u64);
        all
    });
    Column {
        datatype,
        cell,
        data: data.to_vec(),
        offsets,
        validity: valid.map(<[u8]>::to_vec),
    }
}

impl SchemaSpec {
    /// The engine's schema.
    ///
    /// # Errors
    /// If the description contains an unknown name.
    pub fn build(&self) -> Result<Schema> {
        let dims = self.dims.iter().map(DimSpec::build).collect::<Result<Vec<_>>>()?;
        let attrs = self.attrs.iter().map(AttrSpec::build).collect::<Result<Vec<_>>>()?;
        let kind = if self.kind == "dense" {
            ArrayType::Dense
        } else {
            ArrayType::Sparse
        };
        let mut s = Schema::new(kind, dims, attrs);
        s.tile_order = layout(self.tile.as_deref().unwrap_or("row"))?;
        s.cell_order = layout(self.order.as_deref().unwrap_or("row"))?;
        s.capacity = self.capacity.unwrap_or(s.capacity);
        s.allows_duplicates = self.dups;
        for (spec, place) in [
            (&self.coords_filters, &mut s.coords_filters),
            (&self.offsets_filters, &mut s.offsets_filters),
            (&self.validity_filters, &mut s.validity_filters),
        ] {
            if let Some(spec) = spec {
                *place = pipeline(spec)?;
            }
        }
        s.enumerations = self
            .enums
            .iter()
            .map(|e| EnumerationRef {
                name: e.name.clone(),
                file: String::new(),
            })
            .collect();
        s.current_domain = self
            .current_domain
            .as_ref()
            .map(|r| CurrentDomain { ranges: self.ranges(r) });
        s.labels = self
            .labels
            .iter()
            .enumerate()
            .map(|(i, l)| l.build(i))
            .collect::<Result<_>>()?;
        Ok(s)
    }

    /// One closed range per dimension.
    pub fn ranges(&self, ranges: &[(Hex, Hex)]) -> Vec<ScalarRange> {
        self.dims
            .iter()
            .zip(ranges)
            .map(|(d, r)| range(d.build().map_or(Datatype::Int64, |d| d.datatype), r))
            .collect()
    }

    /// The column of a field, as described.
    ///
    /// # Errors
    /// If there is no such field.
    pub fn column(&self, schema: &Schema, name: &str, c: &ColSpec) -> Result<Column> {
        let (datatype, cell) = match (schema.attribute(name), schema.dimension(name)) {
            (Some((_, a)), _) => (a.datatype, a.cell),
            (None, Some((_, d))) => (d.datatype, d.cell),
            (None, None) => bail!("no field '{name}'"),
        };
        Ok(column(
            datatype,
            cell,
            &c.data.0,
            c.off.as_deref(),
            c.valid.as_ref().map(|v| &v.0[..]),
        ))
    }
}

impl DimSpec {
    fn build(&self) -> Result<Dimension> {
        let datatype = datatype(&self.datatype)?;
        let mut d = Dimension::string(&self.name);
        d.filters = pipeline(&self.filters)?;
        if let Some(domain) = &self.domain {
            d.datatype = datatype;
            d.cell = CellCount::ONE;
            d.domain = Some(range(datatype, domain));
            d.extent = self.extent.as_ref().map(|e| scalar(datatype, &e.0));
        }
        Ok(d)
    }
}

impl LabelSpec {
    fn build(&self, index: usize) -> Result<DimensionLabel> {
        let datatype = datatype(&self.datatype)?;
        Ok(DimensionLabel {
            dimension: self.dim,
            name: self.name.clone(),
            relative: true,
            uri: format!("__labels/l{index}"),
            attribute: "label".to_owned(),
            order: order(&self.order),
            datatype,
            cell: if datatype.is_string() {
                CellCount::Var
            } else {
                CellCount::ONE
            },
            external: false,
        })
    }
}

impl QuerySpec {
    /// The region of a query, or `all` if it has no ranges.
    pub fn region(&self, schema: &Schema) -> Region {
        let Some(ranges) = &self.ranges else {
            return Region::all();
        };
        let whole = |d: &Dimension| {
            d.domain.clone().unwrap_or(ScalarRange {
                lo: Scalar::Bytes(Vec::new()),
                hi: Scalar::Bytes(vec![0xff; 32]),
            })
        };
        let each = |(d, r): (&Dimension, &Vec<(Hex, Hex)>)| {
            if r.is_empty() {
                vec![whole(d)]
            } else {
                r.iter().map(|r| range(d.datatype, r)).collect()
            }
        };
        Region(schema.dimensions.iter().zip(ranges).map(each).collect())
    }

    /// The expected column of a field.
    ///
    /// # Errors
    /// If the description is inconsistent.
    pub fn expected(&self, name: &str) -> Result<Column> {
        let (_, kind, count, _) = self
            .fields
            .iter()
            .find(|f| f.0 == name)
            .with_context(|| format!("no field {name}"))?;
        let c = self
            .expect
            .cols
            .get(name)
            .with_context(|| format!("no answer for {name}"))?;
        let off = c.off.as_ref().map(|o| &o[..o.len().saturating_sub(1)]);
        Ok(column(
            datatype(kind)?,
            cell(count)?,
            &c.data.0,
            off,
            c.valid.as_ref().map(|v| &v.0[..]),
        ))
    }
}

/// The condition described by a tree: `["and", a, b]`, `["not", a]`, `["in", field, [hex]]`, `["==", field, hex or
/// null]`. For enumerated attributes, conditions name values, not indices.
///
/// # Errors
/// If the tree is not a condition.
pub fn condition(schema: &Schema, enums: &BTreeMap<String, Datatype>, tree: &Value) -> Result<Condition> {
    let bad = || anyhow!("not a condition: {tree}");
    let item = |i: usize| tree.get(i).ok_or_else(bad);
    let again = |i: usize| condition(schema, enums, item(i)?);
    let kind = item(0)?.as_str().ok_or_else(bad)?;
    match kind {
        "and" => return Ok(Condition::And(vec![again(1)?, again(2)?])),
        "or" => return Ok(Condition::Or(vec![again(1)?, again(2)?])),
        "not" => return Ok(Condition::Not(Box::new(again(1)?))),
        _ => {}
    }
    let field = item(1)?.as_str().ok_or_else(bad)?.to_owned();
    let own = match (schema.attribute(&field), schema.dimension(&field)) {
        (Some((_, a)), _) => a
            .enumeration
            .as_ref()
            .and_then(|e| enums.get(e))
            .copied()
            .unwrap_or(a.datatype),
        (None, Some((_, d))) => d.datatype,
        (None, None) => bail!("no field '{field}'"),
    };
    let value = |v: &Value| -> Result<Scalar> {
        let raw = hex::decode(v.as_str().ok_or_else(bad)?).ok_or_else(bad)?;
        if own.is_string() || own.is_opaque() || raw.len() <= own.size() {
            return Ok(scalar(own, &raw));
        }
        // A list of numbers is written in quotes.
        let numbers: Vec<String> = raw.chunks(own.size()).map(|one| scalar(own, one).to_string()).collect();
        Ok(Scalar::Bytes(format!("[{}]", numbers.join(", ")).into_bytes()))
    };
    if kind == "in" || kind == "not in" {
        let values = item(2)?
            .as_array()
            .ok_or_else(bad)?
            .iter()
            .map(value)
            .collect::<Result<_>>()?;
        return Ok(Condition::In {
            field,
            values,
            negated: kind == "not in",
        });
    }
    if item(2)?.is_null() {
        return Ok(Condition::IsNull {
            field,
            negated: kind == "!=",
        });
    }
    let op = match kind {
        "<" => CompareOp::Lt,
        "<=" => CompareOp::Le,
        ">" => CompareOp::Gt,
        ">=" => CompareOp::Ge,
        "==" => CompareOp::Eq,
        "!=" => CompareOp::Ne,
        _ => return Err(bad()),
    };
    Ok(Condition::Compare {
        field,
        op,
        value: value(item(2)?)?,
    })
}

impl Case {
    /// Datatypes of the enumerations' values, by enumeration name.
    ///
    /// # Errors
    /// If the description names an unknown datatype.
    pub fn enum_types(&self) -> Result<BTreeMap<String, Datatype>> {
        let later = self.ops.iter().flat_map(|op| {
            if let Op::Evolve { add_enums, .. } = op {
                &add_enums[..]
            } else {
                &[]
            }
        });
        self.schema
            .enums
            .iter()
            .chain(later)
            .map(|e| Ok((e.name.clone(), datatype(&e.datatype)?)))
            .collect()
    }

    /// The 32 bytes of the key.
    ///
    /// # Errors
    /// If the key has another length.
    pub fn key(&self) -> Result<Option<hyperslab::Key>> {
        let key = self
            .key
            .as_ref()
            .map(|k| <[u8; 32]>::try_from(&k.0[..]).map(hyperslab::Key));
        Ok(key.transpose()?)
    }
}
