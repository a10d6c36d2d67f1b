//! Field types and the Arrow fields that represent them.

use std::collections::{BTreeMap, HashMap};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use arrow_schema::{DataType, Field as ArrowField};

use super::time;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::attribute::Attribute;
use crate::format::field::Field;
use crate::limits::DEFAULT_FILL_BYTES_MAX;

/// What the keys of the metadata for an exact conversion back start with.
const PREFIX: &str = "tiledb.";
const DATATYPE: &str = "tiledb.datatype";
const CELL: &str = "tiledb.cell";
const NULLABLE: &str = "tiledb.nullable";
const ROLE: &str = "tiledb.role";
/// The name of a field if its column has another name, as that of an unnamed field.
const NAME: &str = "tiledb.name";

/// The role of a column in an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Coordinates along a dimension.
    Dimension,
    /// Values of an attribute.
    Attribute,
}

/// The Arrow representation of strings, enumerated integers, bool, dates and times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Strings as text, enumerated integers as their values, bool as bits, dates and times as Arrow types.
    #[default]
    Natural,
    /// Strings as their stored bytes, everything else as integers.
    Raw,
}

/// A field, and everything else that determines its Arrow type.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldType {
    /// The field. An enumerated cell with its fill value may appear as null.
    pub field: Field,
    /// Dimension or attribute; `None` if an Arrow table does not state it.
    pub role: Option<Role>,
    /// Whether the order of the enumeration's values has a meaning, so that cells can be compared.
    pub ordered: bool,
    /// The Arrow representation of strings, enumerated integers, bool, dates and times.
    pub form: Form,
    /// Further metadata of the Arrow field, such as `units`. See [`field_facts`](crate::conventions::field_facts).
    pub facts: BTreeMap<String, String>,
}

impl Deref for FieldType {
    type Target = Field;

    fn deref(&self) -> &Field {
        &self.field
    }
}

impl DerefMut for FieldType {
    fn deref_mut(&mut self) -> &mut Field {
        &mut self.field
    }
}

impl From<Field> for FieldType {
    fn from(field: Field) -> Self {
        let role = |_| {
            if field.is_dimension() {
                Role::Dimension
            } else {
                Role::Attribute
            }
        };
        Self {
            role: field.id.map(role),
            ordered: field.enumeration.as_ref().is_some_and(|e| e.ordered),
            form: Form::Natural,
            facts: BTreeMap::new(),
            field,
        }
    }
}

impl FieldType {
    /// The Arrow field: type, nullability, and the metadata for an exact conversion back.
    pub fn arrow_field(&self) -> ArrowField {
        self.column_field(&self.name)
    }

    /// The Arrow field of a column with this name.
    pub(super) fn column_field(&self, name: &str) -> ArrowField {
        let cell = match self.cell {
            CellCount::Var => "var".to_owned(),
            CellCount::Fixed(n) => n.to_string(),
        };
        let mut metadata: HashMap<String, String> = self.facts.clone().into_iter().collect();
        metadata.extend([
            (DATATYPE.to_owned(), self.datatype.name().to_owned()),
            (CELL.to_owned(), cell),
            (NULLABLE.to_owned(), self.nullable.to_string()),
        ]);
        if let Some(role) = self.role {
            let role = match role {
                Role::Dimension => "dimension",
                Role::Attribute => "attribute",
            };
            metadata.insert(ROLE.to_owned(), role.to_owned());
        }
        if name != self.name {
            metadata.insert(NAME.to_owned(), self.name.clone());
        }
        ArrowField::new(name, self.arrow_type(), self.may_have_nulls())
            .with_dict_is_ordered(self.ordered)
            .with_metadata(metadata)
    }

    /// The field of an Arrow field. Without the metadata of [`FieldType::arrow_field`], the nearest TileDB type.
    ///
    /// # Errors
    /// [`Error::Unsupported`] names an Arrow type that no TileDB type can hold.
    pub fn infer(field: &ArrowField) -> Result<Self> {
        let (datatype, cell) = Self::values_of(field)?;
        check_fill(field.name(), cell.cell_bytes(datatype).unwrap_or(0) as u64)?;
        let role = match field.metadata().get(ROLE).map(String::as_str) {
            Some("dimension") => Some(Role::Dimension),
            Some("attribute") => Some(Role::Attribute),
            _ => None,
        };
        let metadata = field.metadata().get(NULLABLE);
        let others = field.metadata().iter().filter(|(key, _)| !key.starts_with(PREFIX));
        Ok(Self {
            role,
            facts: others.map(|(key, text)| (key.clone(), text.clone())).collect(),
            ordered: field.dict_is_ordered().unwrap_or(false),
            ..Self::from(Field {
                nullable: metadata.map_or(field.is_nullable(), |n| n == "true"),
                fill: Attribute::new("", datatype, cell).fill,
                ..Field::new(field.metadata().get(NAME).unwrap_or(field.name()), datatype, cell)
            })
        })
    }

    /// The type of the values of an Arrow field, and the number of values per cell.
    pub(super) fn values_of(field: &ArrowField) -> Result<(Datatype, CellCount)> {
        let (mut datatype, mut cell) = nearest(field.name(), field.data_type())?;
        if let Some(name) = field.metadata().get(DATATYPE) {
            datatype = Datatype::from_name(name)?;
        }
        match field.metadata().get(CELL).map(String::as_str) {
            Some("var") => cell = CellCount::Var,
            Some(n) => {
                let n = n.parse().ok().filter(|n| *n > 0);
                let n = n.ok_or_else(|| {
                    Error::invalid(format!(
                        "field '{}': metadata '{CELL}' is not a number of values",
                        field.name()
                    ))
                })?;
                cell = CellCount::Fixed(n);
            }
            None => {}
        }
        Ok((datatype, cell))
    }

    /// Whether a column of this field could need [`Form::Raw`].
    pub fn may_need_raw(&self) -> bool {
        self.form == Form::Natural && (!self.is_fixed() || time::is_coarse(self.datatype))
    }

    /// Whether the Arrow type and the size of a cell are the same for all values. Dates and times outside the range of
    /// Arrow are not considered.
    pub(crate) fn is_fixed(&self) -> bool {
        self.enumeration.is_none()
            && !self.datatype.is_bytes()
            && self.datatype != Datatype::Bool
            && !self.cell.is_var()
    }

    /// Whether cells can be null in Arrow. NaT is null too.
    pub(crate) fn may_have_nulls(&self) -> bool {
        self.nullable || self.is_dictionary() || (self.datatype.is_temporal() && self.cell == CellCount::ONE)
    }

    /// Whether [`Form::Natural`] can represent every cell of `column`.
    pub fn is_natural(&self, column: &Column) -> bool {
        if let Some(e) = &self.enumeration {
            let known = e.values.len() as u64;
            return (0..column.len()).all(|i| {
                column.is_null(i)
                    || index(column.datatype.physical(), column.cell(i)).is_some_and(|v| v < known)
                    || self.is_hole(column.cell(i))
            });
        }
        if self.datatype == Datatype::Bool {
            return column.data.iter().all(|b| *b < 2);
        }
        if self.is_text() {
            return (0..column.len()).all(|i| column.is_null(i) || super::text::is_text(self.datatype, column.cell(i)));
        }
        self.first_outside_range(column, 0..column.len()).is_none()
    }

    /// Switches to [`Form::Raw`] if `column` needs it; returns whether it switched.
    pub fn fit(&mut self, column: &Column) -> bool {
        let needs_raw = self.form == Form::Natural && !self.is_natural(column);
        if needs_raw {
            self.form = Form::Raw;
        }
        needs_raw
    }

    /// Whether cells appear as Utf8 when all of them are text.
    pub(super) fn is_text(&self) -> bool {
        self.datatype.is_string() || matches!(self.datatype, Datatype::GeomWkt)
    }

    pub(super) fn is_dictionary(&self) -> bool {
        self.enumeration.is_some() && self.form == Form::Natural
    }

    /// Whether an enumerated cell without a value may appear as null. These are negative indices, which pandas stores
    /// for missing categories, and the fill value of fields that are not nullable.
    pub(super) fn is_hole(&self, cell: &[u8]) -> bool {
        index(self.datatype.physical(), cell).is_none() || (!self.nullable && cell == self.fill)
    }

    /// The field type of an enumeration's values.
    pub(super) fn of_values(values: &Column) -> Self {
        let mut all = Self::from(Field::new("", values.datatype, values.cell));
        if !all.is_natural(values) {
            all.form = Form::Raw;
        }
        all
    }

    /// The Arrow type of one value.
    pub(crate) fn value_type(&self) -> DataType {
        if self.is_bits() {
            return DataType::Boolean;
        }
        let timed = time::arrow_type(self.datatype).filter(|_| self.form == Form::Natural);
        timed.unwrap_or_else(|| plain(self.datatype.physical()))
    }

    /// Whether Arrow stores the values as bits.
    pub(super) fn is_bits(&self) -> bool {
        matches!((self.datatype, self.form), (Datatype::Bool, Form::Natural))
    }

    fn arrow_type(&self) -> DataType {
        if let (Some(e), Form::Natural) = (&self.enumeration, self.form) {
            let values = Self::of_values(&e.values).arrow_type();
            return DataType::Dictionary(Box::new(plain(self.datatype.physical())), Box::new(values));
        }
        if self.is_text() && self.form == Form::Natural {
            return DataType::Utf8;
        }
        if self.datatype.is_bytes() {
            return DataType::Binary;
        }
        let item = || Arc::new(ArrowField::new("item", self.value_type(), true));
        match self.cell {
            CellCount::Fixed(1) => self.value_type(),
            CellCount::Fixed(n) => DataType::FixedSizeList(item(), i32::try_from(n).unwrap_or(i32::MAX)),
            CellCount::Var => DataType::List(item()),
        }
    }
}

/// The index in an enumerated cell; `None` if it is negative.
pub(super) fn index(physical: Physical, cell: &[u8]) -> Option<u64> {
    crate::scalar::Scalar::from_le_bytes(physical, cell)?
        .as_i128()?
        .try_into()
        .ok()
}

/// The Arrow number type of a physical type.
pub(super) const fn plain(physical: Physical) -> DataType {
    match physical {
        Physical::I8 => DataType::Int8,
        Physical::I16 => DataType::Int16,
        Physical::I32 => DataType::Int32,
        Physical::I64 => DataType::Int64,
        Physical::U8 => DataType::UInt8,
        Physical::U16 => DataType::UInt16,
        Physical::U32 => DataType::UInt32,
        Physical::U64 => DataType::UInt64,
        Physical::F32 => DataType::Float32,
        Physical::F64 => DataType::Float64,
    }
}

/// The TileDB type nearest to an Arrow type, without regard to metadata.
pub(super) fn nearest(name: &str, t: &DataType) -> Result<(Datatype, CellCount)> {
    use DataType as D;
    let one = |t| Ok((t, CellCount::ONE));
    match t {
        D::Boolean => one(Datatype::Bool),
        D::Int8 => one(Datatype::Int8),
        D::Int16 => one(Datatype::Int16),
        D::Int32 => one(Datatype::Int32),
        D::Int64 => one(Datatype::Int64),
        D::UInt8 => one(Datatype::Uint8),
        D::UInt16 => one(Datatype::Uint16),
        D::UInt32 => one(Datatype::Uint32),
        D::UInt64 => one(Datatype::Uint64),
        D::Float32 => one(Datatype::Float32),
        D::Float64 => one(Datatype::Float64),
        D::Utf8 | D::LargeUtf8 | D::Utf8View => Ok((Datatype::StringUtf8, CellCount::Var)),
        D::Binary | D::LargeBinary | D::BinaryView => Ok((Datatype::Blob, CellCount::Var)),
        D::FixedSizeBinary(n) => Ok((Datatype::Blob, fixed(name, *n)?)),
        D::List(item) | D::LargeList(item) => match nearest(name, item.data_type())? {
            (t, CellCount::Fixed(1)) => Ok((t, CellCount::Var)),
            _ => Err(unsupported(name, t)),
        },
        D::FixedSizeList(item, n) => match nearest(name, item.data_type())? {
            (t, CellCount::Fixed(1)) => Ok((t, fixed(name, *n)?)),
            _ => Err(unsupported(name, t)),
        },
        D::Dictionary(key, _) => nearest(name, key),
        timed => time::datatype(timed).map_or_else(|| Err(unsupported(name, t)), one),
    }
}

/// Rejects a fill value of more than [`DEFAULT_FILL_BYTES_MAX`] bytes. `bytes` may be the sum of several fields.
pub(super) fn check_fill(name: &str, bytes: u64) -> Result<()> {
    if bytes > DEFAULT_FILL_BYTES_MAX {
        return Err(Error::LimitExceeded {
            what: format!("bytes of the fill values of the fields up to '{name}'"),
            found: bytes,
            limit: DEFAULT_FILL_BYTES_MAX,
        });
    }
    Ok(())
}

fn fixed(name: &str, n: i32) -> Result<CellCount> {
    let n = u32::try_from(n).ok().filter(|n| *n > 0);
    n.map(CellCount::Fixed)
        .ok_or_else(|| Error::invalid(format!("field '{name}': cells of zero values cannot be stored")))
}

pub(super) fn unsupported(name: &str, t: &DataType) -> Error {
    Error::Unsupported(format!(
        "field '{name}': Arrow type {t} has no TileDB counterpart; cast it to numbers, text, binary or timestamps"
    ))
}
