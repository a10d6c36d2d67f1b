//! The columns of a Parquet file that an array can store.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType, Float16Type, Float32Type, Int64Type,
};
use arrow_array::{Array as _, ArrayRef, Float32Array, Float64Array, Int64Array, PrimitiveArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use hyperslab::arrow::FieldType;

/// The most structs around a column.
const DEPTH_MAX: usize = 16;
/// The most digits of a decimal that fit `int64`.
const INT64_DIGITS: u8 = 18;
/// Decimals of at most this size and this many fractional digits are divided exactly.
const EXACT_MAX: u128 = 1 << 53;
const EXACT_DIGITS: u32 = 22;

/// A column that an array can store.
#[derive(Debug)]
pub(super) struct LeafColumn {
    /// The position of its top-level column in the file.
    pub(super) root: usize,
    /// The position of its field in each struct around it, the outermost first.
    path: Vec<usize>,
    /// Its name and its type after the conversion.
    pub(super) field: Field,
    conversion: Conversion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    None,
    HalfToFloat,
    DecimalToInt,
    DecimalToFloat,
}

/// Appends the columns that a top-level column stands for, and a note for each that is left out or changed.
pub(super) fn leaves(root: usize, field: &Field, columns: &mut Vec<LeafColumn>, notes: &mut Vec<String>) {
    let found = Found {
        root,
        path: Vec::new(),
        name: field.name().clone(),
        nullable: field.is_nullable(),
    };
    found.leaves(field, columns, notes);
}

/// A field within a top-level column.
struct Found {
    root: usize,
    path: Vec<usize>,
    name: String,
    nullable: bool,
}

impl Found {
    fn leaves(self, field: &Field, columns: &mut Vec<LeafColumn>, notes: &mut Vec<String>) {
        if let DataType::Struct(inner) = field.data_type()
            && self.path.len() < DEPTH_MAX
        {
            for (i, field) in inner.iter().enumerate() {
                let found = Self {
                    root: self.root,
                    path: self.path.iter().copied().chain([i]).collect(),
                    name: format!("{}.{}", self.name, field.name()),
                    nullable: self.nullable || field.is_nullable(),
                };
                found.leaves(field, columns, notes);
            }
            return;
        }
        let (stored, conversion) = match field.data_type() {
            DataType::Float16 => (DataType::Float32, Conversion::HalfToFloat),
            DataType::Decimal32(digits, 0) | DataType::Decimal64(digits, 0) | DataType::Decimal128(digits, 0)
                if *digits <= INT64_DIGITS =>
            {
                (DataType::Int64, Conversion::DecimalToInt)
            }
            t if t.is_decimal() => (DataType::Float64, Conversion::DecimalToFloat),
            t => (t.clone(), Conversion::None),
        };
        let stored = field
            .clone()
            .with_name(&self.name)
            .with_data_type(stored)
            .with_nullable(self.nullable);
        if FieldType::infer(&stored).is_err() {
            notes.push(format!(
                "column '{}' is left out, because an array cannot store {}; convert it to numbers or text first, for \
                 example with DuckDB",
                self.name,
                described(field.data_type())
            ));
            return;
        }
        if conversion == Conversion::DecimalToFloat {
            notes.push(format!(
                "column '{}' holds decimals, which are stored as float64 and may be rounded",
                self.name
            ));
        }
        columns.push(LeafColumn {
            root: self.root,
            path: self.path,
            field: stored,
            conversion,
        });
    }
}

/// A type that is left out, for messages.
fn described(t: &DataType) -> String {
    match t {
        DataType::Null => "a column of only nulls".to_owned(),
        DataType::Map(..) => "maps".to_owned(),
        DataType::Struct(_) => "structs in so many others".to_owned(),
        DataType::Union(..) => "unions".to_owned(),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
            let of = match item.data_type() {
                DataType::Struct(_) => "structs".to_owned(),
                t if t.is_nested() => "lists".to_owned(),
                DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
                t => format!("type {t}"),
            };
            format!("lists of {of}")
        }
        other => format!("values of type {other}"),
    }
}

impl LeafColumn {
    /// The column, within its top-level column.
    pub(super) fn of(&self, root: &ArrayRef) -> Result<ArrayRef> {
        let mut array = Arc::clone(root);
        for at in &self.path {
            let parent = array
                .as_struct_opt()
                .context("a struct of the file has another type than its schema")?;
            let child = parent
                .columns()
                .get(*at)
                .context("a struct of the file has fewer fields than its schema")?;
            let nulls = NullBuffer::union(parent.nulls(), child.logical_nulls().as_ref());
            array = match parent.nulls() {
                Some(_) => make_array(child.to_data().into_builder().nulls(nulls).build()?),
                None => Arc::clone(child),
            };
        }
        Ok(match self.conversion {
            Conversion::None => array,
            Conversion::HalfToFloat => {
                let halves = array.as_primitive::<Float16Type>();
                let floats: Float32Array = halves.unary::<_, Float32Type>(f32::from);
                Arc::new(floats)
            }
            Conversion::DecimalToInt => integers(&array)?,
            Conversion::DecimalToFloat => floats(&array)?,
        })
    }
}

/// Decimals without a fraction as integers.
fn integers(array: &ArrayRef) -> Result<ArrayRef> {
    let integers: Int64Array = match array.data_type() {
        DataType::Decimal32(..) => array.as_primitive::<Decimal32Type>().unary::<_, Int64Type>(i64::from),
        DataType::Decimal64(..) => array.as_primitive::<Decimal64Type>().unary::<_, Int64Type>(|v| v),
        _ => array
            .as_primitive::<Decimal128Type>()
            .try_unary(|v| i64::try_from(v).context("a decimal of the file has more digits than its type"))?,
    };
    Ok(Arc::new(integers))
}

/// Decimals as the nearest floats.
fn floats(array: &ArrayRef) -> Result<ArrayRef> {
    let floats: Float64Array = match array.data_type() {
        DataType::Decimal32(..) => nearest(array.as_primitive::<Decimal32Type>(), |v| Some(v.into()))?,
        DataType::Decimal64(..) => nearest(array.as_primitive::<Decimal64Type>(), |v| Some(v.into()))?,
        DataType::Decimal256(..) => nearest(array.as_primitive::<Decimal256Type>(), |v| v.to_i128())?,
        _ => nearest(array.as_primitive::<Decimal128Type>(), Some)?,
    };
    Ok(Arc::new(floats))
}

fn nearest<T: DecimalType>(
    decimals: &PrimitiveArray<T>,
    integer: impl Fn(T::Native) -> Option<i128>,
) -> Result<Float64Array> {
    let digits = u32::try_from(decimals.scale()).ok().filter(|d| *d <= EXACT_DIGITS);
    let divisor = digits.map(|d| 10_f64.powi(d as i32));
    let value = |i: usize| -> Result<f64> {
        // Both are exact, so the quotient is the nearest float.
        if let (Some(divisor), Some(integer)) = (divisor, integer(decimals.value(i)))
            && integer.unsigned_abs() <= EXACT_MAX
        {
            return Ok(integer as f64 / divisor);
        }
        Ok(decimals.value_as_string(i).parse()?)
    };
    let value = |i| (!decimals.is_null(i)).then(|| value(i)).transpose();
    (0..decimals.len()).map(value).collect()
}
