//! The types of HDF5, as fields of an array.

use anyhow::{Result, bail, ensure};
use hdf5_reader::{ByteOrder, Dataset, Datatype as Type, EnumMember, StringPadding, StringSize, dtype_element_size};
use hyperslab::metadata::MetaValue;
use hyperslab::{CellCount, Column, Datatype, Scalar};

use crate::cf::Field;

/// The bytes of an element of a dataset, and the fields in it.
pub(super) struct Layout {
    pub(super) element_bytes: usize,
    pub(super) parts: Vec<Part>,
}

/// A field within an element.
pub(super) struct Part {
    /// Its name in a compound type, such as `position.x`.
    name: Option<String>,
    /// Where it starts, in bytes.
    pub(super) offset: usize,
    pub(super) kind: Kind,
    /// The names of its values.
    names: Names,
}

/// How the bytes of a field are stored.
pub(super) enum Kind {
    /// This many numbers.
    Numbers { number: Number, count: u32 },
    /// Text of this many bytes.
    Text { bytes: usize, padding: StringPadding },
    /// Text of any length.
    LongText { padding: StringPadding },
    /// Opaque bytes.
    Blob { bytes: usize },
    /// Any count of numbers.
    Sequence { number: Number },
}

/// A number as it is stored.
#[derive(Clone, Copy)]
pub(super) struct Number {
    /// The type that it becomes.
    pub(super) datatype: Datatype,
    /// Its bytes in the file. A float of 2 bytes becomes one of 4.
    pub(super) bytes: usize,
    /// Whether its first byte is the most significant one.
    pub(super) big_endian: bool,
}

/// The names of the values of an enumerated type.
enum Names {
    None,
    /// Values that count from 0, which an enumeration of the array names.
    Counted(Vec<String>),
    /// Other values, which attributes list as CF does.
    Flags {
        values: MetaValue,
        meanings: String,
    },
}

/// Whether the elements are single characters.
pub(super) fn is_character(of: &Type) -> bool {
    matches!(
        of,
        Type::String {
            size: StringSize::Fixed(1),
            ..
        }
    )
}

/// The layout of a dataset's elements.
pub(super) fn layout(dataset: &Dataset) -> Result<Layout> {
    let element_bytes = dataset.raw_element_size()?;
    let mut parts = Vec::new();
    add(dataset.dtype(), None, 0, &mut parts)?;
    ensure!(!parts.is_empty(), "its type has no fields");
    Ok(Layout { element_bytes, parts })
}

/// Adds the fields of a type that starts at an offset.
fn add(of: &Type, name: Option<&str>, offset: usize, parts: &mut Vec<Part>) -> Result<()> {
    if let Type::Compound { fields, .. } = of {
        if let Some(number) = complex(of) {
            let kind = Kind::Numbers { number, count: 2 };
            parts.push(part(name, offset, kind));
            return Ok(());
        }
        for field in fields {
            let inner = name.map_or_else(|| field.name.clone(), |n| format!("{n}.{}", field.name));
            add(
                &field.datatype,
                Some(&inner),
                offset + field.byte_offset as usize,
                parts,
            )?;
        }
        return Ok(());
    }
    let mut new = part(name, offset, kind(of)?);
    if let Type::Enum { base, members } = of {
        let (kind, names) = enumerated(base, members)?;
        (new.kind, new.names) = (kind, names);
    }
    parts.push(new);
    Ok(())
}

fn part(name: Option<&str>, offset: usize, kind: Kind) -> Part {
    Part {
        name: name.map(str::to_owned),
        offset,
        kind,
        names: Names::None,
    }
}

/// The parts of a complex number, as h5py stores it.
fn complex(of: &Type) -> Option<Number> {
    let Type::Compound { size, fields } = of else {
        return None;
    };
    let [re, im] = fields.as_slice() else { return None };
    let number = number(&re.datatype).ok()?;
    let named = re.name == "r" && im.name == "i" && re.datatype == im.datatype;
    let packed = re.byte_offset == 0 && im.byte_offset as usize == number.bytes && *size as usize == 2 * number.bytes;
    (named && packed && number.datatype.is_float() && number.bytes == number.datatype.size()).then_some(number)
}

fn kind(of: &Type) -> Result<Kind> {
    Ok(match of {
        Type::String {
            size: StringSize::Fixed(bytes),
            padding,
            ..
        } => Kind::Text {
            bytes: *bytes as usize,
            padding: *padding,
        },
        Type::String { padding, .. } => Kind::LongText { padding: *padding },
        Type::VarLen {
            base,
            kind: hdf5_reader::VarLenKind::String,
            padding,
            ..
        } if base.is_vlen_string_base() => Kind::LongText { padding: *padding },
        Type::VarLen { base, .. } => Kind::Sequence { number: number(base)? },
        Type::Opaque { size, tag } => {
            ensure!(tag != "HDF5_TIME", "the time type of HDF5 is not supported");
            Kind::Blob { bytes: *size as usize }
        }
        Type::Array { base, dims } => {
            let count = dims.iter().try_fold(1_u64, |n, d| n.checked_mul(*d)).filter(|n| *n > 0);
            let count = count.and_then(|n| u32::try_from(n).ok()).filter(|n| *n < u32::MAX);
            let Some(count) = count else {
                bail!("its cells are too large, or empty")
            };
            Kind::Numbers {
                number: number(base)?,
                count,
            }
        }
        _ => Kind::Numbers {
            number: number(of)?,
            count: 1,
        },
    })
}

/// A number type.
fn number(of: &Type) -> Result<Number> {
    let (datatype, bytes, order) = match of {
        Type::FixedPoint {
            size,
            signed,
            byte_order,
        } => (integer(*size, *signed), *size, *byte_order),
        Type::Bitfield { size, byte_order } => (integer(*size, false), *size, *byte_order),
        Type::FloatingPoint {
            size: size @ (2 | 4),
            byte_order,
        } => (Some(Datatype::Float32), *size, *byte_order),
        Type::FloatingPoint { size: 8, byte_order } => (Some(Datatype::Float64), 8, *byte_order),
        Type::Enum { base, .. } => return number(base),
        Type::Reference { .. } => bail!("references to other objects are not supported"),
        other => bail!("the type {} is not supported", described(other)),
    };
    let Some(datatype) = datatype else {
        bail!("integers of {bytes} bytes are not supported")
    };
    Ok(Number {
        datatype,
        bytes: usize::from(bytes),
        big_endian: order == ByteOrder::BigEndian,
    })
}

fn described(of: &Type) -> String {
    match of {
        Type::FloatingPoint { size, .. } => format!("of floats of {size} bytes"),
        Type::Compound { .. } => "of compounds within other types".to_owned(),
        Type::VarLen { .. } => "of sequences within other types".to_owned(),
        Type::Array { .. } => "of arrays within other types".to_owned(),
        Type::String { .. } => "of text within other types".to_owned(),
        Type::Opaque { .. } => "of opaque bytes within other types".to_owned(),
        other => format!("{other:?}"),
    }
}

fn integer(bytes: u8, signed: bool) -> Option<Datatype> {
    Some(match (bytes, signed) {
        (1, true) => Datatype::Int8,
        (1, false) => Datatype::Uint8,
        (2, true) => Datatype::Int16,
        (2, false) => Datatype::Uint16,
        (4, true) => Datatype::Int32,
        (4, false) => Datatype::Uint32,
        (8, true) => Datatype::Int64,
        (8, false) => Datatype::Uint64,
        _ => return None,
    })
}

/// The numbers of an enumerated type, and their names.
fn enumerated(base: &Type, members: &[EnumMember]) -> Result<(Kind, Names)> {
    let mut number = number(base)?;
    let mut pairs: Vec<(i128, &str)> = Vec::new();
    for member in members {
        let bytes = little_endian(&member.value, number);
        let value = Scalar::from_le_bytes(number.datatype.physical(), &bytes);
        let Some(value) = value.and_then(|v| v.as_i128()) else {
            bail!("its enumeration is damaged")
        };
        pairs.push((value, &member.name));
    }
    pairs.sort_by_key(|(value, _)| *value);
    let one = |number| Kind::Numbers { number, count: 1 };
    if pairs == [(0, "FALSE"), (1, "TRUE")] && number.bytes == 1 {
        // A bool of h5py.
        number.datatype = Datatype::Bool;
        return Ok((one(number), Names::None));
    }
    let counted = pairs.iter().enumerate().all(|(n, (value, _))| *value == n as i128);
    let names = if counted {
        Names::Counted(pairs.iter().map(|(_, name)| (*name).to_owned()).collect())
    } else {
        let values = pairs.iter().filter_map(|(v, _)| Scalar::from_i128(number.datatype, *v));
        let bytes: Vec<u8> = values.flat_map(|v| v.to_le_bytes()).collect();
        let meanings: Vec<String> = pairs.iter().map(|(_, name)| name.replace(' ', "_")).collect();
        Names::Flags {
            values: MetaValue::bytes(number.datatype, &bytes),
            meanings: meanings.join(" "),
        }
    };
    Ok((one(number), names))
}

/// The bytes of a number, the least significant one first.
fn little_endian(bytes: &[u8], number: Number) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if number.big_endian {
        bytes.reverse();
    }
    bytes
}

impl Layout {
    /// Whether the elements are numbers without gaps.
    pub(super) fn is_plain(&self) -> bool {
        match self.parts.as_slice() {
            [
                Part {
                    kind: Kind::Numbers { number, count },
                    offset: 0,
                    ..
                },
            ] => number.bytes == number.datatype.size() && number.bytes * *count as usize == self.element_bytes,
            _ => false,
        }
    }

    /// The fields of an array with these elements.
    pub(super) fn fields(&self) -> Vec<Field> {
        let field = |part: &Part| {
            let (datatype, cell) = part.kind.stored();
            Field {
                name: part.name.clone(),
                names: match &part.names {
                    Names::Counted(names) => Some(Column::from_cells(Datatype::StringUtf8, names)),
                    _ => None,
                },
                ..Field::only(datatype, cell)
            }
        };
        self.parts.iter().map(field).collect()
    }

    /// The attributes that say what the numbers mean.
    pub(super) fn attributes(&self) -> Vec<(String, MetaValue)> {
        match self.parts.as_slice() {
            [
                Part {
                    names: Names::Flags { values, meanings },
                    ..
                },
            ] => vec![
                ("flag_values".to_owned(), values.clone()),
                ("flag_meanings".to_owned(), MetaValue::text(meanings)),
            ],
            _ => Vec::new(),
        }
    }
}

impl Kind {
    /// The type and the count of values in a cell of the array.
    pub(super) fn stored(&self) -> (Datatype, CellCount) {
        match self {
            Self::Numbers { number, count } => (number.datatype, CellCount::Fixed(*count)),
            Self::Text { .. } | Self::LongText { .. } => (Datatype::StringUtf8, CellCount::Var),
            Self::Blob { .. } => (Datatype::Blob, CellCount::Var),
            Self::Sequence { number } => (number.datatype, CellCount::Var),
        }
    }
}

/// The layout of an attribute's elements.
pub(super) fn of_attribute(of: &Type) -> Result<Layout> {
    let mut parts = Vec::new();
    add(of, None, 0, &mut parts)?;
    ensure!(parts.len() == 1, "compound attributes are not supported");
    let element_bytes = dtype_element_size(of)?;
    Ok(Layout { element_bytes, parts })
}
