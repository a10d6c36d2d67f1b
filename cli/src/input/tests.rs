use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use hyperslab::{CellCount, Datatype, ScalarRange};

use super::*;

#[track_caller]
fn texts(csv: &str) -> Vec<(String, Vec<Option<String>>)> {
    let table = csv::read(csv.as_bytes(), None).unwrap();
    let cell = |c: &Column, i: usize| (!c.is_null(i)).then(|| String::from_utf8(c.cell(i).to_vec()).unwrap());
    let columns = table.columns.into_iter().map(|c| match c.values {
        Values::Text(t, ..) => (c.name, (0..t.len()).map(|i| cell(&t, i)).collect()),
        _ => panic!("text is expected"),
    });
    columns.collect()
}

fn some(list: &[&str]) -> Vec<Option<String>> {
    list.iter().map(|s| Some((*s).to_owned())).collect()
}

#[test]
fn csv_with_quotes_and_empty_cells() {
    let columns = texts("\u{feff}a,b\r\n1,\"x,\"\"y\"\"\nz\"\r\n,\"\"\n");
    assert_eq!(columns[0], ("a".into(), vec![Some("1".into()), None]));
    assert_eq!(columns[1], ("b".into(), some(&["x,\"y\"\nz", ""])));
}

#[test]
fn csv_without_a_last_newline_and_with_empty_lines() {
    assert_eq!(texts("a,b\n1,2\n\n3,4")[1].1, some(&["2", "4"]));
    assert_eq!(texts("a\n1\n\n3")[0].1, vec![Some("1".into()), None, Some("3".into())]);
}

#[test]
fn errors_about_csv_name_the_line() {
    let error = |csv: &str| csv::read(csv.as_bytes(), None).unwrap_err().to_string();
    assert_eq!(error("a,b\n1,2,3\n"), "line 2 has 3 values, but the header has 2");
    assert_eq!(error("a,b\n1,2\n1\n"), "line 3 has 1 values, but the header has 2");
    assert_eq!(error("a\n\"x\n"), "the quote on line 2 is never closed");
    assert!(error("").contains("header"));
}

#[test]
fn the_header_decides_the_separator() {
    for (csv, separator) in [
        ("a,b\n1,2\n", None),
        ("a;b\n1;2\n", None),
        ("a\tb\n1\t2\n", None),
        ("\"x,y\"|b\n1|2\n", None),
        ("a,b;c\n1;2\n", Some(b';')),
        ("a b\r\n1 2\r\n", Some(b' ')),
    ] {
        let table = csv::read(csv.as_bytes(), separator).unwrap();
        assert_eq!((table.columns.len(), table.rows()), (2, 1), "{csv}");
    }
    let error = csv::read(b"a,b;c\n1;2\n".as_slice(), None).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 2 has 1 values, but the header has 2; if ';' separates the values, give --separator ';'"
    );
    assert_eq!(separator(";"), Ok(b';'));
    assert_eq!((separator("tab"), separator("\\t")), (Ok(b'\t'), Ok(b'\t')));
    assert!(separator("ab").is_err() && separator("\"").is_err() && separator("é").is_err());
}

#[test]
fn parts_of_a_table_know_their_lines() {
    let text = "a,b\n1,2\n\n3,\"4\n4\"\n5,6\n7,8\n".as_bytes();
    let mut sheet = csv::sheet(text, None).unwrap();
    let mut found = Vec::new();
    while let Some(part) = sheet
        .table(|name| name == "b", BatchLimit::Bytes { bytes: 1, step: 2 })
        .unwrap()
    {
        assert_eq!(part.names(), "b");
        let lines = part.lines().unwrap();
        found.push((0..part.rows()).map(|row| lines.of(row).unwrap()).collect::<Vec<_>>());
    }
    assert_eq!(found, [[2, 4], [6, 7]]);
}

#[test]
fn endless_rows_are_refused() {
    let many = "x,".repeat(1 << 14);
    let error = csv::read(many.as_bytes(), None).unwrap_err().to_string();
    assert!(error.contains("line 1 has more than 16384 values"), "{error}");
    let open = [b"a\n\"".to_vec(), vec![b'x'; 65 << 20]].concat();
    let error = csv::read(open.as_slice(), None).unwrap_err().to_string();
    assert!(error.contains("a quote on it is never closed"), "{error}");
}

/// The guess for a column of these cells.
fn guessed(values: &str) -> Guess {
    let csv = format!("a\n{values}\n");
    let mut sheet = csv::sheet(csv.as_bytes(), Some(b'~')).unwrap();
    let mut guess = Guess::new(None, Customs::default());
    while let Some(row) = sheet.row().unwrap() {
        guess.add(row.line, row.values().next().unwrap(), false).unwrap();
    }
    guess
}

#[track_caller]
fn inferred(values: &str, expect: hyperslab::Datatype) {
    assert_eq!(guessed(values).datatype(), expect, "{values}");
}

#[test]
fn a_cell_that_differs_from_most_others_is_named() {
    let odd = |values: &str| guessed(values).outlier().map(|odd| (odd.line, odd.text, odd.kind));
    let of = |line: u64, text: &str, kind: Kind| Some((line, text.to_owned(), kind));
    assert_eq!(odd("1\n2\nx\n4\ny"), of(4, "x", Kind::Numbers));
    assert_eq!(odd("2020-01-01\n2020-01-02\nsoon"), of(4, "soon", Kind::Dates));
    assert_eq!(odd("1,5\n2\n3"), of(2, "1,5", Kind::DecimalCommas));
    assert_eq!(odd("1.234,5\n-2,25e3\nx"), of(2, "1.234,5", Kind::DecimalCommas));
    assert_eq!(odd("x\n1,5\n2,5"), of(2, "x", Kind::Numbers));
    assert_eq!(odd("0.5\n9007199254740993"), of(3, "9007199254740993", Kind::Floats));
    assert_eq!(odd("nan\n9007199254740993"), of(3, "9007199254740993", Kind::Floats));
    assert_eq!(odd("0.5\n9007199254740992"), None, "a float64 holds it");
    assert_eq!(odd("1\n2\nnull"), of(4, "null", Kind::Numbers));
    assert_eq!(odd("5\n2020-01-01"), of(3, "2020-01-01", Kind::Numbers));
    assert_eq!(
        odd("2020-01-01\n5\n6\n2020-01-02\n2020-01-03\nx"),
        of(3, "5", Kind::Dates)
    );
    assert_eq!(
        odd("99999999999999999999\n1"),
        of(2, "99999999999999999999", Kind::Whole)
    );
    assert_eq!(
        odd("0\n-1\n18446744073709551615"),
        of(4, "18446744073709551615", Kind::Whole)
    );
    assert_eq!(
        odd("2020-01-01T00:00\n2020-01-01T00:00 CET"),
        of(3, "2020-01-01T00:00 CET", Kind::Zones)
    );
    let offset = |values: &str| guessed(values).offset().map(|(odd, unnamed)| (odd.line, unnamed));
    assert_eq!(offset("2020-01-01T00:00Z\n2020-01-01T00:00+02:00"), Some((3, false)));
    assert_eq!(offset("2020-01-01T00:00-0330\n2020-01-01"), Some((2, true)));
    assert_eq!(offset("2020-01-01T00:00Z\n2020-01-01T00:00+00:00\n2020-01-01"), None);
    let zeros = |values: &str| guessed(values).zero_led().map(|odd| odd.line);
    assert_eq!(
        (zeros("0\n7\n-007"), zeros("0\n10"), zeros("01\nx")),
        (Some(4), None, None)
    );
    for none in ["1\n2\n3.5", "a\nb\n1", "a,b\nc,d", "true\nfalse", "1,2,3\n4,5,6"] {
        assert_eq!(odd(none), None, "{none}");
    }
}

#[test]
fn the_range_of_coordinates_or_the_line_without_one_is_found() {
    let ends = |values: &str| guessed(values).ends().map(|ends| ends.unwrap());
    assert_eq!(ends("3\n-7\n5").unwrap(), ((-7_i64).into(), 5_i64.into()));
    assert_eq!(ends("3\n-7.5\n5").unwrap(), ((-7.5).into(), 5.0.into()));
    assert_eq!(
        ends("1970-01-02\n1970-01-01").unwrap(),
        (0_i64.into(), 86_400_000_i64.into())
    );
    for (values, line) in [
        ("1\n\n2", "line 3"),
        ("1.5\nnan", "line 3"),
        ("inf\n1", "line 2"),
        ("2020-01-01\nNaT", "line 3"),
    ] {
        let error = guessed(values).ends().unwrap_err().to_string();
        assert!(error.contains(line), "{values}: {error}");
    }
}

#[test]
fn text_has_the_narrowest_type_that_fits() {
    use hyperslab::Datatype::*;
    inferred("1\n-2", Int64);
    inferred("1\n2.5\nnan", Float64);
    inferred("true\nFalse", Bool);
    inferred("2018-01-31T01:49:59.650\n2018-02-01", DatetimeMs);
    inferred("2018-01-31T01:49:59.6501234", DatetimeNs);
    inferred("1\nx", StringUtf8);
    inferred("99999999999999999999", StringUtf8);
    inferred("18446744073709551615\n9223372036854775808\n0", Uint64);
    inferred("18446744073709551616\n-36893488147419103232\n+007", Float64);
    inferred("9223372036854775809\n-5", StringUtf8);
    inferred("9223372036854775809\n-5.5", StringUtf8);
    inferred("9223372036854775808\n-5.5", Float64);
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    bytes.extend(data);
    bytes
}

fn read_npy(bytes: &[u8]) -> anyhow::Result<Table> {
    npy::read(Box::new(bytes))
}

#[test]
fn npy_headers_in_all_their_forms() {
    let table = read_npy(&npy(
        "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n",
        &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6],
    ))
    .unwrap();
    assert_eq!(
        table.shape,
        Some(Shape {
            lengths: vec![2, 3],
            layout: Layout::ColMajor
        })
    );
    let Values::Plain(column) = &table.columns[0].values else {
        panic!("numbers are expected")
    };
    assert_eq!(*column.values::<i16>().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn npy_records_become_columns_and_validity() {
    let header = "{'descr': [('a', '<i2'), ('a_valid', '|b1'), ('', '|V1'), ('b', '|S2', (2,))], 'fortran_order': False, 'shape': (2,), }";
    let table = read_npy(&npy(header, b"\x01\0\x01.wxyz\x02\0\x00.WXYZ")).unwrap();
    assert_eq!(table.names(), "a, b");
    let [
        Named {
            values: Values::Plain(a),
            ..
        },
        Named {
            values: Values::Plain(b),
            ..
        },
    ] = table.columns.as_slice()
    else {
        panic!("two columns")
    };
    assert_eq!(
        (a.data.as_slice(), a.validity.as_deref()),
        ([1, 0, 2, 0].as_slice(), Some([1, 0].as_slice()))
    );
    assert_eq!(
        (b.cell, b.data.as_slice()),
        (hyperslab::CellCount::Fixed(4), b"wxyzWXYZ".as_slice())
    );
}

#[test]
fn npy_that_is_damaged_is_an_error() {
    for (header, data, expect) in [
        (
            "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }",
            &[0; 4][..],
            "ends after 4 of 12 bytes",
        ),
        (
            "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
            &[],
            "no TileDB counterpart",
        ),
        ("{'descr': '<i4', 'shape': (3,), }", &[], "no 'fortran_order'"),
        (
            "{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }",
            &[],
            "too large",
        ),
        ("((((((((((((((((((((", &[], "cannot parse"),
    ] {
        let error = format!("{:#}", read_npy(&npy(header, data)).unwrap_err());
        assert!(error.contains(expect), "{error}");
    }
    assert!(read_npy(b"PK").is_err());
}

#[test]
fn arrow_files_and_streams_may_be_compressed() {
    let values: Vec<i64> = (0..1000).map(|i| i % 7).collect();
    let array: ArrayRef = std::sync::Arc::new(arrow_array::Int64Array::from(values.clone()));
    let batch = arrow_array::RecordBatch::try_from_iter([("v", array)]).unwrap();
    for codec in [CompressionType::LZ4_FRAME, CompressionType::ZSTD] {
        let options = IpcWriteOptions::default().try_with_compression(Some(codec)).unwrap();
        let (mut file, mut stream) = (Vec::new(), Vec::new());
        let schema = batch.schema();
        let mut writer = FileWriter::try_new_with_options(&mut file, &schema, options.clone()).unwrap();
        writer.write(&batch).and_then(|()| writer.finish()).unwrap();
        drop(writer);
        let mut writer = StreamWriter::try_new_with_options(&mut stream, &schema, options).unwrap();
        writer.write(&batch).and_then(|()| writer.finish()).unwrap();
        drop(writer);
        for bytes in [file, stream] {
            assert!(bytes.len() < 4000, "{} bytes with {codec:?}", bytes.len());
            let table = read_arrow(bytes).unwrap();
            let field = FieldType::infer(schema.field(0)).unwrap();
            let column = column(table.columns.into_iter().next().unwrap(), field).unwrap();
            assert_eq!(column, Column::from_values(hyperslab::Datatype::Int64, &values));
        }
    }
}

#[test]
fn ranges_of_dates_are_split_in_the_middle() {
    let seconds = range(
        "1970-01-01T00:00:00:1970-01-01T00:00:02",
        Datatype::DatetimeSec,
        CellCount::ONE,
    );
    assert_eq!(seconds.unwrap(), ScalarRange::new(0_i64, 2_i64));
    let small = range("-5:7", Datatype::Int8, CellCount::ONE);
    assert_eq!(small.unwrap(), ScalarRange::new(-5_i8, 7_i8));
}

#[test]
fn an_npz_file_that_decompresses_to_far_more_is_refused() {
    let member = |values: usize| {
        let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({values},), }}");
        npy(&header, &vec![0; values])
    };
    let mut left = 1000;
    let one = member(300);
    npy::read_within(Box::new(one.as_slice()), &mut left).unwrap();
    // Headers count as well.
    assert_eq!(left, 1000 - (one.len() as u64 - 10));
    let error = npy::read_within(Box::new(member(5000).as_slice()), &mut left).unwrap_err();
    assert!(error.to_string().contains("one by one"), "{error}");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let deflated = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    zip.start_file("bomb.npy", deflated).unwrap();
    let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2000000000,), }";
    std::io::Write::write_all(&mut zip, &npy(header, &[])).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    let error = format!("{:#}", npz::read(Cursor::new(&bytes), bytes.len() as u64).unwrap_err());
    assert!(
        error.contains("array 'bomb'") && error.contains("decompresses"),
        "{error}"
    );
}

#[test]
fn npy_fields_of_too_many_values_are_refused() {
    let huge = "{'descr': [('a', '<i2', (4294967296, 4294967296))], 'fortran_order': False, 'shape': (1,), }";
    let error = format!("{:#}", read_npy(&npy(huge, &[])).unwrap_err());
    assert!(error.contains("field 'a' have no values, or too many"), "{error}");
}
