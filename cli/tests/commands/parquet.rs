//! Parquet files.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float16Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::failing::check;
use crate::{Shell, in_lines};

/// A file of these columns, in row groups of two rows. `pandas` is its metadata for pandas.
fn parquet(columns: Vec<(&str, ArrayRef)>, pandas: Option<&str>, codec: Compression) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true))).unwrap();
    let pandas = pandas.map(|text| ("pandas".to_owned(), text.to_owned()));
    let metadata: HashMap<String, String> = pandas.into_iter().collect();
    let fields = batch.schema().fields().clone();
    let schema = Arc::new(Schema::new_with_metadata(fields, metadata));
    let batch = batch.with_schema(Arc::clone(&schema)).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(codec)
        .set_max_row_group_row_count(Some(2));
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties.build())).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn numbers() -> ArrayRef {
    Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]))
}

fn words() -> ArrayRef {
    Arc::new(StringArray::from(vec![
        Some("a"),
        Some("longer than a view can hold"),
        None,
    ]))
}

#[test]
fn tables_are_imported_and_written() {
    let shell = Shell::new();
    let x: ArrayRef = Arc::new(Float64Array::from(vec![0.5, 1.5, 2.5]));
    for (i, codec) in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ]
    .into_iter()
    .enumerate()
    {
        let columns = vec![("x", x.clone()), ("n", numbers()), ("t", words())];
        shell.file("in.parquet", parquet(columns, None, codec));
        shell.ok(&format!("import in.parquet a{i}"));
        assert_eq!(
            shell.ok(&format!("export a{i} - --format csv")),
            "row,x,n,t\n0,0.5,1,a\n1,1.5,,longer than a view can hold\n2,2.5,3,\n",
            "{codec:?}"
        );
    }
    shell.ok("import in.parquet s --sparse --dims x --attrs t,n");
    let expect = "x,n,t\n0.5,1,a\n1.5,,longer than a view can hold\n2.5,3,\n";
    assert_eq!(shell.ok("export s - --format csv"), expect);
    let schema = shell.pipe("schema s", b"");
    shell.pipe("create w --schema -", &schema);
    shell.ok("write w in.parquet --timestamp 1");
    assert_eq!(shell.ok("export w - --format csv"), expect);
    shell.pipe("import - piped --format parquet", &shell.bytes("in.parquet"));
}

#[test]
fn structs_are_columns_and_decimals_are_numbers() {
    let shell = Shell::new();
    let inner: ArrayRef = Arc::new(Int32Array::from(vec![7, 8, 9]));
    let field = Arc::new(Field::new("x", DataType::Int32, false));
    let st = StructArray::new(
        vec![field].into(),
        vec![inner],
        Some(NullBuffer::from(vec![true, false, true])),
    );
    let decimal = |values: Vec<Option<i128>>, digits, scale| -> ArrayRef {
        let array = Decimal128Array::from(values).with_precision_and_scale(digits, scale);
        Arc::new(array.unwrap())
    };
    let halves = Float16Array::from_iter_values([1.0, 0.5, -2.0].map(half::f16::from_f64));
    let mut lists = ListBuilder::new(Int32Builder::new());
    lists.append_value([Some(1), Some(2)]);
    lists.append_null();
    lists.append_value([]);
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    (0..3).for_each(|_| maps.append(true).unwrap());
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("st", Arc::new(st)),
        ("d", decimal(vec![Some(125), None, Some(-1)], 12, 2)),
        (
            "wide",
            decimal(vec![Some(1234567890123456789012), Some(1), None], 30, 2),
        ),
        ("di", decimal(vec![Some(125), None, Some(-1)], 12, 0)),
        ("h", Arc::new(halves)),
        ("l", Arc::new(lists.finish())),
        ("m", Arc::new(maps.finish())),
    ];
    shell.file("in.parquet", parquet(columns, None, Compression::SNAPPY));
    let output = shell.run("import in.parquet a", b"");
    assert!(output.status.success());
    let notes = in_lines(&output.stderr);
    assert!(
        notes.contains("column 'm' is left out, because an array cannot store maps")
            && notes.contains("column 'd' holds decimals, which are stored as float64")
            && !notes.contains("'di'"),
        "{notes}"
    );
    assert_eq!(
        shell.ok("export a - --format csv"),
        "row,st.x,d,wide,di,h,l\n0,7,1.25,1.2345678901234567e19,125,1.0,\"[1,2]\"\n1,,,0.01,,0.5,\n2,9,-0.01,,-1,-2.0,[]\n"
    );
}

#[test]
fn the_index_of_a_data_frame_is_the_dimensions() {
    let shell = Shell::new();
    let pandas = r#"{"index_columns": ["t"], "columns": [
        {"name": "n", "field_name": "n", "pandas_type": "int64", "numpy_type": "Int64"},
        {"name": "b", "field_name": "b", "pandas_type": "bool", "numpy_type": "bool"},
        {"name": "t", "field_name": "t", "pandas_type": "datetimetz", "numpy_type": "datetime64[ns, CET]"}]}"#;
    let times = |last| -> ArrayRef { Arc::new(TimestampMicrosecondArray::from(vec![Some(0), Some(1), last])) };
    let flags: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let file = |last, pandas| {
        let columns = vec![("n", numbers()), ("b", flags.clone()), ("t", times(last))];
        parquet(columns, Some(pandas), Compression::SNAPPY)
    };
    shell.file("in.parquet", file(Some(2), pandas));
    shell.ok("import in.parquet a");
    let schema = shell.schema("a");
    assert_eq!(
        (&schema["type"], &schema["dimensions"][0]["name"]),
        (&"sparse".into(), &"t".into())
    );
    assert_eq!(
        shell.ok("meta get a __pandas_index_dims"),
        "{\"t\":\"datetime64[ns]\"}\n"
    );
    assert_eq!(
        shell.ok("meta get a __pandas_attribute_repr"),
        "{\"n\":\"Int64\",\"b\":\"bool\"}\n"
    );
    // An index with nulls stays an attribute.
    shell.file("in.parquet", file(None, pandas));
    let output = shell.run("import in.parquet b", b"");
    let told = in_lines(&output.stderr);
    assert!(
        output.status.success() && told.contains("index of the data frame (t) is imported as attributes"),
        "{told}"
    );
    let csv = shell.ok("export b - --format csv --attrs n");
    assert_eq!(csv, "__tiledb_rows,n\n0,1\n1,\n2,3\n");
    for odd in [
        "{",
        "[]",
        "{\"index_columns\": 3}",
        "{\"index_columns\": [\"gone\"], \"columns\": [1]}",
    ] {
        shell.file("in.parquet", file(Some(2), odd));
        shell.ok("import in.parquet odd");
        std::fs::remove_dir_all(shell.path("odd")).unwrap();
    }
}

#[test]
fn damaged_files_are_errors_and_leave_nothing() {
    let shell = Shell::new();
    let good = parquet(vec![("n", numbers()), ("t", words())], None, Compression::SNAPPY);
    shell.file("in.csv", "a\n1\n");
    check(
        &shell,
        "import in.csv a --format parquet",
        1,
        &["it is text", "--format csv"],
    );
    shell.file("in.parquet", &good[..good.len() - 9]);
    check(
        &shell,
        "import in.parquet a",
        1,
        &["not a valid Parquet file", "backup"],
    );
    let mut flipped = good.clone();
    // The header of the first page.
    flipped[4..12].fill(0xff);
    shell.file("in.parquet", flipped);
    check(&shell, "import in.parquet a", 1, &["in.parquet", "Parquet"]);
    assert_eq!(shell.names(), ["in.csv", "in.parquet"]);
}

#[test]
fn an_export_is_imported_as_the_same_array() {
    let shell = Shell::new();
    let schema = r#"{"type": "sparse", "dimensions": [{"name": "d", "type": "datetime_hr", "domain": [0, 1000], "tile": 4}],
        "attributes": [{"name": "s", "type": "string_utf8", "cell": "var"}, {"name": "b", "type": "blob", "cell": "var"},
          {"name": "v", "type": "float32", "cell": 2}, {"name": "n", "type": "int16", "cell": "var"},
          {"name": "f", "type": "bool", "nullable": true}, {"name": "t", "type": "time_ms"},
          {"name": "e", "type": "uint8", "enumeration": "e", "nullable": true}],
        "enumerations": [{"name": "e", "type": "string_utf8", "cell": "var", "ordered": true, "values": ["high", "low", "lost"]}]}"#;
    shell.pipe("create a --schema -", schema.as_bytes());
    let rows = b"d,s,b,v,n,f,t,e\n1970-01-01T01,x,00ff,\"[1.5,inf]\",\"[1,2]\",true,5,low\n1970-01-01T02,\"\",,\"[nan,-0]\",[],,-1,\n";
    shell.pipe("write a - --format csv", rows);
    shell.ok("export a out.parquet");
    shell.ok("import out.parquet b --sparse --dims d");
    let csv = "export a - --format csv";
    assert_eq!(shell.ok(csv), shell.ok(&csv.replace(" a ", " b ")));
    let (a, b) = (shell.schema("a"), shell.schema("b"));
    assert_eq!(a["enumerations"][0]["values"], b["enumerations"][0]["values"]);
    assert_eq!(b["enumerations"][0]["ordered"], true);
    let types = |schema: &serde_json::Value| -> Vec<(serde_json::Value, serde_json::Value)> {
        let attributes = schema["attributes"].as_array().unwrap();
        attributes
            .iter()
            .map(|a| (a["type"].clone(), a["cell"].clone()))
            .collect()
    };
    assert_eq!(types(&a), types(&b));
    assert_eq!(a["dimensions"][0]["type"], b["dimensions"][0]["type"]);
    assert_eq!(b["type"], "sparse");
}

#[test]
fn row_groups_stay_within_the_budget() {
    let shell = Shell::new();
    let text: String = (0..120_000)
        .map(|i| format!("{i},{}\n", i * 7919 % 1_000_003))
        .collect();
    shell.pipe("import - a --format csv", format!("k,v\n{text}").as_bytes());
    shell.ok("export a out.parquet --memory 20KiB");
    let file = std::fs::File::open(shell.path("out.parquet")).unwrap();
    let metadata = parquet::file::metadata::ParquetMetaDataReader::new()
        .parse_and_finish(&file)
        .unwrap();
    assert!(
        metadata.num_row_groups() > 1,
        "{} row groups",
        metadata.num_row_groups()
    );
    assert_eq!(metadata.file_metadata().num_rows(), 120_000);
}
