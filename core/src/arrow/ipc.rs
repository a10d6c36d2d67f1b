//! Reads Arrow IPC files and streams from any source.
//!
//! The reader of `arrow-ipc` allocates as much memory as a file claims to need, and does not check offsets. Each
//! message is therefore checked against the actual length of the file and against a memory budget before it is decoded.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::ByteViewType;
use arrow_array::{Array, ArrayRef, GenericByteViewArray, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Schema, SchemaRef};

use super::types::{FieldType, check_fill, nearest, unsupported};
use crate::error::{Error, Result};

const FILE_MAGIC: &[u8] = b"ARROW1";
/// Bytes of the footer's length and the magic bytes.
const TRAILER_BYTES: usize = 10;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes of the continuation marker and the message length.
const PREFIX_BYTES: usize = 8;

/// The contents of an Arrow IPC file or stream.
#[derive(Debug)]
pub struct IpcTable {
    /// The names and types of the columns.
    pub schema: SchemaRef,
    /// The cells, in order.
    pub batches: Vec<RecordBatch>,
}

impl IpcTable {
    /// Decodes an Arrow IPC file or stream. The decoded data may take at most `bytes_max` bytes, with dictionary keys
    /// replaced by their values.
    ///
    /// # Errors
    /// - [`Error::InvalidArgument`] if the data is damaged.
    /// - [`Error::Unsupported`] for a column that no TileDB type can hold.
    /// - [`Error::LimitExceeded`] if the decoded data exceeds `bytes_max`.
    pub fn read(bytes: Vec<u8>, bytes_max: u64) -> Result<Self> {
        let budget = Budget {
            left: bytes_max,
            limit: bytes_max,
        };
        let bytes = Buffer::from_vec(bytes);
        if bytes.starts_with(FILE_MAGIC) {
            file(&bytes, budget)
        } else {
            stream(&bytes, budget)
        }
    }
}

/// The number of bytes that may still be decoded.
struct Budget {
    left: u64,
    limit: u64,
}

impl Budget {
    fn take(&mut self, bytes: u64) -> Result<()> {
        match self.left.checked_sub(bytes) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Error::LimitExceeded {
                what: "bytes of decoded Arrow data".into(),
                found: (self.limit - self.left).saturating_add(bytes),
                limit: self.limit,
            }),
        }
    }
}

fn damaged(why: impl std::fmt::Display) -> Error {
    Error::invalid(format!("not a valid Arrow IPC file: {why}; restore it from a backup"))
}

fn invalid(error: ArrowError) -> Error {
    damaged(error)
}

/// Reads the blocks listed in the footer of a file.
fn file(bytes: &Buffer, budget: Budget) -> Result<IpcTable> {
    let truncated = || damaged("its end is missing");
    let trailer = bytes.last_chunk::<TRAILER_BYTES>().ok_or_else(truncated)?;
    let end = bytes.len() - TRAILER_BYTES;
    let start = end.checked_sub(read_footer_length(*trailer).map_err(invalid)?);
    let footer = bytes.get(start.ok_or_else(truncated)?..end).ok_or_else(truncated)?;
    let footer = root_as_footer(footer).map_err(|e| damaged(format!("its footer is damaged ({e})")))?;
    let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    let mut reader = Reader::new(schema, footer.version(), budget)?;
    for block in footer.dictionaries().iter().flatten() {
        reader.block(bytes, block)?;
    }
    for block in footer.recordBatches().iter().flatten() {
        reader.block(bytes, block)?;
    }
    Ok(reader.end())
}

/// Reads the messages of a stream in order.
fn stream(bytes: &Buffer, budget: Budget) -> Result<IpcTable> {
    let mut at = 0;
    let first = next_message(bytes, &mut at)?.ok_or_else(|| damaged("it has no schema"))?;
    let message = message(bytes, &first)?;
    let schema = message
        .header_as_schema()
        .ok_or_else(|| damaged("it does not start with a schema"))?;
    let mut reader = Reader::new(schema, message.version(), budget)?;
    while let Some(found) = next_message(bytes, &mut at)? {
        reader.message(bytes, &found)?;
    }
    Ok(reader.end())
}

/// Byte ranges of a message.
struct Found {
    metadata: Range<usize>,
    body: Range<usize>,
}

/// Finds the message at `at` and advances `at` past it; `None` at the end of the stream.
fn next_message(bytes: &[u8], at: &mut usize) -> Result<Option<Found>> {
    let truncated = || damaged("it is truncated");
    let start = *at;
    let word = |at: usize| -> Option<[u8; 4]> { bytes.get(at..)?.first_chunk().copied() };
    let Some(mut length) = word(start) else {
        return if start == bytes.len() {
            Ok(None)
        } else {
            Err(truncated())
        };
    };
    // Streams of old Arrow releases have no continuation marker.
    let mut prefix = 4;
    if length == CONTINUATION {
        length = word(start + 4).ok_or_else(truncated)?;
        prefix = PREFIX_BYTES;
    }
    let length = usize::try_from(u32::from_le_bytes(length)).map_err(|_| truncated())?;
    if length == 0 {
        return Ok(None);
    }
    let end = (start + prefix).checked_add(length).filter(|end| *end <= bytes.len());
    let metadata = start..end.ok_or_else(truncated)?;
    let found = message(
        bytes,
        &Found {
            metadata: metadata.clone(),
            body: 0..0,
        },
    )?;
    let body = usize::try_from(found.bodyLength()).ok();
    let end = body
        .and_then(|n| metadata.end.checked_add(n))
        .filter(|end| *end <= bytes.len());
    let body = metadata.end..end.ok_or_else(truncated)?;
    *at = body.end;
    Ok(Some(Found { metadata, body }))
}

/// Parses the metadata of a message.
fn message<'a>(bytes: &'a [u8], found: &Found) -> Result<arrow_ipc::Message<'a>> {
    let metadata = bytes.get(found.metadata.clone()).unwrap_or_default();
    let prefix = if metadata.starts_with(&CONTINUATION) {
        PREFIX_BYTES
    } else {
        4
    };
    root_as_message(metadata.get(prefix..).unwrap_or_default())
        .map_err(|e| damaged(format!("a message in it is damaged ({e})")))
}

/// A dictionary of the file.
struct Dictionary {
    /// The type of its values.
    values: DataType,
    /// Bytes of the values read so far.
    bytes: u64,
}

/// Decodes checked messages.
struct Reader {
    decoder: FileDecoder,
    schema: SchemaRef,
    budget: Budget,
    dictionaries: HashMap<i64, Dictionary>,
    batches: Vec<RecordBatch>,
}

impl Reader {
    fn new(found: arrow_ipc::Schema<'_>, version: arrow_ipc::MetadataVersion, budget: Budget) -> Result<Self> {
        if !found.endianness().equals_to_target_endianness() {
            return Err(Error::Unsupported(
                "an Arrow file with big-endian byte order; write it as little-endian".into(),
            ));
        }
        let schema = SchemaRef::new(try_fb_to_schema(found).map_err(invalid)?);
        check_types(&schema)?;
        let mut dictionaries = HashMap::new();
        for (encoded, field) in found.fields().iter().flatten().zip(schema.fields()) {
            if let (Some(dictionary), DataType::Dictionary(_, values)) = (encoded.dictionary(), field.data_type()) {
                let values = values.as_ref().clone();
                // If fields share a dictionary, `arrow-ipc` also uses the type of the first one.
                dictionaries
                    .entry(dictionary.id())
                    .or_insert(Dictionary { values, bytes: 0 });
            }
        }
        Ok(Self {
            decoder: FileDecoder::new(schema.clone(), version),
            schema,
            budget,
            dictionaries,
            batches: Vec::new(),
        })
    }

    fn end(self) -> IpcTable {
        IpcTable {
            schema: self.schema,
            batches: self.batches,
        }
    }

    fn block(&mut self, bytes: &Buffer, block: &Block) -> Result<()> {
        let outside = || damaged("a block is outside the file");
        let size = |n: i64| usize::try_from(n).map_err(|_| outside());
        let start = size(block.offset())?;
        let middle = start
            .checked_add(size(block.metaDataLength().into())?)
            .ok_or_else(outside)?;
        let end = middle.checked_add(size(block.bodyLength())?).ok_or_else(outside)?;
        if end > bytes.len() || middle - start < PREFIX_BYTES {
            return Err(outside());
        }
        let found = Found {
            metadata: start..middle,
            body: middle..end,
        };
        self.message(bytes, &found)
    }

    /// Checks a message and decodes it.
    fn message(&mut self, bytes: &Buffer, found: &Found) -> Result<()> {
        let (whole, body) = (found.metadata.start..found.body.end, found.body.clone());
        let message = message(bytes, found)?;
        let block = Block::new(
            0,
            i32::try_from(found.metadata.len()).map_err(damaged)?,
            body.len() as i64,
        );
        let data = bytes.slice_with_length(whole.start, whole.len());
        let body = bytes.get(body).unwrap_or_default();
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| damaged("a batch is missing"))?;
                let types = self.schema.fields().iter().map(|f| f.data_type());
                self.budget.take(check_buffers(&batch, body, types)?)?;
                let batch = self.decoder.read_record_batch(&block, &data).map_err(invalid)?;
                self.batch(batch)
            }
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch();
                let dictionary = dictionary.ok_or_else(|| damaged("a dictionary is missing"))?;
                let batch = dictionary.data().ok_or_else(|| damaged("a dictionary has no values"))?;
                let known = self.dictionaries.get_mut(&dictionary.id());
                let known = known.ok_or_else(|| damaged("a dictionary belongs to no column"))?;
                let bytes = check_buffers(&batch, body, std::iter::once(&known.values))?;
                // A delta copies the dictionary that it extends.
                known.bytes = bytes.saturating_add(if dictionary.isDelta() { known.bytes } else { 0 });
                self.budget.take(known.bytes)?;
                self.decoder.read_dictionary(&block, &data).map_err(invalid)
            }
            MessageHeader::NONE => Ok(()),
            _ => Err(damaged("a message in it is neither a batch nor a dictionary")),
        }
    }

    fn batch(&mut self, batch: Option<RecordBatch>) -> Result<()> {
        let Some(batch) = batch else { return Ok(()) };
        for column in batch.columns() {
            self.budget.take(expanded_bytes(column))?;
        }
        self.batches.push(batch);
        Ok(())
    }
}

/// Checks that an array can hold the type of every column.
fn check_types(schema: &Schema) -> Result<()> {
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
fn check_buffers<'a>(
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
fn expanded_bytes(array: &ArrayRef) -> u64 {
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

#[cfg(test)]
mod tests;
