//! Reads Arrow IPC files and streams from any source.
//!
//! The reader of `arrow-ipc` allocates as much memory as a file claims to need, and does not check offsets. Each
//! message is therefore checked against the actual length of the file and against a memory budget before it is decoded.
//! [`IpcReader`] holds one message at a time.

mod check;

use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use bytemuck::cast_slice_mut;

use self::check::{check_buffers, check_types, expanded_bytes};
use crate::error::{Error, Result};

const FILE_MAGIC: &[u8] = b"ARROW1";
/// Bytes of the footer's length and the magic bytes.
const TRAILER_BYTES: usize = 10;
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Bytes of the continuation marker and the message length.
const PREFIX_BYTES: usize = 8;

/// Reads an Arrow IPC file or stream batch by batch. Dictionaries are held until the end.
#[derive(Debug)]
pub struct IpcReader<R> {
    input: Input<R>,
    messages: Messages,
    reader: Reader,
}

/// A batch of rows.
#[derive(Debug)]
pub struct IpcBatch {
    /// The cells.
    pub rows: RecordBatch,
    /// The bytes that they take, with the values of dictionaries in place of their keys.
    pub bytes: u64,
}

impl<R: Read + Seek> IpcReader<R> {
    /// Reads the schema of an Arrow IPC file or stream. All batches together may take at most `bytes_max` bytes once they
    /// are decompressed and dictionary keys are replaced by values.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is damaged, [`Error::Unsupported`] for a column that no TileDB type can hold.
    pub fn new(input: R, bytes_max: u64) -> Result<Self> {
        let budget = Budget {
            left: bytes_max,
            limit: bytes_max,
        };
        let mut input = Input::new(input)?;
        let magic = input.len.min(FILE_MAGIC.len() as u64);
        let (messages, reader) = if input.bytes(0..magic)?.as_slice() == FILE_MAGIC {
            file(&mut input, budget)?
        } else {
            stream(&mut input, budget)?
        };
        Ok(Self {
            input,
            messages,
            reader,
        })
    }

    /// The names and types of the columns.
    pub fn schema(&self) -> SchemaRef {
        self.reader.schema.clone()
    }

    /// The next batch, in order; `None` after the last.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] if it is damaged, and [`Error::LimitExceeded`] beyond the limit of [`Self::new`].
    pub fn next_batch(&mut self) -> Result<Option<IpcBatch>> {
        while let Some(found) = self.messages.next(&mut self.input)? {
            let data = self.input.bytes(found.metadata.start..found.body.end)?;
            let middle = usize::try_from(found.metadata.end - found.metadata.start).map_err(damaged)?;
            if let Some(batch) = self.reader.message(&data, middle)? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }
}

/// A file of known length.
#[derive(Debug)]
struct Input<R> {
    from: R,
    len: u64,
}

impl<R: Read + Seek> Input<R> {
    fn new(mut from: R) -> Result<Self> {
        let len = from.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { from, len })
    }

    /// These bytes, in memory that is aligned as arrays want it.
    fn bytes(&mut self, range: Range<u64>) -> Result<Buffer> {
        let truncated = || damaged("it is cut off");
        if range.end > self.len {
            return Err(truncated());
        }
        let size = range.end.checked_sub(range.start).and_then(|n| usize::try_from(n).ok());
        let size = size.ok_or_else(truncated)?;
        // The allocator reuses memory of this alignment for the next batch, but not memory of the 128 bytes of
        // `MutableBuffer`: a file took more memory with each batch.
        let mut words = vec![0_i128; size.div_ceil(size_of::<i128>())];
        let bytes = cast_slice_mut(&mut words).get_mut(..size).ok_or_else(truncated)?;
        self.from.seek(SeekFrom::Start(range.start)).map_err(failed)?;
        self.from.read_exact(bytes).map_err(failed)?;
        Ok(Buffer::from_vec(words).slice_with_length(0, size))
    }
}

fn failed(error: std::io::Error) -> Error {
    Error::io("the Arrow file", error)
}

/// The number of bytes that may still be decoded.
#[derive(Debug)]
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

/// The messages that are still to be read.
#[derive(Debug)]
enum Messages {
    /// The blocks that the footer of a file lists, the last one first.
    Blocks(Vec<Found>),
    /// Those of a stream follow each other from here.
    From(u64),
}

impl Messages {
    fn next<R: Read + Seek>(&mut self, input: &mut Input<R>) -> Result<Option<Found>> {
        match self {
            Self::Blocks(blocks) => Ok(blocks.pop()),
            Self::From(at) => next_message(input, at),
        }
    }
}

/// Reads the footer of a file.
fn file<R: Read + Seek>(input: &mut Input<R>, budget: Budget) -> Result<(Messages, Reader)> {
    let truncated = || damaged("its end is missing");
    let end = input.len.checked_sub(TRAILER_BYTES as u64).ok_or_else(truncated)?;
    let trailer = input.bytes(end..input.len)?;
    let trailer = trailer.first_chunk::<TRAILER_BYTES>().ok_or_else(truncated)?;
    let length = read_footer_length(*trailer).map_err(invalid)?;
    let start = end.checked_sub(length as u64).ok_or_else(truncated)?;
    let footer = input.bytes(start..end)?;
    let footer = root_as_footer(&footer).map_err(|e| damaged(format!("its footer is damaged ({e})")))?;
    let schema = footer.schema().ok_or_else(|| damaged("it has no schema"))?;
    let reader = Reader::new(schema, footer.version(), budget)?;
    let dictionaries = footer.dictionaries().into_iter().flatten();
    let blocks = dictionaries.chain(footer.recordBatches().into_iter().flatten());
    let mut blocks = blocks.map(|b| block(b, input.len)).collect::<Result<Vec<Found>>>()?;
    blocks.reverse();
    Ok((Messages::Blocks(blocks), reader))
}

/// Where a block of a file of `len` bytes is.
fn block(block: &Block, len: u64) -> Result<Found> {
    let outside = || damaged("a block is outside the file");
    let size = |n: i64| u64::try_from(n).map_err(|_| outside());
    let start = size(block.offset())?;
    let metadata_bytes = size(block.metaDataLength().into())?;
    let middle = start.checked_add(metadata_bytes).ok_or_else(outside)?;
    let end = middle.checked_add(size(block.bodyLength())?).ok_or_else(outside)?;
    if end > len || metadata_bytes < PREFIX_BYTES as u64 {
        return Err(outside());
    }
    Ok(Found {
        metadata: start..middle,
        body: middle..end,
    })
}

/// Reads the schema of a stream. Its messages follow.
fn stream<R: Read + Seek>(input: &mut Input<R>, budget: Budget) -> Result<(Messages, Reader)> {
    let mut at = 0;
    let first = next_message(input, &mut at)?.ok_or_else(|| damaged("it has no schema"))?;
    let metadata = input.bytes(first.metadata)?;
    let message = message(&metadata)?;
    let schema = message
        .header_as_schema()
        .ok_or_else(|| damaged("it does not start with a schema"))?;
    let reader = Reader::new(schema, message.version(), budget)?;
    Ok((Messages::From(at), reader))
}

/// Byte ranges of a message.
#[derive(Debug)]
struct Found {
    metadata: Range<u64>,
    body: Range<u64>,
}

/// Finds the message at `at` and advances `at` past it; `None` at the end of the stream.
fn next_message<R: Read + Seek>(input: &mut Input<R>, at: &mut u64) -> Result<Option<Found>> {
    let truncated = || damaged("it is cut off");
    let start = *at;
    if start == input.len {
        return Ok(None);
    }
    let mut word = |at: u64| -> Result<[u8; 4]> {
        let bytes = input.bytes(at..at.saturating_add(4))?;
        bytes.first_chunk().copied().ok_or_else(truncated)
    };
    let mut length = word(start)?;
    // Streams of old releases have no marker.
    let mut prefix = 4;
    if length == CONTINUATION {
        length = word(start + 4)?;
        prefix = PREFIX_BYTES as u64;
    }
    let length = u64::from(u32::from_le_bytes(length));
    if length == 0 {
        return Ok(None);
    }
    let metadata = start..(start + prefix).checked_add(length).ok_or_else(truncated)?;
    let bytes = input.bytes(metadata.clone())?;
    let body = u64::try_from(message(&bytes)?.bodyLength()).ok();
    let end = body
        .and_then(|n| metadata.end.checked_add(n))
        .filter(|end| *end <= input.len);
    let body = metadata.end..end.ok_or_else(truncated)?;
    *at = body.end;
    Ok(Some(Found { metadata, body }))
}

/// Parses the metadata of a message, including its prefix.
fn message(metadata: &[u8]) -> Result<arrow_ipc::Message<'_>> {
    let prefix = if metadata.starts_with(&CONTINUATION) {
        PREFIX_BYTES
    } else {
        4
    };
    root_as_message(metadata.get(prefix..).unwrap_or_default())
        .map_err(|e| damaged(format!("a message in it is damaged ({e})")))
}

/// A dictionary of the file.
#[derive(Debug)]
struct Dictionary {
    /// The type of its values.
    values: DataType,
    /// Bytes of the values read so far.
    bytes: u64,
}

/// Decodes checked messages.
#[derive(Debug)]
struct Reader {
    decoder: FileDecoder,
    schema: SchemaRef,
    budget: Budget,
    dictionaries: HashMap<i64, Dictionary>,
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
        })
    }

    /// Checks a message and decodes it. Its body starts at `middle`.
    fn message(&mut self, data: &Buffer, middle: usize) -> Result<Option<IpcBatch>> {
        let (metadata, body) = data.split_at_checked(middle).ok_or_else(|| damaged("it is cut off"))?;
        let message = message(metadata)?;
        let block = Block::new(0, i32::try_from(middle).map_err(damaged)?, body.len() as i64);
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| damaged("a batch is missing"))?;
                let types = self.schema.fields().iter().map(|f| f.data_type());
                let bytes = check_buffers(&batch, body, types)?;
                // A footer may list one long message many times, and every time it is read.
                self.budget.take(bytes.max(body.len() as u64))?;
                let batch = self.decoder.read_record_batch(&block, data).map_err(invalid)?;
                batch.map(|rows| self.batch(rows, bytes)).transpose()
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
                self.decoder.read_dictionary(&block, data).map_err(invalid)?;
                Ok(None)
            }
            MessageHeader::NONE => Ok(None),
            _ => Err(damaged("a message in it is neither a batch nor a dictionary")),
        }
    }

    /// The batch, whose buffers have `bytes` bytes.
    fn batch(&mut self, rows: RecordBatch, bytes: u64) -> Result<IpcBatch> {
        let more = rows.columns().iter().map(expanded_bytes);
        let more = more.fold(0_u64, u64::saturating_add);
        self.budget.take(more)?;
        let bytes = bytes.saturating_add(more);
        Ok(IpcBatch { rows, bytes })
    }
}

#[cfg(test)]
mod tests;
