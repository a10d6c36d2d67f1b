//! Messages about values that a file and an array cannot both hold, and about arguments that do not fit.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, TimestampMillisecondArray};
use arrow_ipc::writer::StreamWriter;

use crate::Shell;
use crate::failing::check;

/// The warnings of a command that succeeds.
#[track_caller]
fn warned(shell: &Shell, line: &str) -> String {
    let output = shell.run(line, b"");
    let warning = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "hyperslab {line}: {warning}");
    warning
}

#[track_caller]
fn attribute_type(shell: &Shell, array: &str) -> String {
    shell.schema(array)["attributes"][0]["type"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn durations_and_fine_dates_that_become_text_are_named_with_advice() {
    let shell = Shell::new();
    for (array, cells, told, advice) in [
        (
            "a",
            "5\nNaT",
            "line 3, column 'd': 'NaT' is not a number, but 1 of 2 cells are",
            "--types d=time_ms",
        ),
        (
            "b",
            "NaT\nNaT\n5",
            "line 2, column 'd': 'NaT' is not a number",
            "--types d=time_ms",
        ),
        (
            "c",
            "2020-01-01\n2020-01-01T00:00:00.1234567891",
            "line 3, column 'd': no datatype holds '2020-01-01T00:00:00.1234567891'",
            "shorten the fractions of seconds",
        ),
        (
            "d",
            "2020-01-01T00:00:00.123456789\nNaT\n3000-01-01",
            "line 4, column 'd': no datatype holds '3000-01-01' together with the other dates",
            "--types d=string_utf8",
        ),
    ] {
        shell.file("in.csv", format!("d\n{cells}\n"));
        let warning = warned(&shell, &format!("import in.csv {array}"));
        assert!(warning.contains(told) && warning.contains(advice), "{warning}");
        assert_eq!(attribute_type(&shell, array), "string_utf8");
    }
    shell.file("in.csv", "d\n5\nNaT\n");
    shell.ok("import in.csv time --types d=time_ms");
    assert_eq!(attribute_type(&shell, "time"), "time_ms");
    for (array, cells, datatype) in [
        ("ms", "2020-01-01\nNaT\nNaT", "datetime_ms"),
        ("us", "2020-01-01T00:00:00.1234560\n3000-01-01", "datetime_us"),
        ("ns", "2020-01-01T00:00:00.1234560\n2000-01-01", "datetime_ns"),
    ] {
        shell.file("in.csv", format!("d\n{cells}\n"));
        shell.ok(&format!("import in.csv {array}"));
        assert_eq!(attribute_type(&shell, array), datatype);
    }
}

#[test]
fn digits_that_float32_does_not_keep_are_a_warning() {
    let shell = Shell::new();
    for (array, cell) in [("a", "16777217"), ("b", "123456.789")] {
        shell.file("in.csv", format!("f\n0.1\n{cell}\n16777219\n"));
        let warning = warned(&shell, &format!("import in.csv {array} --types f=float32"));
        let told = format!("line 3, column 'f': float32 does not keep all digits of '{cell}'");
        assert!(
            warning.contains(&told) && warning.contains("--types f=float64"),
            "{warning}"
        );
        assert_eq!(warning.lines().count(), 1, "{warning}");
    }
    shell.file("in.csv", "f\n0.1\n-2.5e3\n16777216\nnan\ninf\n");
    shell.ok("import in.csv c --types f=float32");
}

#[test]
fn columns_without_a_name_are_named() {
    let shell = Shell::new();
    shell.file("in.csv", "a,column_3,\n1,2,x\n3,4,\n");
    let warning = warned(&shell, "import in.csv a");
    assert!(
        warning.contains("the header has no name for a column, which is imported as 'column_3_'")
            && warning.contains("--attrs"),
        "{warning}"
    );
    let csv = "row,a,column_3,column_3_\n0,1,2,x\n1,3,4,\n";
    assert_eq!(shell.ok("export a - --format csv"), csv);
    assert_eq!(warned(&shell, "import in.csv b --attrs column_3_ -q"), warning);
    shell.file("in.csv", "\n1\n2\n");
    shell.ok("import in.csv c");
    assert_eq!(shell.schema("c")["attributes"][0]["name"], "data");
}

#[test]
fn text_that_is_not_utf8_is_a_warning_of_csv_exports() {
    let shell = Shell::new();
    shell.file("in.csv", b"s,t\n\xff\xfeab,x\nok,y\n");
    shell.ok("import in.csv a --types s=string_ascii");
    let warning = warned(&shell, "export a out.csv");
    assert!(
        warning.contains("'s' has cells that are not valid text") && warning.contains("export to .arrow"),
        "{warning}"
    );
    assert_eq!(warning.lines().count(), 1, "{warning}");
    // The advice works.
    shell.ok("export a out.arrow");
    shell.ok("import out.arrow b --dims row");
    shell.ok("export b again.arrow");
    assert!(shell.bytes("again.arrow") == shell.bytes("out.arrow"));
    shell.file("in.csv", "s\nä\n");
    shell.ok("import in.csv c");
    shell.ok("export c - --format csv");
}

#[test]
fn arguments_that_do_not_fit_a_file_are_explained() {
    let shell = Shell::new();
    shell.file("thousands.csv", "p;v\n1,234;5\n1,000,000.5;7\n");
    shell.file("decimals.csv", "p|v\n1,234|5\n1,5|7\n");
    shell.file("quoted.csv", "n,\"a,b\"\n1,2\n");
    shell.file("gap.csv", "x,y,v\n0,0,1\n0,1,2\n1,0,3\n");
    shell.file("float.csv", "x,v\n1.5,1\n2.5,2\n");
    shell.file("four.csv", "v\n1\n2\n3\n4\n");
    shell.file("three.csv", "v\n1\n2\n3\n");
    for (line, code, words) in [
        (
            "import nothere.csv a",
            1,
            &["nothere.csv", "no such file", "check the path"][..],
        ),
        (
            "import thousands.csv a",
            1,
            &[
                "line 2, column 'p': '1,234' has a comma",
                "write 1,234 as 1234",
                "--decimal comma",
            ],
        ),
        (
            "import decimals.csv a",
            1,
            &["line 3, column 'p': '1,5' has a decimal comma", "--decimal comma"],
        ),
        (
            "import quoted.csv a --types a,b=int64",
            2,
            &["'a' is not written as COLUMN=TYPE", "'\"a,b\"=int64'"],
        ),
        (
            "import gap.csv a --dims x,y",
            1,
            &["the 3 cells do not fill a box along x, y", "--sparse"],
        ),
        (
            "import four.csv a --filters zstd:99",
            2,
            &["--filters", "does not accept '99'", "up to 22"],
        ),
        (
            "import four.csv a --filters gzip:10",
            2,
            &["--filters", "does not accept '10'", "up to 9"],
        ),
        (
            "import float.csv a --attrs x --filters double_delta",
            1,
            &["works on integers", "double-delta:int64"],
        ),
        ("import float.csv a --dims x", 1, &["'x' are float64", "add --sparse"]),
    ] {
        check(&shell, line, code, words);
    }
    shell.ok("import float.csv filtered --attrs x --filters double_delta:int64");
    shell.file("grid.csv", "x,y,v\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n");
    shell.ok("import grid.csv grid --dims x,y");
    check(
        &shell,
        "write grid three.csv",
        1,
        &["3 cells without coordinates", "[2, 2]", "--select"],
    );
    shell.ok("write grid four.csv");
    assert_eq!(
        shell.ok("export grid - --format csv"),
        "x,y,v\n0,0,1\n0,1,2\n1,0,3\n1,1,4\n"
    );
    shell.ok("import float.csv points --sparse --dims x");
    shell.file("empty.csv", "x,v\n1.5,1\n,2\n");
    check(
        &shell,
        "write points empty.csv",
        1,
        &["line 3, 'x': there is no coordinate", "fill it in"],
    );
    shell.file("large.csv", "x,v\n1e308,1\n-1e308,2\n");
    shell.ok("import large.csv wide --sparse --dims x");
    shell.file("larger.csv", "x,v\n1.7e308,1\n");
    let (_, error) = shell.fails("write wide larger.csv");
    assert!(error.contains("1.7e308") && !error.contains("00000"), "{error}");
}

#[test]
fn an_attribute_needs_room_for_the_indices_of_its_enumeration() {
    let shell = Shell::new();
    let schema = |datatype: &str, values: usize| {
        let values: Vec<String> = (0..values).map(|i| i.to_string()).collect();
        format!(
            "{{\"type\": \"dense\", \"dimensions\": [{{\"name\": \"i\", \"type\": \"int32\", \"domain\": [0, 2]}}],
            \"attributes\": [{{\"name\": \"e\", \"type\": \"{datatype}\", \"enumeration\": \"n\"}}],
            \"enumerations\": [{{\"name\": \"n\", \"type\": \"int32\", \"values\": [{}]}}]}}",
            values.join(", ")
        )
    };
    shell.file("large.json", schema("int8", 129));
    let words = ["attribute 'e' is int8", "129 values of enumeration 'n'", "int32"];
    check(&shell, "create a --schema large.json", 1, &words);
    shell.pipe("create a --schema -", schema("int8", 128).as_bytes());
    shell.pipe("create b --schema -", schema("uint8", 256).as_bytes());
}

#[test]
fn time_zones_of_arrow_files_are_a_warning() {
    let shell = Shell::new();
    for (array, zone, is_lost) in [("a", "UTC", false), ("b", "Europe/Berlin", true)] {
        let times: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![0, 1]).with_timezone(zone));
        let batch = RecordBatch::try_from_iter([("t", times)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        writer.write(&batch).unwrap();
        shell.file("in.arrow", writer.into_inner().unwrap());
        let warning = warned(&shell, &format!("import in.arrow {array}"));
        assert_eq!(
            warning.contains("'t' has the time zone Europe/Berlin"),
            is_lost,
            "{warning}"
        );
        assert_eq!(warning.is_empty(), !is_lost, "{warning}");
    }
}
