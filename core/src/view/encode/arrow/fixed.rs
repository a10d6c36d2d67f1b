//! Arrow IPC files of numbers alone: how long they are follows from how many cells they have, and each batch can be made
//! alone.
//!
//! ```text
//! magic, schema | batch | batch | … | end of batches, footer, magic
//! batch: message | for each column: which cells are there, where they may be null | values
//! ```
//!
//! The library's writer leaves out which cells are there where all of them are, so that the length of a batch depends on
//! what is in it. Here it is always written.

use std::iter::{empty, once};

use arrow_ipc::writer::FileWriter;
use arrow_ipc::{
    Block, Buffer, FieldNode, FooterBuilder, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder,
};
use arrow_schema::SchemaRef;
use flatbuffers::FlatBufferBuilder;

use super::{failed, field_type};
use crate::arrow;
use crate::column::Column;
use crate::datatype::CellCount;
use crate::error::Result;
use crate::view::encode::{Field, Frame, wrong_columns};

/// What messages, buffers and batches start at a multiple of, in bytes.
const ALIGN: u64 = 64;
/// Says that a message follows, of so many bytes as the next 4 say; none are the end.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// What a file ends with.
const MAGIC: &[u8] = b"ARROW1";
/// Batches of a file; the footer, which has 24 bytes of each, is made as a whole.
pub(in crate::view) const BATCHES_MAX: u64 = 1 << 16;

/// A table of numbers, dates and times.
#[derive(Debug)]
pub(in crate::view) struct FixedTable {
    schema: SchemaRef,
    /// The bytes before the first batch.
    header: Vec<u8>,
    sides: Vec<Side>,
    /// Bytes of the message of a batch.
    message_bytes: u64,
}

/// One column.
#[derive(Debug)]
struct Side {
    cell: CellCount,
    /// Bytes a cell.
    width: u64,
    nullable: bool,
}

impl FixedTable {
    /// The table of these fields; `None` where some cells have no length of their own, or how they look depends on what
    /// they hold.
    pub(in crate::view) fn of(frame: &Frame) -> Result<Option<Self>> {
        let Some(sides) = frame.fields.iter().map(side).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let types = frame.fields.iter().map(field_type).collect();
        let schema = arrow::Table::new(types, frame.dense)?.schema().clone();
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
        table.message_bytes = table.message(1, &vec![0; table.sides.len()]).len() as u64;
        Ok(Some(table))
    }

    pub(in crate::view) fn header(&self) -> &[u8] {
        &self.header
    }

    /// Bytes a cell, without what says whether it is there.
    pub(in crate::view) fn width(&self) -> u64 {
        self.sides.iter().map(|s| s.width).sum()
    }

    /// Bytes of a batch of so many cells.
    pub(in crate::view) fn batch_bytes(&self, cells: u64) -> u64 {
        match cells {
            0 => 0,
            _ => self.message_bytes.saturating_add(self.body_bytes(cells)),
        }
    }

    /// Bytes behind the last of so many batches.
    pub(in crate::view) fn trailer_bytes(&self, batches: u64) -> u64 {
        let Some(more) = batches.checked_sub(1) else {
            return self.trailer(empty()).len() as u64;
        };
        let first = self.trailer(once((0, 0))).len() as u64;
        first.saturating_add(more.saturating_mul(size_of::<Block>() as u64))
    }

    /// A batch of all cells of these columns.
    pub(in crate::view) fn batch(&self, columns: &[Column]) -> Result<Vec<u8>> {
        let cells = columns.first().map_or(0, Column::len);
        let fits = |c: &Column, s: &Side| c.data.len() as u64 == cells as u64 * s.width && c.offsets.is_none();
        if columns.len() != self.sides.len() || !columns.iter().zip(&self.sides).all(|(c, s)| fits(c, s)) {
            return Err(wrong_columns());
        }
        if cells == 0 {
            return Ok(Vec::new());
        }
        let nulls: Vec<i64> = columns
            .iter()
            .map(|c| (0..cells).filter(|&i| c.is_null(i)).count() as i64)
            .collect();
        let mut out = self.message(cells as u64, &nulls);
        out.reserve(usize::try_from(self.body_bytes(cells as u64)).unwrap_or(0));
        for (column, side) in columns.iter().zip(&self.sides) {
            if side.nullable {
                let bit = |i: usize| u8::from(i < cells && !column.is_null(i)) << (i % 8);
                out.extend((0..cells.div_ceil(8)).map(|byte| (byte * 8..byte * 8 + 8).map(bit).sum::<u8>()));
                pad(&mut out);
            }
            out.extend_from_slice(&column.data);
            pad(&mut out);
        }
        Ok(out)
    }

    /// What follows the last batch: of each batch before, where it starts in the file and how many cells it has.
    pub(in crate::view) fn trailer(&self, batches: impl Iterator<Item = (u64, u64)>) -> Vec<u8> {
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

    /// The message that says how the columns of a batch lie.
    fn message(&self, cells: u64, nulls: &[i64]) -> Vec<u8> {
        let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let (mut nodes, mut buffers, mut at) = (Vec::new(), Vec::new(), 0);
        for (side, nulls) in self.sides.iter().zip(nulls) {
            nodes.push(FieldNode::new(signed(cells), *nulls));
            let [validity, values] = side.buffers(cells);
            let mut place = |bytes: Option<u64>| {
                buffers.push(Buffer::new(signed(at), signed(bytes.unwrap_or(0))));
                at += aligned(bytes.unwrap_or(0));
            };
            place(validity);
            if let CellCount::Fixed(n) = side.cell
                && n != 1
            {
                // The values of a list are a column of their own, of which all are there.
                nodes.push(FieldNode::new(signed(cells.saturating_mul(u64::from(n))), 0));
                place(None);
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
    /// Bytes of what says which cells are there, and of the values.
    fn buffers(&self, cells: u64) -> [Option<u64>; 2] {
        let validity = self.nullable.then(|| cells.div_ceil(8));
        [validity, Some(cells.saturating_mul(self.width))]
    }
}

fn side(field: &Field) -> Option<Side> {
    let width = field.cell.cell_bytes(field.datatype)? as u64;
    let kind = field_type(field);
    // How text, bool and values of an enumeration look depends on all of them.
    let is_number = !kind.may_need_raw() && !field.datatype.is_opaque() && width > 0;
    is_number.then_some(Side {
        cell: field.cell,
        width,
        nullable: field.nullable,
    })
}

const fn aligned(bytes: u64) -> u64 {
    bytes.div_ceil(ALIGN).saturating_mul(ALIGN)
}

fn pad(out: &mut Vec<u8>) {
    out.resize(usize::try_from(aligned(out.len() as u64)).unwrap_or(out.len()), 0);
}
