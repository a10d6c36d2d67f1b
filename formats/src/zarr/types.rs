//! The types of elements, and the cells that they become.

use anyhow::{Context as _, Result, bail};
use hyperslab::{CellCount, Column, Datatype};
use serde_json::Value;

use crate::text;

/// The type of an array's elements.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Type {
    pub(super) kind: Kind,
    /// The bytes of an element in a decoded chunk; 0 if it has any length.
    pub(super) bytes: usize,
    /// Whether the first byte of a number is the most significant one.
    pub(super) big_endian: bool,
}

/// What an element holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Number(Datatype),
    /// A float of 2 bytes, which becomes one of 4.
    Half,
    /// A real and an imaginary part.
    Complex(Datatype),
    /// Bytes of text, zeros at the end.
    Text,
    /// Code points of 4 bytes, zeros at the end.
    Utf32,
    Blob,
    /// Text of any length.
    LongText,
    /// Bytes of any length.
    LongBlob,
}

impl Type {
    fn new(kind: Kind, bytes: usize) -> Self {
        Self {
            kind,
            bytes,
            big_endian: false,
        }
    }

    /// A type of version 2, such as `<i4`. `filters` say what objects are.
    pub(super) fn of_v2(dtype: &Value, filters: &[String]) -> Result<Self> {
        let Some(name) = dtype.as_str() else {
            bail!("structured types are not supported");
        };
        let mut chars = name.chars();
        let order = chars.next().context("its type is empty")?;
        let class = chars
            .next()
            .with_context(|| format!("the type '{name}' is not supported"))?;
        let rest = chars.as_str();
        if class == 'O' {
            let known = |id: &str| filters.iter().any(|f| f == id);
            return Ok(match () {
                () if known("vlen-utf8") => Self::new(Kind::LongText, 0),
                () if known("vlen-bytes") => Self::new(Kind::LongBlob, 0),
                () => {
                    bail!("its cells are Python objects; only those of the filters vlen-utf8 and vlen-bytes are read")
                }
            });
        }
        let (digits, unit) = rest.split_at(rest.find('[').unwrap_or(rest.len()));
        let size: usize = digits
            .parse()
            .with_context(|| format!("the type '{name}' is not supported"))?;
        let unsupported = || format!("the type '{name}' is not supported");
        let mut found = match (class, size) {
            ('b', 1) => Self::new(Kind::Number(Datatype::Bool), 1),
            ('i' | 'u' | 'f' | 'c', _) => {
                let word = match class {
                    'i' => "int",
                    'u' => "uint",
                    'f' => "float",
                    _ => "complex",
                };
                number(&format!("{word}{}", size.saturating_mul(8))).with_context(unsupported)?
            }
            ('M', 8) => Self::new(Kind::Number(date(unit).with_context(unsupported)?), 8),
            // A duration has no type for each unit in xarray either: it is a number, whose unit the attributes have.
            ('m', 8) => Self::new(Kind::Number(Datatype::Int64), 8),
            ('S', _) if size > 0 => Self::new(Kind::Text, size),
            ('U', _) if size > 0 => Self::new(Kind::Utf32, size.checked_mul(4).with_context(unsupported)?),
            ('V', _) if size > 0 => Self::new(Kind::Blob, size),
            _ => bail!("the type '{name}' is not supported"),
        };
        found.big_endian = order == '>';
        Ok(found)
    }

    /// A type of version 3: a name, or a name with a configuration.
    pub(super) fn of_v3(dtype: &Value) -> Result<Self> {
        let name = dtype
            .as_str()
            .or_else(|| dtype.get("name")?.as_str())
            .context("it has no type")?;
        let option = |key: &str| dtype.get("configuration").and_then(|c| c.get(key));
        let length = || {
            let bytes = option("length_bytes").and_then(Value::as_u64).filter(|n| *n > 0);
            let bytes = bytes.and_then(|n| usize::try_from(n).ok());
            bytes.with_context(|| format!("the type '{name}' has no length"))
        };
        if let Some(found) = number(name) {
            return Ok(found);
        }
        Ok(match name {
            "bool" => Self::new(Kind::Number(Datatype::Bool), 1),
            "string" => Self::new(Kind::LongText, 0),
            "bytes" | "variable_length_bytes" => Self::new(Kind::LongBlob, 0),
            "fixed_length_utf32" => Self::new(Kind::Utf32, length()?),
            "null_terminated_bytes" => Self::new(Kind::Text, length()?),
            "raw_bytes" => Self::new(Kind::Blob, length()?),
            "numpy.datetime64" => {
                let unit = option("unit").and_then(Value::as_str).unwrap_or_default();
                let single = option("scale_factor").is_none_or(|n| n == 1);
                let date = date(&format!("[{unit}]")).filter(|_| single);
                Self::new(Kind::Number(date.context("dates of this unit are not supported")?), 8)
            }
            "numpy.timedelta64" => Self::new(Kind::Number(Datatype::Int64), 8),
            raw => {
                let bits = raw.strip_prefix('r').and_then(|n| n.parse::<usize>().ok());
                let bytes = bits.filter(|n| *n > 0 && n % 8 == 0).map(|n| n / 8);
                Self::new(
                    Kind::Blob,
                    bytes.with_context(|| format!("the type '{raw}' is not supported"))?,
                )
            }
        })
    }

    /// The bytes that change their order with the byte order.
    pub(super) fn word(self) -> usize {
        match self.kind {
            Kind::Number(_) | Kind::Half => self.bytes,
            Kind::Complex(_) => self.bytes / 2,
            Kind::Utf32 => 4,
            _ => 1,
        }
    }

    /// The type and the count of values in a cell of the array.
    pub(super) fn stored(self) -> (Datatype, CellCount) {
        match self.kind {
            Kind::Number(datatype) => (datatype, CellCount::ONE),
            Kind::Half => (Datatype::Float32, CellCount::ONE),
            Kind::Complex(datatype) => (datatype, CellCount::Fixed(2)),
            Kind::Text | Kind::Utf32 | Kind::LongText => (Datatype::StringUtf8, CellCount::Var),
            Kind::Blob | Kind::LongBlob => (Datatype::Blob, CellCount::Var),
        }
    }

    /// Elements of one size, in the byte order of the machine, as a column.
    pub(super) fn column(self, elements: Vec<u8>) -> Column {
        let (datatype, cell) = self.stored();
        let each = elements.chunks_exact(self.bytes.max(1));
        match self.kind {
            Kind::Number(_) | Kind::Complex(_) => Column {
                data: elements,
                ..Column::empty(datatype, cell, false)
            },
            Kind::Half => {
                let single = |e: &[u8]| e.first_chunk().map_or(0.0, |b| half::f16::from_le_bytes(*b).to_f32());
                Column::from_values(datatype, &each.map(single).collect::<Vec<f32>>())
            }
            Kind::Utf32 => Column::from_cells(datatype, each.map(utf8)),
            Kind::Text | Kind::LongText => {
                Column::from_cells(datatype, each.map(|e| text::decode(text::without_zeros(e))))
            }
            Kind::Blob | Kind::LongBlob => Column::from_cells(datatype, each),
        }
    }
}

/// The text of code points.
fn utf8(element: &[u8]) -> String {
    let points = element.as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
    let points: Vec<u32> = points.collect();
    let end = points.iter().rposition(|p| *p != 0).map_or(0, |last| last + 1);
    let text = points.into_iter().take(end);
    text.map(|p| char::from_u32(p).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

fn number(name: &str) -> Option<Type> {
    let kind = match name {
        "int8" => Kind::Number(Datatype::Int8),
        "int16" => Kind::Number(Datatype::Int16),
        "int32" => Kind::Number(Datatype::Int32),
        "int64" => Kind::Number(Datatype::Int64),
        "uint8" => Kind::Number(Datatype::Uint8),
        "uint16" => Kind::Number(Datatype::Uint16),
        "uint32" => Kind::Number(Datatype::Uint32),
        "uint64" => Kind::Number(Datatype::Uint64),
        "float16" => Kind::Half,
        "float32" => Kind::Number(Datatype::Float32),
        "float64" => Kind::Number(Datatype::Float64),
        "complex64" => Kind::Complex(Datatype::Float32),
        "complex128" => Kind::Complex(Datatype::Float64),
        _ => return None,
    };
    let bytes = match kind {
        Kind::Number(datatype) => datatype.size(),
        Kind::Complex(datatype) => 2 * datatype.size(),
        _ => 2,
    };
    Some(Type::new(kind, bytes))
}

/// The type of dates of a unit, such as `[ns]`.
fn date(unit: &str) -> Option<Datatype> {
    Some(match unit {
        "[Y]" => Datatype::DatetimeYear,
        "[M]" => Datatype::DatetimeMonth,
        "[W]" => Datatype::DatetimeWeek,
        "[D]" => Datatype::DatetimeDay,
        "[h]" => Datatype::DatetimeHr,
        "[m]" => Datatype::DatetimeMin,
        "[s]" => Datatype::DatetimeSec,
        "[ms]" => Datatype::DatetimeMs,
        "[us]" => Datatype::DatetimeUs,
        "[ns]" => Datatype::DatetimeNs,
        "[ps]" => Datatype::DatetimePs,
        "[fs]" => Datatype::DatetimeFs,
        "[as]" => Datatype::DatetimeAs,
        _ => return None,
    })
}
