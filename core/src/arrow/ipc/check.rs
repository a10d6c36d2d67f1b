//! Checks the messages of an Arrow file: their types, lengths and offsets must fit the bytes of the file.

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray};
use arrow_schema::{DataType, Schema};

use super::damaged;
use crate::arrow::types::{FieldType, check_fill, nearest, unsupported};
use crate::error::Result;

/// Checks that an array can hold the type of every column.
pub(super) fn check_types(schema: &Schema) -> Result<()> {
    let mut bytes = 0_u64;
    for field in schema.fields() {
        let (datatype, cell) = FieldType::values_of(field)?;
        // Every field has a fill value in memory.
        bytes += cell.cell_bytes(datatype).unwrap_or(0) as u64;
        check_fill(field.name(), bytes)?;
        match field.data_type() {
            DataType::Dictionary(_, values) if !is_plain(values) => return Err(unsupported(field.name(), values)),
            _ => {}
        }
    }
    Ok(())
}

/// Whether an enumeration can hold values of this type.
fn is_plain(t: &DataType) -> bool {
    use DataType as D;
    let bytes = matches!(
        t,
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_)
    );
    bytes || *t == D::Boolean || (t.is_primitive() && nearest("", t).is_ok())
}

/// Checks the buffers of a batch and returns their decompressed size in bytes. All buffers must be inside `body` and
/// large enough for the number of values that the batch claims.
pub(super) fn check_buffers<'a>(
    batch: &arrow_ipc::RecordBatch<'_>,
    body: &[u8],
    types: impl Iterator<Item = &'a DataType>,
) -> Result<u64> {
    let compressed = batch.compression().is_some();
    let buffers = batch.buffers().unwrap_or_default();
    let units = units(types, batch, buffers.len())?;
    if buffers.len() < units.len() {
        return Err(damaged("a batch has too few buffers"));
    }
    let mut bytes = 0_u64;
    for (i, buffer) in buffers.iter().enumerate() {
        let outside = || damaged("a buffer is outside its message");
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let stored = start.checked_add(length).and_then(|end| body.get(start..end));
        let stored = stored.ok_or_else(outside)?;
        let size = if compressed {
            decompressed(stored)?
        } else {
            stored.len() as u64
        };
        if !size.is_multiple_of(units.get(i).copied().unwrap_or(1)) {
            return Err(damaged(
                "the length of an offset or key buffer is not a multiple of its element size",
            ));
        }
        bytes = bytes
            .checked_add(size)
            .ok_or_else(|| damaged("its buffers are too long"))?;
    }
    // Every value takes at least one bit.
    let values_max = bytes.saturating_mul(8);
    let fits = |n: i64, max: u64| u64::try_from(n).is_ok_and(|n| n <= max);
    for node in batch.nodes().iter().flatten() {
        if !fits(node.length(), values_max) || !fits(node.null_count(), node.length().unsigned_abs()) {
            return Err(damaged("a batch claims more values than its buffers can hold"));
        }
    }
    if !fits(batch.length(), values_max) {
        return Err(damaged("a batch claims more rows than its buffers can hold"));
    }
    Ok(bytes)
}

/// The decompressed size of a compressed buffer, in bytes.
fn decompressed(stored: &[u8]) -> Result<u64> {
    if stored.is_empty() {
        return Ok(0);
    }
    let prefix = stored
        .first_chunk()
        .ok_or_else(|| damaged("a compressed buffer has no length"))?;
    match i64::from_le_bytes(*prefix) {
        // -1 marks an uncompressed buffer.
        -1 => Ok((stored.len() - prefix.len()) as u64),
        size => u64::try_from(size).map_err(|_| damaged("a compressed buffer has a negative length")),
    }
}

/// Bytes of one element of each buffer of columns of these types; 1 if `arrow-ipc` does not split the buffer.
fn units<'a>(
    types: impl Iterator<Item = &'a DataType>,
    batch: &arrow_ipc::RecordBatch<'_>,
    buffers: usize,
) -> Result<Vec<u64>> {
    let mut counts = batch.variadicBufferCounts().into_iter().flatten();
    let mut units = Vec::new();
    for mut t in types {
        loop {
            use DataType as D;
            let inner = match t {
                D::List(item) | D::LargeList(item) | D::FixedSizeList(item, _) => Some(item.data_type()),
                _ => None,
            };
            match t {
                D::FixedSizeList(..) => units.push(1),
                D::List(_) => units.extend([1, 4]),
                D::LargeList(_) => units.extend([1, 8]),
                D::Utf8 | D::Binary => units.extend([1, 4, 1]),
                D::LargeUtf8 | D::LargeBinary => units.extend([1, 8, 1]),
                D::Dictionary(key, _) => units.extend([1, key.primitive_width().unwrap_or(1) as u64]),
                D::Utf8View | D::BinaryView => {
                    let count = counts
                        .next()
                        .and_then(|n| usize::try_from(n).ok())
                        .filter(|n| *n <= buffers);
                    let count =
                        count.ok_or_else(|| damaged("a batch does not state the number of its view buffers"))?;
                    units.extend([1, 16]);
                    units.resize(units.len() + count, 1);
                }
                _ => units.extend([1, 1]),
            }
            match inner {
                Some(inner) => t = inner,
                None => break,
            }
        }
    }
    Ok(units)
}

/// Additional bytes that a column takes after dictionary keys, views and bits are expanded to values.
pub(super) fn expanded_bytes(array: &ArrayRef) -> u64 {
    if let Some(dictionary) = array.as_any_dictionary_opt() {
        let values = dictionary.values();
        if values.is_empty() {
            return 0;
        }
        let sizes: Vec<u64> = (0..values.len()).map(|i| cell_bytes(values, i)).collect();
        let keys = dictionary.normalized_keys();
        let cells: u64 = keys.iter().filter_map(|k| sizes.get(*k)).sum();
        // The enumeration holds a copy of the dictionary.
        return cells.saturating_add(sizes.iter().sum());
    }
    match array.data_type() {
        DataType::Boolean => array.len() as u64,
        DataType::Utf8View => views(array.as_string_view()),
        DataType::BinaryView => views(array.as_binary_view()),
        DataType::List(_) => expanded_bytes(array.as_list::<i32>().values()),
        DataType::LargeList(_) => expanded_bytes(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => expanded_bytes(array.as_fixed_size_list().values()),
        _ => 0,
    }
}

/// Total bytes of the cells. Several views may share the same bytes.
fn views<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>) -> u64 {
    array.lengths().map(u64::from).sum()
}

/// Bytes of one value of a dictionary.
fn cell_bytes(values: &ArrayRef, i: usize) -> u64 {
    let length = |n: Option<usize>| n.unwrap_or(0) as u64;
    match values.data_type() {
        DataType::Utf8 => length(values.as_string::<i32>().value_length(i).try_into().ok()),
        DataType::LargeUtf8 => length(values.as_string::<i64>().value_length(i).try_into().ok()),
        DataType::Binary => length(values.as_binary::<i32>().value_length(i).try_into().ok()),
        DataType::LargeBinary => length(values.as_binary::<i64>().value_length(i).try_into().ok()),
        DataType::Utf8View => values.as_string_view().value(i).len() as u64,
        DataType::BinaryView => values.as_binary_view().value(i).len() as u64,
        DataType::FixedSizeBinary(n) => length(usize::try_from(*n).ok()),
        other => length(other.primitive_width()),
    }
}
