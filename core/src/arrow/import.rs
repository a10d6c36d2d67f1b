//! Converts Arrow arrays to columns.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, BooleanArray, GenericListArray, OffsetSizeTrait};
use arrow_schema::DataType;

use super::text;
use super::time::{self, NOT_A_TIME};
use super::types::{FieldType, Role, plain};
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::scalar::Scalar;

impl FieldType {
    /// Converts an Arrow array to a column of this field.
    ///
    /// Numbers of another type are accepted if every value fits exactly, and so are dates in another unit. A null in a
    /// date or time field that is not nullable becomes NaT. Dimensions do not accept nulls.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] names the cell that does not fit and the reason.
    pub fn column(&self, array: &ArrayRef) -> Result<Column> {
        let nulls = array.logical_nulls();
        if let (false, None, Some(i)) = (
            self.nullable || self.accepts_not_a_time(),
            &self.enumeration,
            nulls.as_ref().and_then(|n| (0..n.len()).find(|i| n.is_null(*i))),
        ) {
            return Err(self.fail(i, "is null, but the field is not nullable"));
        }
        let mut column = if self.enumeration.is_some() && !array.data_type().is_integer() {
            self.indices(array)?
        } else if let Some(dictionary) = array.as_any_dictionary_opt() {
            gather(&self.column_of(dictionary.values())?, &keys(dictionary))
        } else {
            self.column_of(array)?
        };
        let valid = |n: &arrow_buffer::NullBuffer| n.iter().map(u8::from).collect();
        column.validity = self
            .nullable
            .then(|| nulls.as_ref().map_or_else(|| vec![1; array.len()], valid));
        Ok(column)
    }

    /// Whether NaT can represent a null of this field.
    fn accepts_not_a_time(&self) -> bool {
        self.datatype.is_temporal() && self.cell == CellCount::ONE && self.role != Some(Role::Dimension)
    }

    fn column_of(&self, array: &ArrayRef) -> Result<Column> {
        let (mut data, mut offsets) = (Vec::new(), None);
        if self.datatype.is_bytes() {
            let mut ends = vec![0];
            for (i, cell) in self.byte_cells(array)?.into_iter().enumerate() {
                self.append(&mut data, i, &cell)?;
                ends.push(data.len() as u64);
            }
            offsets = self.cell.is_var().then_some(ends);
        } else if self.cell == CellCount::ONE {
            data = self.values(array)?;
        } else {
            let lists = self.lists(array)?;
            let values = self.values(&lists.values)?;
            let width = self.datatype.size();
            let mut ends = vec![0];
            for (i, cell) in lists.cells.into_iter().enumerate() {
                let bytes = values
                    .get(cell.start * width..cell.end * width)
                    .ok_or_else(|| self.fail(i, "is out of bounds of the list's values"))?;
                if lists.values.null_count() > 0
                    && !self.datatype.is_temporal()
                    && !array.is_null(i)
                    && cell.clone().any(|v| lists.values.is_null(v))
                {
                    return Err(self.fail(
                        i,
                        "contains a null; only a whole cell can be null, so replace it with a value",
                    ));
                }
                self.append(&mut data, i, bytes)?;
                ends.push(data.len() as u64);
            }
            offsets = self.cell.is_var().then_some(ends);
        }
        Ok(Column {
            datatype: self.datatype,
            cell: self.cell,
            data,
            offsets,
            validity: None,
        })
    }

    /// Appends a cell; pads nulls and fixed-length strings with zeros.
    fn append(&self, data: &mut Vec<u8>, i: usize, cell: &[u8]) -> Result<()> {
        let size = self.cell.cell_bytes(self.datatype).unwrap_or(cell.len());
        if cell.len() > size
            || (cell.len() < size && !cell.is_empty() && !self.is_text())
            || !cell.len().is_multiple_of(self.datatype.size())
        {
            return Err(self.fail(i, &format!("has {} bytes, but the field stores {size}", cell.len())));
        }
        data.extend_from_slice(cell);
        data.resize(data.len() + size - cell.len(), 0);
        Ok(())
    }

    /// Looks up the value of each cell in the enumeration, and returns the positions.
    fn indices(&self, array: &ArrayRef) -> Result<Column> {
        let Some(e) = &self.enumeration else {
            return Err(self.fail(0, "has no enumeration"));
        };
        let shown = Self::of_values(&e.values);
        let positions: HashMap<&[u8], usize> = (0..e.values.len()).map(|i| (e.values.cell(i), i)).collect();
        let position = |i: usize, cell: &[u8]| {
            let found = positions
                .get(cell)
                .and_then(|p| Scalar::from_i128(self.datatype, *p as i128));
            found.ok_or_else(|| {
                self.fail(
                    i,
                    &format!("is not a value of enumeration '{}'; add it with `evolve`", e.name),
                )
            })
        };
        let mut data = Vec::with_capacity(array.len() * self.datatype.size());
        let null = if self.nullable || self.fill.is_empty() {
            vec![0; self.datatype.size()]
        } else {
            self.fill.clone()
        };
        let mut push =
            |found: Option<&Scalar>| data.extend_from_slice(&found.map_or_else(|| null.clone(), Scalar::to_le_bytes));
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let values = shown.column_of(dictionary.values())?;
            let mut known = vec![None; values.len()];
            for (i, key) in keys(dictionary).into_iter().enumerate() {
                match key.and_then(|k| Some((k, known.get_mut(k)?))) {
                    Some((k, slot @ None)) => push(Some(slot.insert(position(i, values.cell(k))?))),
                    Some((_, slot)) => push(slot.as_ref()),
                    None => push(None),
                }
            }
        } else {
            let values = shown.column_of(array)?;
            for i in 0..values.len() {
                if array.is_null(i) {
                    push(None)
                } else {
                    push(Some(&position(i, values.cell(i))?))
                }
            }
        }
        Ok(Column {
            datatype: self.datatype,
            cell: self.cell,
            data,
            offsets: None,
            validity: None,
        })
    }

    /// The stored bytes of each cell; empty for nulls.
    fn byte_cells<'a>(&self, array: &'a ArrayRef) -> Result<Vec<std::borrow::Cow<'a, [u8]>>> {
        use std::borrow::Cow::Borrowed;
        let text = |s: Option<&'a str>| s.map_or(Borrowed(&[][..]), |s| text::encode(self.datatype, s));
        let bytes = |b: Option<&'a [u8]>| Borrowed(b.unwrap_or(&[]));
        Ok(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().map(text).collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().map(text).collect(),
            DataType::Utf8View => array.as_string_view().iter().map(text).collect(),
            DataType::Binary => array.as_binary::<i32>().iter().map(bytes).collect(),
            DataType::LargeBinary => array.as_binary::<i64>().iter().map(bytes).collect(),
            DataType::BinaryView => array.as_binary_view().iter().map(bytes).collect(),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().map(bytes).collect(),
            other => return Err(self.mismatch(other)),
        })
    }

    fn lists(&self, array: &ArrayRef) -> Result<ListCells> {
        Ok(match array.data_type() {
            DataType::List(_) => ListCells::of(array.as_list::<i32>()),
            DataType::LargeList(_) => ListCells::of(array.as_list::<i64>()),
            DataType::FixedSizeList(_, n) => {
                let (list, n) = (array.as_fixed_size_list(), *n as usize);
                ListCells {
                    values: list.values().clone(),
                    cells: (0..array.len()).map(|i| i * n..(i + 1) * n).collect(),
                }
            }
            other => return Err(self.mismatch(other)),
        })
    }

    /// The values of a number array in this field's datatype.
    fn values(&self, array: &ArrayRef) -> Result<Vec<u8>> {
        if let Some(bools) = array.as_any().downcast_ref::<BooleanArray>() {
            let bytes: Vec<u8> = bools.values().iter().map(u8::from).collect();
            return if self.datatype == Datatype::Bool {
                Ok(bytes)
            } else {
                self.cast(Physical::U8, &bytes, array)
            };
        }
        let (source, physical) = source(array.data_type()).ok_or_else(|| self.mismatch(array.data_type()))?;
        let data = array.to_data();
        let width = physical.size();
        let bytes = data.buffers().first().and_then(|b| {
            b.as_slice()
                .get(data.offset() * width..(data.offset() + data.len()) * width)
        });
        let bytes = bytes.ok_or_else(|| self.fail(0, "is out of bounds of the Arrow buffer"))?;
        let mut data = match source.filter(|_| self.datatype.is_temporal()) {
            Some(from) if from != self.datatype => self.rescale(physical, bytes, from, array)?,
            _ if physical == self.datatype.physical() => bytes.to_vec(),
            _ => self.cast(physical, bytes, array)?,
        };
        if self.datatype.is_temporal() && array.null_count() > 0 {
            let cells = data.chunks_exact_mut(size_of::<i64>()).enumerate();
            let nulls = cells.filter(|(i, _)| array.is_null(*i));
            nulls.for_each(|(_, cell)| cell.copy_from_slice(&NOT_A_TIME.to_le_bytes()));
        }
        Ok(data)
    }

    fn rescale(&self, physical: Physical, bytes: &[u8], from: Datatype, array: &ArrayRef) -> Result<Vec<u8>> {
        let mut data = Vec::with_capacity(bytes.len());
        for (i, cell) in bytes.chunks_exact(physical.size()).enumerate() {
            let value = Scalar::from_le_bytes(physical, cell).and_then(|v| i64::try_from(v.as_i128()?).ok());
            let exact = value.and_then(|v| time::convert(v, from, self.datatype));
            match exact {
                Some(v) => data.extend_from_slice(&v.to_le_bytes()),
                None if array.is_null(i) => data.extend_from_slice(&NOT_A_TIME.to_le_bytes()),
                None => return Err(self.fail(i, &format!("is not a whole {}", self.datatype))),
            }
        }
        Ok(data)
    }

    fn cast(&self, physical: Physical, bytes: &[u8], array: &ArrayRef) -> Result<Vec<u8>> {
        let mut data = Vec::with_capacity(bytes.len() / physical.size() * self.datatype.size());
        for (i, cell) in bytes.chunks_exact(physical.size()).enumerate() {
            let value = Scalar::from_le_bytes(physical, cell);
            let exact = value.as_ref().and_then(|v| exact(self.datatype, v));
            match exact {
                Some(v) => data.extend_from_slice(&v.to_le_bytes()),
                None if array.is_null(i) => data.resize(data.len() + self.datatype.size(), 0),
                None => return Err(self.fail(i, &format!("does not fit {}", self.datatype))),
            }
        }
        Ok(data)
    }

    fn fail(&self, cell: usize, why: &str) -> Error {
        Error::invalid(format!("field '{}': cell {cell} {why}", self.name))
    }

    fn mismatch(&self, found: &DataType) -> Error {
        Error::invalid(format!(
            "field '{}' takes {}, not Arrow's {found}",
            self.name,
            self.arrow_field().data_type()
        ))
    }
}

/// The position of each cell's value in its dictionary; `None` for null keys and null values.
fn keys(dictionary: &dyn AnyDictionaryArray) -> Vec<Option<usize>> {
    let (keys, values) = (dictionary.keys(), dictionary.values());
    if values.is_empty() {
        return vec![None; keys.len()];
    }
    let positions = dictionary.normalized_keys().into_iter().enumerate();
    let known = |(i, k): (usize, usize)| (keys.is_valid(i) && values.is_valid(k)).then_some(k);
    positions.map(known).collect()
}

/// The cells of `values` at these positions. `None` becomes an empty cell, NaT or zeros.
fn gather(values: &Column, at: &[Option<usize>]) -> Column {
    let (mut data, mut ends) = (Vec::new(), vec![0]);
    let zeros = if values.datatype.is_temporal() && values.cell == CellCount::ONE {
        NOT_A_TIME.to_le_bytes().to_vec()
    } else {
        vec![0; values.cell.cell_bytes(values.datatype).unwrap_or(0)]
    };
    for i in at {
        data.extend_from_slice(i.map_or(&zeros, |i| values.cell(i)));
        ends.push(data.len() as u64);
    }
    Column {
        datatype: values.datatype,
        cell: values.cell,
        data,
        offsets: values.cell.is_var().then_some(ends),
        validity: None,
    }
}

struct ListCells {
    values: ArrayRef,
    cells: Vec<std::ops::Range<usize>>,
}

impl ListCells {
    fn of<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> Self {
        let cells = list.value_offsets().windows(2);
        Self {
            values: Arc::clone(list.values()),
            cells: cells.map(|w| w[0].as_usize()..w[1].as_usize()).collect(),
        }
    }
}

/// Converts a number to `datatype`; `None` if the value would change.
fn exact(datatype: Datatype, value: &Scalar) -> Option<Scalar> {
    let converted = match (value.as_i128(), datatype.physical()) {
        (Some(v), _) => Scalar::from_i128(datatype, v)?,
        (None, Physical::F64) => Scalar::F64(value.as_f64()?),
        (None, Physical::F32) => Scalar::F32(value.as_f64()? as f32),
        (None, _) => {
            let v = value.as_f64()?;
            if v.fract() != 0.0 || v.abs() >= 2_f64.powi(64) {
                return None;
            }
            Scalar::from_i128(datatype, v as i128)?
        }
    };
    let same = match (value.as_i128(), converted.as_i128()) {
        (Some(a), Some(b)) => a == b,
        (Some(a), None) => converted.as_f64()? as i128 == a,
        (None, _) => {
            let (a, b) = (value.as_f64()?, converted.as_f64()?);
            a == b || a.is_nan() && b.is_nan()
        }
    };
    same.then_some(converted)
}

/// The storage of an Arrow number type: its unit if it is a date or time, and its physical type.
fn source(t: &DataType) -> Option<(Option<Datatype>, Physical)> {
    let physical = match t {
        DataType::Date32 | DataType::Time32(_) => Physical::I32,
        _ if time::datatype(t).is_some() => Physical::I64,
        other => Datatype::ALL
            .iter()
            .map(|t| t.physical())
            .find(|p| plain(*p) == *other)?,
    };
    Some((time::datatype(t), physical))
}
