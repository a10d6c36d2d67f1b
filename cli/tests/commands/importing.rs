use std::io::Write as _;

use crate::{Shell, int16s, npy, values};

#[test]
fn an_npy_becomes_a_dense_array_and_is_exported_unchanged() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(4, 6)", &int16s(24)));
    shell.ok("import in.npy a --tile 3,4 --filters byteshuffle,zstd:5 --attrs height --dims y,x");
    let s = shell.schema("a");
    assert_eq!(s["type"], "dense");
    assert_eq!(
        (&s["dimensions"][0]["name"], &s["dimensions"][1]["tile"]),
        (&"y".into(), &4.into())
    );
    assert_eq!(s["attributes"][0]["name"], "height");
    shell.ok("export a out.npy");
    assert_eq!(values(&shell.bytes("out.npy")), int16s(24));
    assert_eq!(shell.names(), ["a", "in.npy", "out.npy"]);
}

#[test]
fn column_major_input_keeps_its_coordinates() {
    let shell = Shell::new();
    let mut file = npy("'|u1'", "(2, 3)", &[1, 2, 3, 4, 5, 6]);
    let at = file.windows(5).position(|w| w == b"False").unwrap();
    file.splice(at..at + 5, *b"True ");
    shell.file("in.npy", file);
    shell.ok("import in.npy a");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "d0,d1,data\n0,0,1\n0,1,3\n0,2,5\n1,0,2\n1,1,4\n1,2,6\n"
    );
    assert_eq!(
        values(&shell.pipe("export a - --format npy --order col", b"")),
        [1, 2, 3, 4, 5, 6]
    );
}

#[test]
fn a_table_becomes_a_dense_array_of_rows() {
    let shell = Shell::new();
    shell.file(
        "in.csv",
        "n,when,word,yes\n1,2020-01-02,a,true\n,2020-01-03,\"\",false\n3,2020-01-04T05:06:07.5,\"b,c\",true\n",
    );
    shell.ok("import in.csv a");
    let s = shell.schema("a");
    let attribute = |i: usize| {
        (
            s["attributes"][i]["type"].as_str().unwrap().to_owned(),
            s["attributes"][i]["nullable"] == true,
        )
    };
    assert_eq!(attribute(0), ("int64".into(), true));
    assert_eq!(attribute(1), ("datetime_ms".into(), false));
    assert_eq!(attribute(2), ("string_utf8".into(), false));
    assert_eq!(attribute(3), ("bool".into(), false));
    let csv = "row,n,when,word,yes\n0,1,2020-01-02T00:00:00.000,a,true\n1,,2020-01-03T00:00:00.000,\"\",false\n2,3,2020-01-04T05:06:07.500,\"b,c\",true\n";
    assert_eq!(shell.ok("export a - --format csv"), csv);
}

#[test]
fn a_table_becomes_a_sparse_array_by_its_dimensions() {
    let shell = Shell::new();
    shell.file("in.csv", "lon,lat,mag\n10.5,50,4.5\n-3.25,40,2\n10.5,50,1\n");
    shell.ok("import in.csv a --sparse --dims lon,lat --domain lon=-180:180");
    let s = shell.schema("a");
    assert_eq!((&s["type"], &s["allows_duplicates"]), (&"sparse".into(), &true.into()));
    assert_eq!(s["dimensions"][0]["domain"], serde_json::json!([-180.0, 180.0]));
    assert_eq!(
        shell.ok("export a - --format csv --order row"),
        "lon,lat,mag\n-3.25,40,2.0\n10.5,50,4.5\n10.5,50,1.0\n"
    );
    assert_eq!(
        shell.ok("export a - --format csv --select lon=0:20 --where 'mag > 2'"),
        "lon,lat,mag\n10.5,50,4.5\n"
    );
    let (code, error) = shell.fails("import in.csv b --sparse --dims lon,lat --unique");
    assert_eq!(code, 1, "{error}");
    assert_eq!(shell.names(), ["a", "in.csv"], "nothing is left of the failed import");
}

#[test]
fn dimensions_of_a_table_make_a_grid() {
    let shell = Shell::new();
    shell.file("in.csv", "y,x,v\n5,1,a\n4,1,b\n4,2,c\n5,2,d\n");
    shell.ok("import in.csv a --dims y,x");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "y,x,v\n4,1,b\n4,2,c\n5,1,a\n5,2,d\n"
    );
    shell.file("hole.csv", "y,x,v\n5,1,a\n4,2,c\n");
    let (_, error) = shell.fails("import hole.csv b --dims y,x");
    assert!(error.contains("fill a box"), "{error}");
}

#[test]
fn extents_of_dates_are_durations() {
    let shell = Shell::new();
    shell.file("in.csv", "x,day,v\n1,2020-01-01,1\n2,2020-12-31,3\n");
    let import = "import in.csv --sparse --dims x,day --domain x=0:99";
    for (i, tile) in ["x=5,day=1d", "5,1d", "5,86400000", "day=24h,x=5"].iter().enumerate() {
        shell.ok(&format!("{import} a{i} --tile {tile}"));
        let s = shell.schema(&format!("a{i}"));
        let tiles = [&s["dimensions"][0]["tile"], &s["dimensions"][1]["tile"]];
        assert_eq!(tiles, [&serde_json::json!(5), &serde_json::json!(86_400_000)], "{tile}");
    }
    shell.ok(&format!("{import} b --tile day=1w"));
    assert_eq!(shell.schema("b")["dimensions"][1]["tile"], 7 * 86_400_000);
    for (tile, why) in [
        (
            "5,2020-01-02",
            "dimension 'day': '2020-01-02' is not a duration; write a number",
        ),
        ("x=5,day=1fortnight", "as in 7d"),
        ("x=5,date=1d", "the dimensions are x, day"),
        ("5", "1 extents for 2 dimensions"),
        ("5.5,1d", "dimension 'x': '5.5': it is not a valid int64"),
    ] {
        let (code, error) = shell.fails(&format!("{import} c --tile {tile}"));
        assert!(
            code == 2 && error.contains("--tile: ") && error.contains(why),
            "{tile}: {error}"
        );
    }
    let (code, error) = shell.fails(&format!("{import} c --domain day=2021"));
    assert!(code == 2 && error.contains("DIM=LO:HI"), "{error}");
    // The error for a domain of dates gives the reason too.
    let (_, error) = shell.fails(&format!("{import} c --domain day=yesterday:2021"));
    assert!(error.contains("write 2020, 2020-01"), "{error}");
    let text = serde_json::json!({"type": "sparse", "attributes": [{"name": "v", "type": "int32"}], "dimensions": [
        {"name": "day", "type": "datetime_day", "domain": ["2020-01-01", "2020-12-31"], "tile": "1w"}]});
    shell.file("schema.json", text.to_string());
    let (_, error) = shell.fails("create c --schema schema.json");
    assert!(error.contains("a whole number of datetime_day coordinates"), "{error}");
}

#[test]
fn tiles_and_domains_are_as_requested_or_refused() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'|u1'", "(400, 600)", &[7; 240_000]));
    for (options, why) in [
        (
            "--tile 0,0",
            "--tile: dimension 'd0': an extent must be 1 or more, not 0",
        ),
        ("--domain z", "'z' is not written as DIM=LO:HI"),
    ] {
        let (code, error) = shell.fails(&format!("import in.npy a {options}"));
        assert!(code == 2 && error.contains(why), "{error}");
    }
    let tiles = |array: &str| [0, 1].map(|i| shell.schema(array)["dimensions"][i]["tile"].clone());
    shell.ok("import in.npy a");
    assert_eq!(tiles("a"), [256, 256]);
    // An Arrow export marks the columns of coordinates.
    shell.ok("export a a.arrow");
    shell.ok("import a.arrow b");
    assert_eq!(tiles("b"), tiles("a"));

    // The rounded ends of a domain may be out of range.
    shell.file("far.csv", "x,v\n1.7e308,1\n-3,2\n");
    shell.ok("import far.csv far --dims x --sparse");
    assert_eq!(shell.ok("export far - --format csv").lines().count(), 3);
}

#[test]
fn one_bad_coordinate_is_an_error_with_its_line() {
    let shell = Shell::new();
    let rows: String = (0..50)
        .map(|i| format!("{i},{i}.5,2020-01-{:02},1\n", i % 28 + 1))
        .collect();
    for (bad, line, column, shown, rest) in [
        (
            "x7,1.5,2020-01-01,1\n",
            52,
            "id",
            "x7",
            "is not a number, but 50 of 51 cells are",
        ),
        ("7,N/A,2020-01-01,1\n", 52, "lon", "N/A", "is not a number"),
        ("7,1.5,01.02.,1\n", 52, "day", "01.02.", "is not a date"),
        ("7,\"1,5\",2020-01-01,1\n", 52, "lon", "1,5", "has a decimal comma"),
    ] {
        shell.file("in.csv", format!("id,lon,day,v\n{rows}{bad}"));
        let (code, error) = shell.fails("import in.csv a --sparse --dims id,lon,day");
        assert_eq!(code, 1, "{error}");
        let start = format!("line {line}, column '{column}': '{shown}' {rest}");
        let remedy = format!("keep the column as text with --types {column}=string_ascii");
        assert!(error.contains(&start) && error.contains(&remedy), "{error}");
    }
    shell.ok("import in.csv a --sparse --dims id,lon,day --types lon=string_ascii");
    assert_eq!(shell.schema("a")["dimensions"][1]["type"], "string_ascii");
    for (rows, line) in [("1,1\n,2\n", 3), ("1.5,1\nnan,2\n", 3), ("2020-01-01,1\nNaT,2\n", 3)] {
        shell.file("in.csv", format!("d,v\n{rows}"));
        let (_, error) = shell.fails("import in.csv b --sparse --dims d");
        assert!(
            error.contains(&format!("line {line}")) && error.contains("remove the line"),
            "{error}"
        );
    }
}

#[test]
fn one_bad_value_is_a_warning_and_the_column_becomes_text() {
    let shell = Shell::new();
    shell.file("in.csv", "v,w\n1,a\n2,b\nN/A,c\n4,d\n");
    let output = shell.run("import in.csv a", b"");
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{warning}");
    assert!(
        warning.contains("warning: line 4, column 'v': 'N/A' is not a number, but 3 of 4 cells are")
            && warning.contains("--types v=string_utf8"),
        "{warning}"
    );
    assert_eq!(shell.schema("a")["attributes"][0]["type"], "string_utf8");
    shell.ok("import in.csv b --types v=string_utf8");
    shell.file("in.csv", "v,w\n1,a\n2,b\n,c\n4,d\n");
    shell.ok("import in.csv c --types v=int16");
    let attributes = shell.schema("c")["attributes"].clone();
    assert_eq!(
        (&attributes[0]["type"], &attributes[0]["nullable"]),
        (&"int16".into(), &true.into())
    );
    shell.file("in.csv", "v,w\n1,a\n70000,b\n");
    let (_, error) = shell.fails("import in.csv d --types v=int16");
    assert!(
        error.contains("column 'v': line 3: '70000': it is out of range for int16"),
        "{error}"
    );
    for (types, why) in [
        ("v", "COLUMN=TYPE"),
        ("x=int8", "no column 'x'; the columns are v, w"),
        ("v=int7", "no datatype"),
    ] {
        let (code, error) = shell.fails(&format!("import in.csv d --types {types}"));
        assert!(code == 2 && error.contains(why), "{error}");
    }
}

#[test]
fn spreadsheet_exports_are_read_correctly() {
    let shell = Shell::new();
    let text = "name;größe\r\nÄpfel;1\r\n\"a;b\";2\r\n";
    let csv = "row,name,größe\n0,Äpfel,1\n1,a;b,2\n";
    let utf16 = |mark: &str, big: bool| -> Vec<u8> {
        let units = format!("{mark}{text}");
        units
            .encode_utf16()
            .flat_map(|u| if big { u.to_be_bytes() } else { u.to_le_bytes() })
            .collect()
    };
    let files = [
        text.as_bytes().to_vec(),
        format!("\u{feff}{text}").into_bytes(),
        text.replace(';', "\t").replace("a\tb", "a;b").into_bytes(),
        utf16("\u{feff}", false),
        utf16("\u{feff}", true),
        utf16("", false),
    ];
    for (i, file) in files.into_iter().enumerate() {
        shell.file("in.csv", &file);
        shell.ok(&format!("import in.csv a{i}"));
        assert_eq!(shell.ok(&format!("export a{i} - --format csv")), csv, "file {i}");
        // Also from a pipe, and into an existing array.
        shell.pipe(&format!("import - b{i} --format csv"), &file);
        shell.ok(&format!("write b{i} in.csv --select 0:2"));
        assert_eq!(shell.ok(&format!("export b{i} - --format csv")), csv, "file {i}");
    }
    shell.file("in.csv", "a;b\n1,5;2.5\n2,25;3\n");
    let (_, error) = shell.fails("import in.csv c");
    assert!(
        error.contains("line 2, column 'a': '1,5' has a decimal comma; read them with --decimal comma"),
        "{error}"
    );
    shell.ok("import in.csv c --types a=string_utf8");
    shell.file("in.csv", "a b\n1 2\n");
    shell.ok("import in.csv d --separator ' '");
    assert_eq!(shell.ok("export d - --format csv"), "row,a,b\n0,1,2\n");
    shell.file("in.npy", npy("'<i2'", "(4, 6)", &int16s(24)));
    let (code, error) = shell.fails("import in.npy e --separator ';'");
    assert!(
        code == 2 && error.contains("only CSV and TSV files have a separator"),
        "{error}"
    );
    shell.file("in.csv", b"caf\xe9,b\n1,2\n");
    let (_, error) = shell.fails("import in.csv f");
    assert!(
        error.contains("the header is not UTF-8") && error.contains("iconv"),
        "{error}"
    );
}

#[test]
fn a_column_named_row_renames_the_dimension() {
    let shell = Shell::new();
    shell.file("in.csv", "n\n7\n8\n");
    shell.ok("import in.csv a");
    shell.ok("export a out.csv");
    let again = shell.run("import out.csv b", b"");
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let told = String::from_utf8(again.stderr).unwrap();
    assert!(told.contains("'row_1'") && told.contains("--dims"), "{told}");
    assert_eq!(shell.ok("export b - --format csv"), "row_1,row,n\n0,0,7\n1,1,8\n");
}

#[test]
fn carriage_returns_and_declared_separators_are_read() {
    let shell = Shell::new();
    let expect = "row,a,b\n0,1,2\n1,3,4\n";
    for (i, text) in [
        "a,b\r1,2\r3,4\r",
        "a,b\r1,2\r3,4",
        "sep=;\r\na;b\r\n1;2\r\n3;4\r\n",
        "SEP=|\ra|b\r1|2\r3|4",
        "\"sep=,\"\na,b\n1,2\n3,4\n",
    ]
    .iter()
    .enumerate()
    {
        shell.file("in.csv", text);
        shell.ok(&format!("import in.csv a{i}"));
        assert_eq!(shell.ok(&format!("export a{i} - --format csv")), expect, "{text:?}");
    }
}

#[test]
fn coordinates_at_both_ends_of_a_type_are_an_error_with_advice() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n\n-9223372036854775808,1\n9223372036854775807,2\n");
    let words = ["'d'", "least one out", "--types d=string_ascii"];
    crate::failing::check(&shell, "import in.csv a --sparse --dims d", 1, &words);
    shell.ok("import in.csv a --sparse --dims d --types d=string_ascii");
}

#[test]
fn lists_accept_quoted_names_with_commas() {
    let shell = Shell::new();
    shell.file("in.csv", "k,\"c,d\",e\n0,1,2\n");
    shell.ok("import in.csv a --sparse --dims k --attrs '\"c,d\",e' --types '\"c,d\"=int8'");
    assert_eq!(
        shell.ok("export a - --format csv --attrs '\"c,d\"'"),
        "k,\"c,d\"\n0,1\n"
    );
    crate::failing::check(&shell, "export a - --format csv --attrs ''", 2, &["--attrs", "empty"]);
    crate::failing::check(
        &shell,
        "evolve a --add-attr ' :int8'",
        2,
        &["--add-attr", "the name before"],
    );
}

#[test]
fn positive_and_negative_zero_are_different_coordinates() {
    let shell = Shell::new();
    shell.file("in.csv", "d,n\n0.0,1\n-0.0,2\n");
    shell.ok("import in.csv a --sparse --dims d --unique");
    assert_eq!(shell.ok("export a - --format csv"), "d,n\n0.0,1\n-0.0,2\n");
}

#[test]
fn columns_that_become_text_or_utc_are_named_with_advice() {
    let shell = Shell::new();
    let import = |name: &str, cells: &str, types: &str| {
        shell.file("in.csv", format!("v\n{cells}\n"));
        let output = shell.run(&format!("import in.csv {name} {types}"), b"");
        let warning = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && warning.lines().count() <= 1, "{warning}");
        warning
    };
    for (name, cells, told) in [
        (
            "a",
            "5\n2020-01-01",
            "line 3, column 'v': '2020-01-01' is not a number, but 1 of 2 cells are",
        ),
        (
            "b",
            "-1\n18446744073709551615",
            "line 3, column 'v': no integer type holds '18446744073709551615'",
        ),
        (
            "c",
            "1\n99999999999999999999",
            "line 3, column 'v': no integer type holds '99999999999999999999'",
        ),
        (
            "d",
            "2020-01-01T00:00Z\n2020-01-01T00:00 CET",
            "line 3, column 'v': '2020-01-01T00:00 CET' has text after its time",
        ),
        (
            "e",
            "2020-01-01T00:00Z\n2020-01-01T00:00+02:00",
            "line 3, column 'v': '2020-01-01T00:00+02:00' is imported",
        ),
        (
            "f",
            "1\n07",
            "line 3, column 'v': '07' is imported as a number, without its leading zeros",
        ),
        (
            "g",
            "2020-01-01\n2020-01-02\nsoon",
            "line 4, column 'v': 'soon' is not a date, but 2 of 3 cells are",
        ),
        (
            "h",
            "0.5\n9007199254740993",
            "line 3, column 'v': float64, the type of the other numbers, would round '9007199254740993'",
        ),
        (
            "i",
            "2020-01-01T00:00+02:00\n2020-01-01T00:00",
            "without its offset, and times without an offset count as UTC",
        ),
    ] {
        let warning = import(name, cells, "");
        assert!(
            warning.contains(told) && warning.contains("--types v=string_"),
            "{warning}"
        );
        assert_eq!(import(&format!("{name}_text"), cells, "--types v=string_utf8"), "");
    }
    assert_eq!(import("utc", "2020-01-01T00:00+02:00", "--types v=datetime_ms"), "");
    assert_eq!(import("rounded", "-1\n18446744073709551615", "--types v=float64"), "");
}

#[test]
fn arrays_with_fewer_axes_are_named_with_where_they_are() {
    let shell = Shell::new();
    shell.file("t.csv", "v\n1\n2\n3\n");
    shell.ok("import t.csv a");
    shell.ok("export a list.npy --attrs v");
    shell.file("g.csv", "x,y,v\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n");
    shell.ok("import g.csv b --dims x,y");
    shell.ok("export b grid.npy --attrs v");
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in ["list", "grid"] {
        let stored = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        zip.start_file(format!("{name}.npy"), stored).unwrap();
        zip.write_all(&shell.bytes(&format!("{name}.npy"))).unwrap();
    }
    shell.file("in.npz", zip.finish().unwrap().into_inner());
    let output = shell.run("import in.npz c", b"");
    let note = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && note.contains(": list; read them with `hyperslab meta get"),
        "{note}"
    );
    assert_eq!(shell.ok("meta get c list"), "1,2,3\n");
}
