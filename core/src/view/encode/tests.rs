use std::sync::Arc;

use super::*;
use crate::column::typed;
use crate::datatype::{CellCount, Datatype};
use crate::format::enumeration::Enumeration;

fn field(name: &str, datatype: Datatype, cell: CellCount) -> Field {
    Field {
        fill: datatype.default_fill(),
        ..Field::new(name, datatype, cell)
    }
}

fn frame(fields: Vec<Field>, shape: &[u64]) -> Frame {
    Frame {
        fields,
        shape: shape.to_vec(),
        dense: true,
        column_major: false,
        colors: Colors::default(),
    }
}

fn text(format: Format, frame: &Frame, columns: Vec<Column>) -> String {
    String::from_utf8(encode(format, frame, columns).unwrap()).unwrap()
}

#[track_caller]
fn check_header(fields: Vec<Field>, shape: &[u64], expect: &str) {
    let encoder = Format::Npy.encoder(&frame(fields, shape)).unwrap();
    let header = encoder.runs().unwrap().header;
    assert_eq!(header.len() % 64, 0);
    assert_eq!(&header[..8], b"\x93NUMPY\x01\x00");
    assert_eq!(
        usize::from(u16::from_le_bytes([header[8], header[9]])),
        header.len() - 10
    );
    assert_eq!(header.last(), Some(&b'\n'));
    assert_eq!(std::str::from_utf8(&header[10..]).unwrap().trim_end(), expect);
}

#[test]
fn npy_headers_match_numpy() {
    let one = CellCount::ONE;
    check_header(
        vec![field("a", Datatype::Float32, one)],
        &[3, 4],
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
    );
    check_header(
        vec![field("a", Datatype::Uint8, one)],
        &[3],
        "{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }",
    );
    check_header(
        vec![field("a", Datatype::Bool, one)],
        &[],
        "{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
    );
    check_header(
        vec![field("a", Datatype::DatetimeMs, one)],
        &[1],
        "{'descr': '<M8[ms]', 'fortran_order': False, 'shape': (1,), }",
    );
    check_header(
        vec![field("a", Datatype::TimeHr, one)],
        &[1],
        "{'descr': '<m8[h]', 'fortran_order': False, 'shape': (1,), }",
    );
    check_header(
        vec![field("a", Datatype::Int16, CellCount::Fixed(3))],
        &[2],
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }",
    );
    check_header(
        vec![field("a", Datatype::StringAscii, CellCount::Fixed(5))],
        &[2],
        "{'descr': '|S5', 'fortran_order': False, 'shape': (2,), }",
    );
}

#[test]
fn npy_of_several_fields_is_structured() {
    let mut mag = field("it's", Datatype::Float64, CellCount::ONE);
    mag.nullable = true;
    let fields = vec![
        field("x", Datatype::Int32, CellCount::ONE),
        mag,
        field("", Datatype::Int16, CellCount::Fixed(2)),
    ];
    check_header(
        fields,
        &[2],
        r"{'descr': [('x', '<i4'), ('it\'s', '<f8'), ('it\'s_valid', '|b1'), ('data', '<i2', (2,))], 'fortran_order': False, 'shape': (2,), }",
    );
}

#[test]
fn npy_of_two_floats_per_cell_is_complex() {
    for (datatype, code) in [(Datatype::Float32, "<c8"), (Datatype::Float64, "<c16")] {
        let z = || field("z", datatype, CellCount::Fixed(2));
        check_header(
            vec![z()],
            &[2, 3],
            &format!("{{'descr': '{code}', 'fortran_order': False, 'shape': (2, 3), }}"),
        );
        check_header(
            vec![z(), field("n", Datatype::Int8, CellCount::Fixed(2))],
            &[2],
            &format!("{{'descr': [('z', '{code}'), ('n', '|i1', (2,))], 'fortran_order': False, 'shape': (2,), }}"),
        );
    }
}

#[test]
fn npy_validity_names_are_unique() {
    let mut n = field("n", Datatype::Int32, CellCount::ONE);
    n.nullable = true;
    let other = |name: &str| field(name, Datatype::Uint8, CellCount::ONE);
    check_header(
        vec![n, other("n_valid"), other(""), other("data")],
        &[2],
        "{'descr': [('n', '<i4'), ('n_valid_', '|b1'), ('n_valid', '|u1'), ('data_', '|u1'), ('data', '|u1')], 'fortran_order': False, 'shape': (2,), }",
    );
}

#[test]
fn records_interleave_fields_and_validity() {
    let mut b = field("b", Datatype::Uint16, CellCount::ONE);
    b.nullable = true;
    let frame = frame(vec![field("a", Datatype::Uint8, CellCount::ONE), b], &[2]);
    let columns = vec![
        Column::from_values(Datatype::Uint8, &[1_u8, 2]),
        Column::from_values(Datatype::Uint16, &[0x0403_u16, 0x0605]).with_validity(vec![1, 0]),
    ];
    // A null integer is the fill value.
    assert_eq!(
        encode(Format::Bin, &frame, columns).unwrap(),
        [1, 3, 4, 1, 2, 255, 255, 0]
    );
    assert_eq!(Format::Bin.encoder(&frame).unwrap().size(), Some(8));
}

#[test]
fn nulls_of_records_are_nan_and_nat() {
    let mut fields = vec![
        field("f", Datatype::Float32, CellCount::ONE),
        field("t", Datatype::DatetimeMs, CellCount::ONE),
        field("b", Datatype::Bool, CellCount::ONE),
    ];
    fields.iter_mut().for_each(|f| f.nullable = true);
    let columns = vec![
        Column::from_values(Datatype::Float32, &[0_f32]).with_validity(vec![0]),
        Column::from_values(Datatype::DatetimeMs, &[0_i64]).with_validity(vec![0]),
        Column::from_values(Datatype::Bool, &[1_u8]).with_validity(vec![0]),
    ];
    let bytes = encode(Format::Bin, &frame(fields, &[1]), columns).unwrap();
    assert!(f32::from_le_bytes(bytes[..4].try_into().unwrap()).is_nan());
    assert_eq!(i64::from_le_bytes(bytes[5..13].try_into().unwrap()), i64::MIN);
    assert_eq!((bytes[4], bytes[13], &bytes[14..]), (0, 0, &[0, 0][..]));
}

#[test]
fn mismatched_columns_are_rejected() {
    let frame = frame(
        vec![
            field("a", Datatype::Uint16, CellCount::ONE),
            field("b", Datatype::Uint8, CellCount::ONE),
        ],
        &[2],
    );
    let bytes = |n: usize| Column::from_values(Datatype::Uint8, &vec![0_u8; n]);
    for format in [Format::Bin, Format::Csv] {
        assert!(encode(format, &frame, vec![bytes(2)]).is_err());
        assert!(encode(format, &frame, vec![bytes(2), bytes(3)]).is_err());
    }
}

#[test]
fn variable_length_is_rejected_with_an_alternative() {
    let frame = frame(
        vec![
            field("mag", Datatype::Float32, CellCount::ONE),
            field("place", Datatype::StringUtf8, CellCount::Var),
        ],
        &[2],
    );
    let error = Format::Npy.encoder(&frame).unwrap_err().to_string();
    assert_eq!(
        error,
        "'place' has variable-length cells, which .npy cannot hold; use .csv or .json, or select only fixed-size attributes (mag)"
    );
}

fn mixed() -> (Frame, Vec<Column>) {
    let mut note = field("note", Datatype::StringUtf8, CellCount::Var);
    note.nullable = true;
    let fields = vec![
        field("t", Datatype::DatetimeDay, CellCount::ONE),
        field("v", Datatype::Float64, CellCount::ONE),
        note,
        field("pair", Datatype::Int8, CellCount::Fixed(2)),
    ];
    let mut pair = Column::from_values(Datatype::Int8, &[1_i8, -2, 3, 4, 5, 6]);
    pair.cell = CellCount::Fixed(2);
    let columns = vec![
        Column::from_values(Datatype::DatetimeDay, &[0_i64, i64::MIN, 18321]),
        Column::from_values(Datatype::Float64, &[1.0, f64::NAN, 1e300]),
        Column::from_cells(Datatype::StringUtf8, ["say \"hi\", Zoë", "", "x"]).with_validity(vec![1, 1, 0]),
        pair,
    ];
    (frame(fields, &[3]), columns)
}

#[test]
fn csv_distinguishes_empty_strings_from_nulls() {
    let (frame, columns) = mixed();
    let expect = "t,v,note,pair\n1970-01-01,1.0,\"say \"\"hi\"\", Zoë\",\"[1,-2]\"\nNaT,nan,\"\",\"[3,4]\"\n2020-02-29,1e300,,\"[5,6]\"\n";
    assert_eq!(text(Format::Csv, &frame, columns), expect);
}

#[test]
fn not_a_time_is_not_shown_as_a_number() {
    for datatype in Datatype::ALL.iter().copied().filter(|t| t.is_time()) {
        let frame = frame(
            vec![
                field("t", datatype, CellCount::ONE),
                field("p", datatype, CellCount::Fixed(2)),
            ],
            &[2],
        );
        let pairs = Column::from_values(datatype, &[1, i64::MIN, 3, 4]);
        let columns = vec![
            Column::from_values(datatype, &[i64::MIN, -7]),
            Column {
                cell: CellCount::Fixed(2),
                ..pairs
            },
        ];
        let csv = text(Format::Csv, &frame, columns.clone());
        assert_eq!(csv, "t,p\nNaT,\"[1,\"\"NaT\"\"]\"\n-7,\"[3,4]\"\n");
        let json = text(Format::Jsonl, &frame, columns);
        assert_eq!(json, "{\"t\":\"NaT\",\"p\":[1,\"NaT\"]}\n{\"t\":-7,\"p\":[3,4]}\n");
    }
}

#[test]
fn only_nulls_are_null_in_json() {
    let mut v = field("v", Datatype::Float32, CellCount::ONE);
    v.nullable = true;
    let frame = frame(vec![v, field("w", Datatype::Float64, CellCount::Fixed(2))], &[4]);
    let columns = vec![
        Column::from_values(Datatype::Float32, &[f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.5])
            .with_validity(vec![1, 1, 1, 0]),
        Column {
            cell: CellCount::Fixed(2),
            ..Column::from_values(
                Datatype::Float64,
                &[0.5, f64::NAN, f64::INFINITY, 1.0, f64::NEG_INFINITY, 1.0, 1.0, 2.0],
            )
        },
    ];
    let expect = r#"{"v":"NaN","w":[0.5,"NaN"]}
{"v":"Infinity","w":["Infinity",1.0]}
{"v":"-Infinity","w":["-Infinity",1.0]}
{"v":null,"w":[1.0,2.0]}
"#;
    assert_eq!(text(Format::Jsonl, &frame, columns.clone()), expect);
    let csv = "v,w\nnan,\"[0.5,nan]\"\ninf,\"[inf,1.0]\"\n-inf,\"[-inf,1.0]\"\n,\"[1.0,2.0]\"\n";
    assert_eq!(text(Format::Csv, &frame, columns), csv);
}

#[test]
fn invalid_text_is_escaped_in_json() {
    let frame = frame(vec![field("s", Datatype::StringAscii, CellCount::Var)], &[2]);
    let column = Column::from_cells(Datatype::StringAscii, [b"\xfe".as_slice(), b"\xff"]);
    let json = encode(Format::Jsonl, &frame, vec![column]).unwrap();
    assert_eq!(
        json,
        br#"{"s":"\\xfe"}
{"s":"\\xff"}
"#
    );
}

#[test]
fn unwritten_text_is_empty_in_csv() {
    for datatype in [
        Datatype::StringUtf8,
        Datatype::StringAscii,
        Datatype::StringUtf16,
        Datatype::Char,
    ] {
        let mut s = field("s", datatype, CellCount::Var);
        s.fill = datatype.default_fill();
        let frame = frame(vec![s], &[3]);
        let unit = datatype.size();
        let x = [&b"x"[..], &[0; 3]].concat();
        let column = Column::from_cells(datatype, [datatype.default_fill().as_slice(), b"", &x[..unit]]);
        assert_eq!(
            encode(Format::Csv, &frame, vec![column]).unwrap(),
            b"s\n\n\"\"\nx\n",
            "{datatype}"
        );
    }
}

#[test]
fn strings_lose_only_their_padding() {
    let one = |cell: CellCount, bytes: &[u8]| {
        let mut column = Column::from_cells(Datatype::StringUtf8, [bytes]);
        column.cell = cell;
        column.offsets = column.offsets.filter(|_| cell.is_var());
        let frame = frame(vec![field("s", Datatype::StringUtf8, cell)], &[1]);
        encode(Format::Csv, &frame, vec![column]).unwrap()
    };
    assert_eq!(one(CellCount::Var, b"a\0\0"), b"s\na\0\0\n");
    assert_eq!(one(CellCount::Fixed(3), b"a\0\0"), b"s\na\n");
    assert_eq!(one(CellCount::Var, b"\xffx,"), b"s\n\"\xffx,\"\n");
}

#[test]
fn json_is_valid() {
    let (frame, columns) = mixed();
    let list = text(Format::Json, &frame, columns.clone());
    let value: serde_json::Value = serde_json::from_str(&list).unwrap();
    assert_eq!(
        value[0],
        serde_json::json!({"t": "1970-01-01", "v": 1.0, "note": "say \"hi\", Zoë", "pair": [1, -2]})
    );
    assert_eq!(
        value[1],
        serde_json::json!({"t": "NaT", "v": "NaN", "note": "", "pair": [3, 4]})
    );
    assert_eq!(value[2]["note"], serde_json::Value::Null);
    let lines = text(Format::Jsonl, &frame, columns);
    assert_eq!(lines.lines().count(), 3);
    assert!(
        lines
            .lines()
            .all(|l| serde_json::from_str::<serde_json::Value>(l).is_ok())
    );
    let none: serde_json::Value = serde_json::from_str(&text(
        Format::Json,
        &frame,
        mixed()
            .1
            .iter()
            .map(|c| Column::empty(c.datatype, c.cell, false))
            .collect(),
    ))
    .unwrap();
    assert_eq!(none, serde_json::json!([]));
}

#[test]
fn enumerations_are_shown_by_value() {
    let mut f = field("kind", Datatype::Int8, CellCount::ONE);
    let values = Column::from_cells(Datatype::StringAscii, ["ice", "water"]);
    f.enumeration = Some(Arc::new(Enumeration {
        name: "kinds".into(),
        file: String::new(),
        ordered: false,
        values,
    }));
    let csv = text(
        Format::Csv,
        &frame(vec![f], &[3]),
        vec![Column::from_values(Datatype::Int8, &[1_i8, 0, -1])],
    );
    assert_eq!(csv, "kind\nwater\nice\n\n");
}

#[test]
fn batches_give_the_same_file_as_one_column() {
    let (frame, columns) = mixed();
    for format in [Format::Csv, Format::Tsv, Format::Json, Format::Jsonl] {
        let whole = encode(format, &frame, columns.clone()).unwrap();
        let mut encoder = format.encoder(&frame).unwrap();
        let mut parts = encoder.start();
        for _ in 0..2 {
            parts.extend(encoder.cells(columns.clone()).unwrap());
        }
        parts.extend(encoder.finish().unwrap());
        assert!(parts.len() > whole.len() && parts.starts_with(&whole[..whole.len() - 3]));
    }
}

/// Width, height, bit depth, color type, and the rows with their filter bytes.
fn decode_png(bytes: &[u8]) -> (u32, u32, u8, u8, Vec<u8>) {
    let be = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(&bytes[12..16], b"IHDR");
    assert_eq!(&bytes[37..41], b"IDAT");
    let data = &bytes[41..41 + be(33) as usize];
    let mut raw = vec![0; data.len()];
    let plain = libdeflater::Decompressor::new()
        .zlib_decompress(data, &mut raw)
        .unwrap();
    raw.truncate(plain);
    (be(16), be(20), bytes[24], bytes[25], raw)
}

#[track_caller]
fn check_png(field: Field, shape: &[u64], column: Column, expect: (u32, u32, u8, u8, &[u8])) {
    let frame = frame(vec![field], shape);
    let bytes = encode(Format::Png, &frame, vec![column]).unwrap();
    assert_eq!(Format::Png.encoder(&frame).unwrap().size(), Some(bytes.len() as u64));
    let (w, h, bits, colour, raw) = decode_png(&bytes);
    assert_eq!((w, h, bits, colour, raw.as_slice()), expect);
}

#[test]
fn images_of_every_depth() {
    let one = CellCount::ONE;
    check_png(
        field("m", Datatype::Bool, one),
        &[2, 3],
        Column::from_values(Datatype::Bool, &[1_u8, 0, 1, 0, 1, 0]),
        (3, 2, 1, 0, &[0, 0b1010_0000, 0, 0b0100_0000]),
    );
    let some = Column::from_values(Datatype::Bool, &[1_u8, 0, 1]).with_validity(vec![1, 1, 0]);
    check_png(
        field("m", Datatype::Bool, one),
        &[3],
        some,
        (3, 1, 1, 0, &[0, 0b1000_0000]),
    );
    check_png(
        field("g", Datatype::Uint8, one),
        &[1, 2],
        Column::from_values(Datatype::Uint8, &[7_u8, 255]),
        (2, 1, 8, 0, &[0, 7, 255]),
    );
    check_png(
        field("w", Datatype::Uint16, one),
        &[2],
        Column::from_values(Datatype::Uint16, &[0x0102_u16, 3]),
        (2, 1, 16, 0, &[0, 1, 2, 0, 3]),
    );
    let stretched = Column::from_values(Datatype::Int16, &[-5_i16, i16::MIN, 5]);
    check_png(
        field("s", Datatype::Int16, one),
        &[1, 3],
        stretched,
        (3, 1, 16, 0, &[0, 0, 1, 0, 0, 255, 255]),
    );
    let mut rgb = Column::from_values(Datatype::Uint8, &[1_u8, 2, 3]);
    rgb.cell = CellCount::Fixed(3);
    check_png(
        field("c", Datatype::Uint8, CellCount::Fixed(3)),
        &[1, 1],
        rgb,
        (1, 1, 8, 2, &[0, 1, 2, 3]),
    );
}

#[test]
fn an_image_of_many_blocks_has_the_predicted_size() {
    let values: Vec<u8> = (0..70_000_u32).map(|v| v.to_le_bytes()[0]).collect();
    let frame = frame(vec![field("g", Datatype::Uint8, CellCount::ONE)], &[100, 700]);
    let bytes = encode(Format::Png, &frame, vec![Column::from_values(Datatype::Uint8, &values)]).unwrap();
    assert_eq!(Format::Png.encoder(&frame).unwrap().size(), Some(bytes.len() as u64));
    let raw = decode_png(&bytes).4;
    assert_eq!(&typed::<u8>(&raw)[1..701], &values[..700]);
}

#[test]
fn errors_explain_why_a_slice_is_not_an_image() {
    let refuse = |fields: Vec<Field>, shape: &[u64], expect: &str| {
        let error = Format::Png.encoder(&frame(fields, shape)).unwrap_err().to_string();
        assert!(error.contains(expect), "{error}");
    };
    let a = || field("a", Datatype::Float32, CellCount::ONE);
    refuse(vec![a()], &[2, 2, 2], "two axes, but this slice has 3");
    refuse(vec![a(), a()], &[2, 2], "one attribute");
    refuse(
        vec![field("s", Datatype::StringUtf8, CellCount::Var)],
        &[2, 2],
        "variable length",
    );
    refuse(vec![a()], &[1 << 20, 1 << 20], "exceeds the limit");
    refuse(vec![a()], &[0, 2], "at least one pixel");
}

#[cfg(feature = "arrow")]
#[test]
fn arrow_files_contain_every_batch() {
    let (frame, columns) = mixed();
    let mut encoder = Format::Arrow.encoder(&frame).unwrap();
    let mut bytes = encoder.start();
    for _ in 0..2 {
        bytes.extend(encoder.cells(columns.clone()).unwrap());
    }
    bytes.extend(encoder.finish().unwrap());
    let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
    let names: Vec<String> = reader.schema().fields().iter().map(|f| f.name().clone()).collect();
    assert_eq!(names, ["t", "v", "note", "pair"]);
    assert_eq!(reader.map(|b| b.unwrap().num_rows()).collect::<Vec<_>>(), [3, 3]);
}

/// Reads dates of all units with `arrow-ipc`, single and in lists, some of them NaT.
#[cfg(feature = "arrow")]
#[test]
fn arrow_files_of_dates_have_the_predicted_size() {
    for datatype in Datatype::ALL.iter().copied().filter(|t| t.is_temporal()) {
        let mut null = field("null", datatype, CellCount::ONE);
        null.nullable = true;
        let fields = vec![
            field("one", datatype, CellCount::ONE),
            field("pair", datatype, CellCount::Fixed(2)),
            null,
        ];
        let frame = frame(fields, &[9]);
        let values: Vec<i64> = (0..18).map(|i| if i % 5 == 1 { i64::MIN } else { i }).collect();
        let column = |n: usize| Column::from_values(datatype, &values[..n]);
        let columns = || {
            let pair = Column {
                cell: CellCount::Fixed(2),
                ..column(18)
            };
            vec![
                column(9),
                pair,
                column(9).with_validity(vec![1, 1, 1, 0, 1, 1, 1, 1, 1]),
            ]
        };
        let bytes = encode(Format::Arrow, &frame, columns()).unwrap();
        let size = Format::Arrow.encoder(&frame).unwrap().size();
        assert_eq!(size, Some(bytes.len() as u64), "{datatype}");
        let mut reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        let batch = reader.next().unwrap().unwrap();
        for (i, mut expect) in columns().into_iter().enumerate() {
            let kind = crate::arrow::FieldType::infer(batch.schema().field(i)).unwrap();
            // In nullable fields, NaT becomes null.
            for valid in expect.validity.iter_mut() {
                for (v, date) in valid.iter_mut().zip(&values) {
                    *v &= u8::from(*date != i64::MIN);
                }
            }
            let got = kind.column(batch.column(i)).unwrap();
            assert_eq!(got.validity, expect.validity, "{datatype}");
            for cell in (0..9).filter(|c| !expect.is_null(*c)) {
                assert_eq!(got.cell(cell), expect.cell(cell), "{datatype}");
            }
        }
        let mut beyond = columns();
        beyond[1].data[8..16].copy_from_slice(&i64::MAX.to_le_bytes());
        let beyond = encode(Format::Arrow, &frame, beyond).is_err();
        assert_eq!(beyond, kind_is_coarse(datatype), "{datatype}");
    }
}

/// Whether Arrow represents a unit in a finer one.
#[cfg(feature = "arrow")]
fn kind_is_coarse(datatype: Datatype) -> bool {
    use Datatype as T;
    matches!(
        datatype,
        T::DatetimeYear
            | T::DatetimeMonth
            | T::DatetimeWeek
            | T::DatetimeDay
            | T::DatetimeHr
            | T::DatetimeMin
            | T::TimeHr
            | T::TimeMin
    )
}

/// Lists, nullable values and several batches, added in portions of different sizes.
#[cfg(feature = "arrow")]
#[test]
fn arrow_files_of_numbers_have_the_predicted_size() {
    let mut n = field("n", Datatype::Int16, CellCount::ONE);
    n.nullable = true;
    let fields = || {
        vec![
            field("t", Datatype::DatetimeMs, CellCount::ONE),
            n.clone(),
            field("pair", Datatype::Float64, CellCount::Fixed(3)),
        ]
    };
    let columns = |cells: std::ops::Range<usize>, nulls: bool| {
        let times: Vec<i64> = cells.clone().map(|i| i as i64).collect();
        let numbers: Vec<i16> = cells.clone().map(|i| i16::try_from(i % 1000).unwrap()).collect();
        let valid = cells.clone().map(|i| u8::from(!nulls || i % 7 != 0)).collect();
        let values: Vec<f64> = cells.flat_map(|i| [i as f64, 0.5, -1.0]).collect();
        let mut pair = Column::from_values(Datatype::Float64, &values);
        pair.cell = CellCount::Fixed(3);
        vec![
            Column::from_values(Datatype::DatetimeMs, &times),
            Column::from_values(Datatype::Int16, &numbers).with_validity(valid),
            pair,
        ]
    };
    for (cells, nulls) in [(0, false), (1, true), (5, false), (100_000, true), (100_000, false)] {
        let frame = frame(fields(), &[cells]);
        let cells = usize::try_from(cells).unwrap();
        let size = Format::Arrow.encoder(&frame).unwrap().size();
        let at_once = encode(Format::Arrow, &frame, columns(0..cells, nulls)).unwrap();
        assert_eq!(size, Some(at_once.len() as u64), "{cells}");
        let mut encoder = Format::Arrow.encoder(&frame).unwrap();
        let mut bytes = encoder.start();
        for start in (0..cells).step_by(33_333) {
            bytes.extend(encoder.cells(columns(start..cells.min(start + 33_333), nulls)).unwrap());
        }
        bytes.extend(encoder.finish().unwrap());
        assert!(bytes == at_once, "{cells}");
        let reader = arrow_ipc::reader::FileReader::try_new(std::io::Cursor::new(bytes), None).unwrap();
        let (mut at, mut empty) = (0, 0);
        for batch in reader {
            let batch = batch.unwrap();
            let expect = columns(at..at + batch.num_rows(), nulls);
            empty += batch.column(1).null_count();
            for (got, expect) in batch.columns().iter().zip(&expect) {
                let kind = crate::arrow::FieldType::infer(batch.schema().field(0)).unwrap();
                assert_eq!(kind.datatype, Datatype::DatetimeMs);
                let data = got.to_data();
                let values = if data.child_data().is_empty() {
                    &data
                } else {
                    &data.child_data()[0]
                };
                let end = values.len() * expect.datatype.size();
                assert!(values.buffers()[0].as_slice()[..end] == expect.data, "{at}");
            }
            at += batch.num_rows();
        }
        assert_eq!((at, empty), (cells, if nulls { cells.div_ceil(7) } else { 0 }));
    }
}

#[test]
fn text_is_never_smaller_than_its_lower_bound() {
    let (frame, columns) = mixed();
    for format in [Format::Csv, Format::Json, Format::Jsonl] {
        let least = format.encoder(&frame).unwrap().text_bytes_at_least();
        let all = encode(format, &frame, columns.clone()).unwrap().len() as u64;
        assert!(least > 3 && 3 * least < all, "{format:?}: {least} of {all}");
    }
}
