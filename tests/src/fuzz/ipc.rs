//! Arrow IPC files and streams, and the columns converted from them.

use std::io::Cursor;
use std::sync::Arc;

use arrow_array::builder::{FixedSizeListBuilder, Float32Builder, Int16Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Float64Array, Int32Array,
    LargeBinaryArray, RecordBatch, StringArray, StringViewArray, TimestampMillisecondArray,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use hyperslab::arrow::{FieldType, IpcReader};

use super::{Allowance, Target};

/// The limit on decompressed bytes.
const BUDGET: u64 = 1 << 20;

pub(super) fn targets() -> Vec<Target> {
    vec![Target::new("arrow-ipc", seeds(), read)]
}

fn read(bytes: &[u8]) -> Allowance {
    if let Ok(mut reader) = IpcReader::new(Cursor::new(bytes), BUDGET) {
        while let Ok(Some(batch)) = reader.next_batch() {
            for (i, field) in reader.schema().fields().iter().enumerate() {
                let Ok(field) = FieldType::infer(field) else { continue };
                if let Ok(column) = field.column(batch.rows.column(i)) {
                    column.check(&field.name).unwrap();
                }
            }
        }
    }
    Allowance {
        bytes: bytes.len(),
        // Cells of values without data, decompressed buffers, and copies of both.
        fixed: 32 << 20,
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let columns = columns();
    let mut seeds = Vec::new();
    for codec in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)] {
        let all = RecordBatch::try_from_iter(columns.clone()).unwrap();
        seeds.extend(written(&all, codec));
        for (name, column) in &columns {
            let one = RecordBatch::try_from_iter([(*name, column.clone())]).unwrap();
            seeds.extend(written(&one, codec));
        }
    }
    seeds
}

/// A file and a stream, each with the batch twice.
fn written(batch: &RecordBatch, codec: Option<CompressionType>) -> [Vec<u8>; 2] {
    let options = IpcWriteOptions::default().try_with_compression(codec).unwrap();
    let (mut file, mut stream) = (Vec::new(), Vec::new());
    let mut writer = FileWriter::try_new_with_options(&mut file, &batch.schema(), options.clone()).unwrap();
    writer.write(batch).and_then(|()| writer.write(batch)).unwrap();
    writer.finish().unwrap();
    let mut writer = StreamWriter::try_new_with_options(&mut stream, &batch.schema(), options).unwrap();
    writer.write(batch).and_then(|()| writer.write(batch)).unwrap();
    writer.finish().unwrap();
    [file, stream]
}

/// A column of each kind.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let texts = [Some("a"), None, Some("a longer text, which no view can hold")];
    let bytes = [Some(&b"x"[..]), None, Some(&b"bytes that no view can hold"[..])];
    let mut lists = ListBuilder::new(Int16Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_null();
    lists.append_value([Some(3)]);
    let mut pairs = FixedSizeListBuilder::new(Float32Builder::new(), 2);
    for _ in 0..3 {
        pairs.values().append_slice(&[0.5, 1.5]);
        pairs.append(true);
    }
    let binary = FixedSizeBinaryArray::try_from_iter([b"abc", b"def", b"ghi"].into_iter()).unwrap();
    let dictionary: DictionaryArray<Int8Type> = texts.into_iter().collect();
    vec![
        (
            "numbers",
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])) as ArrayRef,
        ),
        ("floats", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))),
        (
            "bits",
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
        ),
        ("times", Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3]))),
        ("texts", Arc::new(texts.into_iter().collect::<StringArray>())),
        ("views", Arc::new(texts.into_iter().collect::<StringViewArray>())),
        ("bytes", Arc::new(bytes.into_iter().collect::<LargeBinaryArray>())),
        ("byte views", Arc::new(bytes.into_iter().collect::<BinaryViewArray>())),
        ("fixed", Arc::new(binary)),
        ("lists", Arc::new(lists.finish())),
        ("pairs", Arc::new(pairs.finish())),
        ("words", Arc::new(dictionary)),
    ]
}
