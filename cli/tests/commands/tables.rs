//! Tables as people have them: compressed, as JSON, with decimal commas and local dates, as GeoJSON points.

use std::io::Write as _;

use crate::Shell;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

/// Runs a command that must succeed, and returns its notes and warnings.
#[track_caller]
fn notes(shell: &Shell, line: &str) -> String {
    let output = shell.run(line, b"");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{line}: {stderr}");
    stderr
}

#[track_caller]
fn datatype(shell: &Shell, array: &str, attribute: &str) -> String {
    let schema = shell.schema(array);
    let attributes = schema["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|a| a["name"] == attribute).unwrap();
    found["type"].as_str().unwrap().to_owned()
}

#[test]
fn compressed_text_is_read_from_files_and_pipes() {
    let shell = Shell::new();
    let text = b"a,b\n1,x\n2,y\n".as_slice();
    shell.file("t.csv", text);
    shell.file("t.csv.gz", gzip(text));
    shell.file(
        "t.tsv.zst",
        zstd::encode_all(b"a\tb\n1\tx\n2\ty\n".as_slice(), 3).unwrap(),
    );
    // The content counts, not the name.
    shell.file("named.csv", gzip(text));
    shell.ok("import t.csv plain");
    let expected = shell.ok("export plain - --format csv");
    for (number, name) in ["t.csv.gz", "t.tsv.zst", "named.csv"].iter().enumerate() {
        shell.ok(&format!("import {name} a{number}"));
        assert_eq!(
            shell.ok(&format!("export a{number} - --format csv")),
            expected,
            "{name}"
        );
    }
    shell.pipe("import - piped --format csv", &gzip(text));
    assert_eq!(shell.ok("export piped - --format csv"), expected);
    shell.ok("import t.csv sparse --sparse --dims a");
    shell.ok("write sparse t.csv.gz");
    assert_eq!(shell.ok("export sparse - --format csv").lines().count(), 5);
    shell.file("cut.csv.gz", &gzip(&text.repeat(1000))[..40]);
    let (code, error) = shell.fails("import cut.csv.gz cut");
    assert_eq!(code, 1);
    assert!(
        error.contains("compressed with gzip, and damaged or cut short"),
        "{error}"
    );
}

#[test]
fn json_lines_are_rows() {
    let shell = Shell::new();
    let lines =
        "{\"id\":\"007\",\"x\":1.5,\"n\":1}\n{\"id\":\"a\",\"x\":null,\"day\":\"2020-01-31\",\"tags\":[1,{\"k\":2}]}\n";
    shell.file("t.jsonl", lines);
    shell.file("t.json", "[\n {\"id\":\"007\",\"x\":1.5,\"n\":1},\n {\"id\":\"a\",\"x\":null,\"day\":\"2020-01-31\",\"tags\":[1,{\"k\":2}]}\n]\n");
    for name in ["t.jsonl", "t.json"] {
        let array = name.replace('.', "_");
        let said = notes(&shell, &format!("import {name} {array}"));
        assert!(
            said.contains("lists and objects are stored as JSON text, in tags"),
            "{said}"
        );
        let types = ["id", "x", "n", "day", "tags"].map(|a| datatype(&shell, &array, a));
        assert_eq!(
            types,
            ["string_utf8", "float64", "int64", "datetime_ms", "string_utf8"],
            "{name}"
        );
        let out = shell.ok(&format!("export {array} - --format jsonl"));
        let rows: Vec<serde_json::Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        let row = serde_json::json!({"row": 0, "id": "007", "x": 1.5, "n": 1, "day": null, "tags": null});
        assert_eq!(rows[0], row);
        let row = serde_json::json!({"row": 1, "id": "a", "x": null, "n": null, "day": "2020-01-31T00:00:00.000",
            "tags": "[1,{\"k\":2}]"});
        assert_eq!(rows[1], row);
    }
    let (_, error) = {
        shell.file("bad.jsonl", "{\"a\":1}\n{\"a\":}\n");
        shell.fails("import bad.jsonl bad")
    };
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn exported_json_is_written_back() {
    let shell = Shell::new();
    shell.file("t.csv", "k,x,name\n1,nan,\"\"\n2,-inf,7\n3,0.1,\n");
    shell.ok("import t.csv a --sparse --dims k --types name=string_utf8");
    let out = shell.ok("export a - --format jsonl");
    assert!(out.contains("\"NaN\"") && out.contains("\"-Infinity\""), "{out}");
    shell.file("t.jsonl", &out);
    shell.ok("import t.jsonl b --sparse --dims k");
    assert_eq!(shell.ok("export b - --format jsonl"), out);
    let schema = shell.pipe("schema a", b"");
    shell.pipe("create c --schema -", &schema);
    shell.ok("write c t.jsonl");
    assert_eq!(shell.ok("export c - --format jsonl"), out);
}

#[test]
fn decimal_commas_are_found_or_said() {
    let shell = Shell::new();
    shell.file("t.csv", "name;x;n\nä;1,5;1\nb;1.234,25;2\n");
    let said = notes(&shell, "import t.csv a");
    assert!(said.contains("decimal commas"), "{said}");
    assert_eq!(datatype(&shell, "a", "x"), "float64");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "row,name,x,n\n0,ä,1.5,1\n1,b,1234.25,2\n"
    );
    // Fractions with points too: nothing is certain.
    shell.file("mixed.csv", "x;y\n1,5;2.5\n");
    let (_, error) = shell.fails("import mixed.csv m");
    assert!(error.contains("--decimal comma"), "{error}");
    // Commas may separate thousands.
    shell.file("thousands.csv", "x\ty\n1,234\t1\n2,345\t2\n");
    let (_, error) = shell.fails("import thousands.csv m");
    assert!(error.contains("--decimal comma"), "{error}");
    shell.ok("import thousands.csv m --decimal ,");
    assert_eq!(shell.ok("export m - --format csv"), "row,x,y\n0,1.234,1\n1,2.345,2\n");
    shell.file("quoted.csv", "x,y\n\"1,5\",1\n");
    shell.ok("import quoted.csv q --decimal ,");
    assert_eq!(shell.ok("export q - --format csv"), "row,x,y\n0,1.5,1\n");
    // A write finds them too.
    shell.file("first.csv", "k,x\n1,0.5\n");
    shell.ok("import first.csv w --sparse --dims k --domain k=0:9");
    shell.file("next.csv", "k;x\n2;1,5\n");
    shell.ok("write w next.csv");
    assert_eq!(shell.ok("export w - --format csv"), "k,x\n1,0.5\n2,1.5\n");
    shell.ok("import t.csv delimited --delimiter ; --decimal ,");
}

#[test]
fn dates_are_read_as_people_write_them() {
    let shell = Shell::new();
    shell.file("dots.csv", "d,e\n31.01.2020 14:05,2020/1/31\n1.2.2020 9:05,2020/2/1\n");
    shell.ok("import dots.csv a");
    assert_eq!(
        shell.ok("export a - --format csv"),
        "row,d,e\n0,2020-01-31T14:05:00.000,2020-01-31T00:00:00.000\n1,2020-02-01T09:05:00.000,2020-02-01T00:00:00.000\n"
    );
    shell.file("us.csv", "d\n01/02/2020 2:30 PM\n01/31/2020 12:00 AM\n");
    let said = notes(&shell, "import us.csv us");
    assert!(
        said.contains("dates with slashes are read with the month first"),
        "{said}"
    );
    assert_eq!(
        shell.ok("export us - --format csv"),
        "row,d\n0,2020-01-02T14:30:00.000\n1,2020-01-31T00:00:00.000\n"
    );
    // Nothing says which number is the day.
    shell.file("either.csv", "d\n01/02/2020\n03/04/2020\n");
    let said = notes(&shell, "import either.csv text");
    assert!(
        said.contains("the first number of '01/02/2020' may be the day or the month"),
        "{said}"
    );
    assert!(said.contains("--date-order dmy or mdy"), "{said}");
    assert_eq!(datatype(&shell, "text", "d"), "string_utf8");
    shell.ok("import either.csv said --date-order dmy");
    assert!(shell.ok("export said - --format csv").contains("0,2020-02-01T"));
    let (_, error) = shell.fails("import either.csv dims --sparse --dims d");
    assert!(error.contains("--date-order"), "{error}");
    let (_, error) = shell.fails("import either.csv typed --types d=datetime_day");
    assert!(error.contains("--date-order dmy or mdy"), "{error}");
    shell.ok("import either.csv typed --types d=datetime_day --date-order mdy");
    assert_eq!(
        shell.ok("export typed - --format csv"),
        "row,d\n0,2020-01-02\n1,2020-03-04\n"
    );
}

#[test]
fn geojson_points_are_a_layer() {
    let shell = Shell::new();
    let feature = |id: &str, place: &str, properties: &str| {
        format!(
            "{{\"type\":\"Feature\",\"id\":\"{id}\",\"geometry\":{{\"type\":\"Point\",\"coordinates\":{place}}},\
             \"properties\":{properties}}}"
        )
    };
    let (a, b) = (
        feature("a", "[7,50,12.5]", "{\"mag\":2.5,\"felt\":null,\"code\":\"01\"}"),
        feature("b", "[-1.25,2]", "{\"mag\":3,\"felt\":4,\"code\":\"02\"}"),
    );
    shell.file(
        "p.geojson",
        format!("{{\"type\":\"FeatureCollection\",\"features\":[{a},\n{b}],\"bbox\":[1]}}"),
    );
    shell.ok("import p.geojson a");
    let rows = "{\"_X\":-1.25,\"_Y\":2.0,\"z\":null,\"id\":\"b\",\"mag\":3.0,\"felt\":4,\"code\":\"02\"}\n\
                {\"_X\":7.0,\"_Y\":50.0,\"z\":12.5,\"id\":\"a\",\"mag\":2.5,\"felt\":null,\"code\":\"01\"}\n";
    assert_eq!(shell.ok("export a - --format jsonl --order row"), rows);
    let info = shell.ok("info a");
    assert!(info.contains("WGS 84") && info.contains("_X"), "{info}");
    // The extension may be that of plain JSON, and the file compressed.
    shell.file("p.json.gz", gzip(&shell.bytes("p.geojson")));
    shell.ok("import p.json.gz b");
    assert_eq!(shell.ok("export b - --format jsonl --order row"), rows);
    shell.ok("write a p.json.gz");
    assert_eq!(shell.ok("export a - --format csv").lines().count(), 5);
    let line = a.replace("Point", "LineString");
    shell.file(
        "line.geojson",
        format!("{{\"type\":\"FeatureCollection\",\"features\":[{line}]}}"),
    );
    let (_, error) = shell.fails("import line.geojson c");
    assert!(
        error.contains("line 1") && error.contains("LineString, but only points are read"),
        "{error}"
    );
    assert!(!shell.path("c").exists());
}
