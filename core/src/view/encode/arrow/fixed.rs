//! Arrow IPC files of fixed-size values. The number of cells determines the length of the file, and each batch can be
//! built separately.
//!
//! ```text
//! magic, schema | batch | batch | … | end of batches, footer, magic
//! batch: message | per column: validity, if nullable | values
//! ```
//!
//! The writer of `arrow-ipc` omits the validity of a column without nulls, so the length of a batch depends on its
//! values. This writer never omits it. The values of a list of dates or times have validity too, because NaT is null.

use std::iter::{empty, once};

use arrow_buffer::NullBuffer;
use arrow_ipc::writer::FileWriter;
use arrow_ipc::{
    Block, Buffer, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use arrow_schema::SchemaRef;
use flatbuffers::FlatBufferBuilder;

use super::{failed, field_types};
use crate::arrow::{self, FieldType};
use crate::column::Column;
use crate::error::Result;
use crate::format::field::Field;
use crate::view::encode::{Frame, wrong_columns};

/// Alignment of messages, buffers and batches, in bytes.
const ALIGN: u64 = 64;
/// The continuation marker. The next 4 bytes are the length of the message; 0 marks the end.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// The magic bytes at the end of a file.
const MAGIC: &[u8] = b"ARROW1";
/// The largest number of batches in a file. The footer takes 24 bytes per batch and is built as a whole.
pub(super) const BATCHES_MAX: u64 = 1 << 16;

/// A table of numbers, dates and times.
#[derive(Debug)]
pub(super) struct FixedTable {
    schema: SchemaRef,
    /// The bytes before the first batch.
    header: Vec<u8>,
    sides: Vec<Side>,
    /// Bytes of a batch's message.
    message_bytes: u64,
}

/// One column.
#[derive(Debug)]
struct Side {
    kind: FieldType,
    /// Values per cell.
    count: u64,
    /// Bytes per cell in the array; `value_width` is the number of bytes per value in Arrow.
    width: u64,
    value_width: u64,
}

impl FixedTable {
    /// The table of a frame; `None` if the size of some cells or their Arrow type depends on their values.
    pub(super) fn of(frame: &Frame) -> Result<Option<Self>> {
        let Some(sides) = frame.fields.iter().map(side).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let schema = arrow::Table::new(field_types(&frame.fields), frame.dense)?
            .schema()
            .clone();
        let header = FileWriter::try_new(Vec::new(), &schema)
            .map_err(failed)?
            .get_ref()
            .clone();
        let mut table = Self {
            schema,
            header,
            sides,
            message_bytes: 0,
        };
        table.message_bytes = table.message(1, &vec![[0; 2]; table.sides.len()]).len() as u64;
        Ok(Some(table))
    }

    pub(super) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Bytes per cell in the array, without validity.
    pub(super) fn width(&self) -> u64 {
        self.sides.iter().map(|s| s.width).sum()
    }

    /// Bytes of a batch of `cells` cells.
    pub(super) fn batch_bytes(&self, cells: u64) -> u64 {
        match cells {
            0 => 0,
            _ => self.message_bytes.saturating_add(self.body_bytes(cells)),
        }
    }

    /// Bytes after the last batch.
    pub(super) fn trailer_bytes(&self, batches: u64) -> u64 {
        let Some(more) = batches.checked_sub(1) else {
            return self.trailer(empty()).len() as u64;
        };
        let first = self.trailer(once((0, 0))).len() as u64;
        first.saturating_add(more.saturating_mul(size_of::<Block>() as u64))
    }

    /// Builds a batch of all cells of the columns.
    pub(super) fn batch(&self, columns: &[Column]) -> Result<Vec<u8>> {
        let cells = columns.first().map_or(0, Column::len);
        let fits = |c: &Column, s: &Side| c.data.len() as u64 == cells as u64 * s.width && c.offsets.is_none();
        if columns.len() != self.sides.len() || !columns.iter().zip(&self.sides).all(|(c, s)| fits(c, s)) {
            return Err(wrong_columns());
        }
        if cells == 0 {
            return Ok(Vec::new());
        }
        let parts = columns.iter().zip(&self.sides).map(|(c, s)| s.parts(c, cells));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let nulls: Vec<[i64; 2]> = parts.iter().map(Parts::nulls).collect();
        let mut out = self.message(cells as u64, &nulls);
        out.reserve(usize::try_from(self.body_bytes(cells as u64)).unwrap_or(0));
        for part in &parts {
            for bits in part.there.iter().flatten() {
                out.extend_from_slice(bits.inner().sliced().as_slice());
                pad(&mut out);
            }
            out.extend_from_slice(&part.values);
            pad(&mut out);
        }
        Ok(out)
    }

    /// Builds the end of the file. `batches` are the offset in the file and the number of cells of each batch.
    pub(super) fn trailer(&self, batches: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let message = i32::try_from(self.message_bytes).unwrap_or(i32::MAX);
        let blocks: Vec<Block> = batches
            .map(|(start, cells)| Block::new(signed(start), message, signed(self.body_bytes(cells))))
            .collect();
        let mut fbb = FlatBufferBuilder::new();
        let dictionaries = fbb.create_vector::<Block>(&[]);
        let blocks = fbb.create_vector(&blocks);
        let schema = arrow_ipc::convert::IpcSchemaEncoder::new().schema_to_fb_offset(&mut fbb, &self.schema);
        let mut footer = FooterBuilder::new(&mut fbb);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(blocks);
        let footer = footer.finish();
        fbb.finish(footer, None);
        let footer = fbb.finished_data();
        let length = i32::try_from(footer.len()).unwrap_or(i32::MAX).to_le_bytes();
        [&CONTINUATION, &[0; 4][..], footer, &length, MAGIC].concat()
    }

    /// Bytes of the columns of a batch.
    fn body_bytes(&self, cells: u64) -> u64 {
        let buffers = self.sides.iter().flat_map(|s| s.buffers(cells)).flatten();
        buffers.fold(0, |sum, bytes| sum.saturating_add(aligned(bytes)))
    }

    /// Builds the message that describes the layout of a batch.
    fn message(&self, cells: u64, nulls: &[[i64; 2]]) -> Vec<u8> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (mut nodes, mut buffers, mut at) = (Vec::new(), Vec::new(), 0);
        for (side, &[null_cells, null_values]) in self.sides.iter().zip(nulls) {
            nodes.push(FieldNode::new(signed(cells), null_cells));
            let [cells_there, values_there, values] = side.buffers(cells);
            let mut place = |bytes: Option<u64>| {
                buffers.push(Buffer::new(signed(at), signed(bytes.unwrap_or(0))));
                at += aligned(bytes.unwrap_or(0));
            };
            place(cells_there);
            if side.is_list() {
                // The values of a list are a separate node.
                nodes.push(FieldNode::new(signed(cells.saturating_mul(side.count)), null_values));
                place(values_there);
            }
            place(values);
        }
        let mut fbb = FlatBufferBuilder::new();
        let (nodes, buffers) = (fbb.create_vector(&nodes), fbb.create_vector(&buffers));
        let mut batch = RecordBatchBuilder::new(&mut fbb);
        batch.add_length(signed(cells));
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        let batch = batch.finish().as_union_value();
        let mut message = MessageBuilder::new(&mut fbb);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(MessageHeader::RecordBatch);
        message.add_header(batch);
        message.add_bodyLength(signed(at));
        let message = message.finish();
        fbb.finish(message, None);
        let mut out = [&CONTINUATION, &[0; 4][..], fbb.finished_data()].concat();
        pad(&mut out);
        let length = u32::try_from(out.len() - 8).unwrap_or(u32::MAX).to_le_bytes();
        out.iter_mut().skip(4).zip(length).for_each(|(to, from)| *to = from);
        out
    }
}

impl Side {
    const fn is_list(&self) -> bool {
        self.count != 1
    }

    /// Bytes of the validity of cells, the validity of list values, and the values.
    fn buffers(&self, cells: u64) -> [Option<u64>; 3] {
        let values = cells.saturating_mul(self.count);
        [
            self.kind.may_have_nulls().then(|| cells.div_ceil(8)),
            self.has_value_nulls().then(|| values.div_ceil(8)),
            Some(values.saturating_mul(self.value_width)),
        ]
    }

    /// Whether values of a list can be null.
    fn has_value_nulls(&self) -> bool {
        self.is_list() && self.kind.datatype.is_temporal()
    }

    /// Builds the buffers of a column of `cells` cells.
    fn parts(&self, column: &Column, cells: usize) -> Result<Parts> {
        self.kind.check_range(column, 0..cells)?;
        let packed = self.kind.packed(&column.data);
        let of_cells = column.validity.as_ref().map(|v| v.iter().map(|v| *v != 0).collect());
        let of_cells: Option<NullBuffer> = if self.is_list() {
            of_cells
        } else {
            NullBuffer::union(of_cells.as_ref(), packed.nulls.as_ref())
        };
        let of_values = packed.nulls.filter(|_| self.is_list());
        let all = |found: Option<NullBuffer>, n| found.unwrap_or_else(|| NullBuffer::new_valid(n));
        Ok(Parts {
            there: [
                self.kind.may_have_nulls().then(|| all(of_cells, cells)),
                self.has_value_nulls().then(|| all(of_values, packed.len)),
            ],
            values: packed.values,
        })
    }
}

/// The buffers of a column in a batch.
struct Parts {
    /// Validity of the cells and of list values; `None` if they cannot be null.
    there: [Option<NullBuffer>; 2],
    values: arrow_buffer::Buffer,
}

impl Parts {
    /// The number of null cells and of null list values.
    fn nulls(&self) -> [i64; 2] {
        let count = |bits: &Option<NullBuffer>| bits.as_ref().map_or(0, |b| b.null_count() as i64);
        self.there.each_ref().map(count)
    }
}

fn side(field: &Field) -> Option<Side> {
    let width = field.cell_bytes()? as u64;
    let kind = FieldType::from(field.clone());
    let value_width = kind.value_type().primitive_width()? as u64;
    let count = width / field.datatype.size() as u64;
    (kind.is_fixed() && count > 0).then_some(Side {
        kind,
        count,
        width,
        value_width,
    })
}

const fn aligned(bytes: u64) -> u64 {
    bytes.div_ceil(ALIGN).saturating_mul(ALIGN)
}

fn pad(out: &mut Vec<u8>) {
    out.resize(usize::try_from(aligned(out.len() as u64)).unwrap_or(out.len()), 0);
}
