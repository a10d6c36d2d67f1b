//! Imports of Parquet files.

use std::sync::Arc;

use arrow_array::builder::{Int16Builder, ListBuilder};
use arrow_array::types::Int8Type;
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    StructArray, TimestampMillisecondArray,
};
use hyperslab_cli::fuzz::import_parquet;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

use super::{Allowance, Target};

pub(super) fn targets() -> Vec<Target> {
    let run = |bytes: &[u8]| {
        // Most inputs are damaged.
        let _ = import_parquet(bytes);
        Allowance {
            bytes: bytes.len(),
            // A page may claim any size, and cells of one value take no bytes in the file.
            fixed: 64 << 20,
        }
    };
    let seeds = seeds();
    for seed in &seeds {
        import_parquet(seed).unwrap();
    }
    vec![Target::new("parquet", seeds, run)]
}

/// A file for each codec and version of pages.
fn seeds() -> Vec<Vec<u8>> {
    let codecs = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let kinds = codecs.into_iter().flat_map(|c| versions.map(|v| (c, v)));
    kinds.map(|(codec, version)| written(codec, version)).collect()
}

fn written(codec: Compression, version: WriterVersion) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns().into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_writer_version(version)
        .set_max_row_group_row_count(Some(2));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

/// A column of each kind.
fn columns() -> Vec<(&'static str, ArrayRef)> {
    let mut lists = ListBuilder::new(Int16Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_null();
    lists.append_value([]);
    let words: DictionaryArray<Int8Type> = [Some("one"), None, Some("three")].into_iter().collect();
    let inner: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, Some(3)]));
    let field = arrow_schema::Field::new("x", inner.data_type().clone(), true);
    vec![
        ("f", Arc::new(Float64Array::from(vec![Some(0.5), None, Some(f64::NAN)]))),
        (
            "t",
            Arc::new(StringArray::from(vec![
                Some("a"),
                None,
                Some("longer than a view holds"),
            ])),
        ),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)]))),
        ("d", Arc::new(Decimal128Array::from(vec![Some(1), None, Some(-7)]))),
        (
            "m",
            Arc::new(TimestampMillisecondArray::from(vec![Some(1), None, Some(2)])),
        ),
        ("w", Arc::new(words)),
        ("l", Arc::new(lists.finish())),
        (
            "s",
            Arc::new(StructArray::new(vec![Arc::new(field)].into(), vec![inner], None)),
        ),
    ]
}
