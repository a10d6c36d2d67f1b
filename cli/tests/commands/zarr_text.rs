//! Text, unwritten cells and selections in the Zarr stores that `export` writes.

use serde_json::{Value, json};

use crate::failing::check;
use crate::zarr::{document, whole};
use crate::{Shell, int16s, npy};

/// Creates a dense array along one dimension of many cells, with tiles of ten.
fn long(shell: &Shell, path: &str, dimension: &str, attributes: &Value) {
    let dimensions = json!([{ "name": dimension, "type": "int64", "domain": [0, 99_999_999_999_999_i64], "tile": 10 }]);
    let schema = json!({ "type": "dense", "dimensions": dimensions, "attributes": attributes });
    shell.pipe(&format!("create {path} --schema -"), schema.to_string().as_bytes());
}

fn write(shell: &Shell, table: &str) {
    shell.file("in.csv", table);
    shell.ok("write a in.csv");
}

/// Runs a command that succeeds, and returns its notes.
fn notes(shell: &Shell, line: &str) -> String {
    let run = shell.run(line, b"");
    let notes = String::from_utf8(run.stderr).unwrap();
    assert!(run.status.success(), "{line}: {notes}");
    notes
}

fn mixed() -> Value {
    json!([
        { "name": "n", "type": "int16" },
        { "name": "t", "type": "string_utf8", "cell": "var" },
        { "name": "u", "type": "string_utf8", "cell": "var", "nullable": true },
    ])
}

/// The chunks of an array of a store with one axis.
fn chunks(shell: &Shell, path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(shell.path(&format!("{path}/c")))
        .into_iter()
        .flatten();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// The texts in a chunk.
fn texts(shell: &Shell, path: &str) -> Vec<String> {
    let bytes = zstd::decode_all(&*shell.bytes(path)).unwrap();
    let number = |bytes: &[u8]| u32::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let (mut rest, mut all) = (&bytes[4..], Vec::new());
    for _ in 0..number(&bytes) {
        let end = 4 + number(rest);
        all.push(String::from_utf8(rest[4..end].to_vec()).unwrap());
        rest = &rest[end..];
    }
    all
}

#[test]
fn a_store_has_only_the_chunks_that_were_written() {
    let shell = Shell::new();
    long(&shell, "a", "__rows", &mixed());
    for line in ["export a out.zarr", "export a out.zarr --force --select t,u,n@all"] {
        notes(&shell, line);
        for name in ["n", "t", "u", "u_valid"] {
            assert_eq!(
                chunks(&shell, &format!("out.zarr/{name}")),
                Vec::<String>::new(),
                "{line}"
            );
        }
    }
    write(&shell, "__rows,n,t,u\n12,1,x,\n13,2,y,z\n");
    notes(&shell, "export a out.zarr --force");
    for name in ["n", "t", "u", "u_valid"] {
        assert_eq!(chunks(&shell, &format!("out.zarr/{name}")), ["1"]);
        assert_eq!(document(&shell, &format!("out.zarr/{name}"))["shape"], json!([14]));
    }
    assert_eq!(texts(&shell, "out.zarr/t/c/1")[..5], ["", "", "x", "y", ""]);
    write(&shell, "__rows,n,t,u\n1000000000000,3,far,\n");
    notes(&shell, "export a out.zarr --force");
    for name in ["n", "t", "u", "u_valid"] {
        assert_eq!(chunks(&shell, &format!("out.zarr/{name}")), ["1", "100000000000"]);
    }
    // A selection begins with the chunk 0.
    notes(&shell, "export a out.zarr --force --select 13:1000000000001");
    for name in ["n", "t", "u", "u_valid"] {
        assert_eq!(chunks(&shell, &format!("out.zarr/{name}")), ["0", "99999999998"]);
    }
    assert_eq!(texts(&shell, "out.zarr/t/c/0")[0], "y");
    assert_eq!(texts(&shell, "out.zarr/t/c/99999999998")[7], "far");
}

#[test]
fn unwritten_cells_have_the_fill_value() {
    let shell = Shell::new();
    let text = |name: &str, fill: &str| json!({ "name": name, "type": "string_utf8", "cell": "var", "fill": fill });
    let mut maybe = text("maybe", "no");
    (maybe["nullable"], maybe["fill_valid"]) = (json!(true), json!(true));
    let rgb = json!({ "name": "rgb", "type": "char", "cell": 3 });
    let dimensions = json!([{ "name": "x", "type": "int64", "domain": [0, 9], "tile": 2 }]);
    let attributes = json!([text("t", "none"), maybe, rgb]);
    let schema = json!({ "type": "dense", "dimensions": dimensions, "attributes": attributes });
    shell.pipe("create a --schema -", schema.to_string().as_bytes());
    write(&shell, "x,t,maybe,rgb\n0,a,b,abc\n1,c,,d\n");
    write(&shell, "x,t,maybe,rgb\n6,e,f,g\n");
    notes(&shell, "export a out.zarr");
    for (name, fill) in [
        ("t", json!("none")),
        ("maybe", json!("no")),
        ("maybe_valid", json!(true)),
        ("rgb", json!("")),
    ] {
        assert_eq!(
            document(&shell, &format!("out.zarr/{name}"))["fill_value"],
            fill,
            "{name}"
        );
        assert_eq!(chunks(&shell, &format!("out.zarr/{name}")), ["0", "3"], "{name}");
    }
    assert_eq!(texts(&shell, "out.zarr/rgb/c/0"), ["abc", "d"]);
    shell.ok("import out.zarr again");
    let rows = shell.ok("export again/t - --format csv --coordinates index");
    assert_eq!(rows, "x,t\n0,a\n1,c\n2,none\n3,none\n4,none\n5,none\n6,e\n");
}

/// Fixed-length text is filled with bytes that are no UTF-8.
#[test]
fn unwritten_fixed_length_text_is_empty() {
    let shell = Shell::new();
    let dimensions = json!([{ "name": "x", "type": "int64", "domain": [0, 9], "tile": 10 }]);
    let attributes = json!([{ "name": "t", "type": "char", "cell": 3 }]);
    let schema = json!({ "type": "dense", "dimensions": dimensions, "attributes": attributes });
    shell.pipe("create a --schema -", schema.to_string().as_bytes());
    write(&shell, "x,t\n0,abc\n1,d\n");
    write(&shell, "x,t\n6,e\n7,f\n");
    shell.ok("export a out.zarr");
    let all = ["abc", "d", "", "", "", "", "e", "f", "", ""];
    assert_eq!(texts(&shell, "out.zarr/t/c/0"), all);
}

#[test]
fn an_axis_of_text_takes_the_place_of_numbers() {
    let shell = Shell::new();
    shell.ok("group create g");
    shell.file("in.npy", npy("'|S6'", "(2,)", b"Oslo\0\0Bergen"));
    shell.ok("import in.npy g/station --dims station --attrs station.data");
    shell.file("in.npy", npy("'<i2'", "(2,)", &int16s(2)));
    shell.ok("import in.npy g/temp --dims station --attrs temp");
    shell.ok("export g out.zarr");
    let root = document(&shell, "out.zarr");
    let all = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["station", "temp"]);
    assert_eq!(all["station"]["data_type"], "string");
    assert_eq!(texts(&shell, "out.zarr/station/c/0"), ["Oslo", "Bergen"]);
    shell.ok("export g/station part.zarr --select 1:2");
    assert_eq!(texts(&shell, "part.zarr/station/c/0"), ["Bergen"]);
}

#[test]
fn text_whose_name_is_taken_is_left_out_of_a_group() {
    let shell = Shell::new();
    shell.ok("group create g");
    shell.file("in.csv", "label,u\na,x\nb,\n");
    shell.ok("import in.csv g/first");
    shell.file("in.csv", "label,u_valid\nc,7\nd,8\n");
    shell.ok("import in.csv g/second");
    let notes = self::notes(&shell, "export g out.zarr");
    for name in ["label", "u"] {
        assert!(notes.contains(&format!("the text '{name}' is left out")), "{notes}");
    }
    assert!(!notes.contains("--attrs"), "{notes}");
    let root = document(&shell, "out.zarr");
    let all = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["label", "row", "u_valid"]);
    assert_eq!(texts(&shell, "out.zarr/label/c/0"), ["a", "b"]);
    assert_eq!(all["u_valid"]["data_type"], "int64");
    // In one array, both have a place.
    shell.file("in.csv", "u,u_valid\nx,7\n,8\n");
    shell.ok("import in.csv both");
    self::notes(&shell, "export both both.zarr");
    let root = document(&shell, "both.zarr");
    let all = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["row", "u", "u_valid", "u_valid_"]);
}

#[test]
fn bytes_that_are_no_text_are_left_out_of_a_group() {
    let shell = Shell::new();
    shell.ok("group create g");
    shell.file("in.npy", npy("'|S3'", "(2,)", b"ab\0\xff\xfe\0"));
    shell.ok("import in.npy g/a --attrs t");
    shell.file("in.npy", npy("'<i2'", "(2,)", &int16s(2)));
    shell.ok("import in.npy g/b --attrs n");
    let notes = notes(&shell, "export g out.zarr");
    assert!(
        notes.contains("the array 't' is left out: a cell of 't' is not UTF-8 text"),
        "{notes}"
    );
    let root = document(&shell, "out.zarr");
    assert_eq!(root["consolidated_metadata"]["metadata"].get("t"), None);
    assert!(!shell.path("out.zarr/t").exists() && shell.path("out.zarr/n").exists());
}

#[test]
fn a_part_of_coordinates_can_be_exported() {
    let shell = Shell::new();
    let latitudes: Vec<u8> = [20_f32, 15.5, 10.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("lat.npy", npy("'<f4'", "(3,)", &latitudes));
    shell.ok("group create g");
    shell.ok("import lat.npy g/lat --dims lat --attrs lat.data");
    shell.ok("export g/lat part.zarr --select 1:3");
    let root = document(&shell, "part.zarr");
    let all = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["lat"]);
    assert_eq!(whole(&shell, "part.zarr/lat"), (json!([2]), latitudes[4..].to_vec()));
}

/// Both ends of a long axis, and a list out of order.
#[test]
fn coordinates_of_a_part_come_from_the_chunks_that_it_touches() {
    let shell = Shell::new();
    let dimensions = json!([{ "name": "x", "type": "int64", "domain": [5, 1_000_004], "tile": 10 }]);
    let attributes = json!([{ "name": "n", "type": "int16" }]);
    let schema = json!({ "type": "dense", "dimensions": dimensions, "attributes": attributes });
    shell.pipe("create a --schema -", schema.to_string().as_bytes());
    write(&shell, "x,n\n14,1\n15,2\n16,3\n");
    shell.ok("export a out.zarr --select 'x=@{16,5,14,1000004}'");
    let (_, x) = whole(&shell, "out.zarr/x");
    let x: Vec<i64> = x.as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b)).collect();
    assert_eq!(x, [16, 5, 14, 1_000_004]);
    let unwritten = i16::MIN;
    let values: Vec<u8> = [3, unwritten, 1, unwritten]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    assert_eq!(whole(&shell, "out.zarr/n"), (json!([4]), values));
    check(&shell, "export a b.zarr --select nope@0:1", 2, &["--select"]);
}
