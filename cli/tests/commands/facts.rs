//! What is known of a field: units and packing in tables, and conditions on unpacked values.

use std::collections::HashMap;
use std::fs::File;

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

use crate::failing::check;
use crate::{Shell, int16s, npy};

/// Packed temperatures: 0 to 11, of which 3 is missing, in hundredths above 273.15. `y` has values, in degrees.
fn packed() -> Shell {
    let shell = Shell::new();
    let latitudes: Vec<u8> = [20_f32, 15.5, 10.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("y.npy", npy("'<f4'", "(3,)", &latitudes));
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import y.npy g/y --dims y --attrs y.data");
    shell.ok("import in.npy g/a --dims y,x --attrs v --tile 2,2");
    shell.ok("meta set g/y __tiledb_attr.y.data.units degrees_north");
    shell.ok("meta set g/a __tiledb_attr.v.units K");
    shell.ok("meta set g/a __tiledb_attr.v.long_name 'air temperature'");
    shell.ok("meta set g/a __tiledb_attr.v.scale_factor 0.01 --type float64");
    shell.ok("meta set g/a __tiledb_attr.v.add_offset 273.15 --type float64");
    shell.ok("meta set g/a __tiledb_attr.v.missing_value 3 --type int16");
    shell
}

fn schema(shell: &Shell, name: &str) -> SchemaRef {
    let file = File::open(shell.path(name)).unwrap();
    if name.ends_with(".parquet") {
        return ParquetRecordBatchReaderBuilder::try_new(file).unwrap().schema().clone();
    }
    arrow_ipc::reader::FileReader::try_new(file, None).unwrap().schema()
}

/// The metadata of a column, without that for exact types.
fn facts(schema: &SchemaRef, column: &str) -> Value {
    let all = schema.field_with_name(column).unwrap().metadata();
    let own = all.iter().filter(|(key, _)| !key.starts_with("tiledb."));
    json!(own.collect::<HashMap<_, _>>())
}

fn of_values() -> Value {
    json!({
        "units": "K", "long_name": "air temperature", "scale_factor": "0.01", "add_offset": "273.15",
        "missing_value": "3",
    })
}

#[test]
fn columns_of_tables_carry_units_and_packing_there_and_back() {
    let shell = packed();
    shell.ok("export g/a one.parquet");
    let one = schema(&shell, "one.parquet");
    assert_eq!(facts(&one, "v"), of_values());
    assert_eq!(facts(&one, "y"), json!({ "units": "degrees_north" }));
    assert_eq!(facts(&one, "x"), json!({}));
    shell.ok("import one.parquet rows");
    let described: Value = serde_json::from_str(&shell.ok("info rows --json")).unwrap();
    let variables = described["dataset"]["variables"].as_array().unwrap();
    let v = variables.iter().find(|variable| variable["name"] == "v").unwrap();
    assert_eq!((&v["unit"], &v["packing"]["scale"]), (&json!("K"), &json!(0.01)));
    assert_eq!(v["missing"]["values"], json!([3]));
    shell.ok("import one.parquet points --sparse --dims y,x");
    let described: Value = serde_json::from_str(&shell.ok("info points --json")).unwrap();
    let columns = described["dataset"]["tables"][0]["columns"].as_array().unwrap();
    let units: Vec<&Value> = columns.iter().map(|column| &column["unit"]).collect();
    assert_eq!(units, [&json!("degrees_north"), &Value::Null, &json!("K")]);
    let output = shell.run("export points --count --where 'v > 273.2'", b"");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.contains("note: --where tests the stored numbers of v, because"),
        "{told}"
    );
    for array in ["rows", "points"] {
        shell.ok(&format!("export {array} {array}.arrow"));
        let again = schema(&shell, &format!("{array}.arrow"));
        assert_eq!(facts(&again, "v"), of_values(), "{array}");
        assert_eq!(facts(&again, "y"), json!({ "units": "degrees_north" }), "{array}");
    }
}

/// Indices have no unit, although the axis has one.
#[test]
fn indices_have_no_units() {
    let shell = packed();
    shell.ok("export g/a index.arrow");
    let index = schema(&shell, "index.arrow");
    assert_eq!((facts(&index, "y"), facts(&index, "v")), (json!({}), of_values()));
}

#[test]
fn conditions_test_unpacked_values_and_missing_ones_fail() {
    let shell = packed();
    let count = |options: &str| shell.ok(&format!("export g/a --count {options}")).trim().to_owned();
    for (condition, cells) in [
        ("v > 273.2", "6"),
        ("v >= 273.2", "7"),
        ("v < 273.2", "4"),
        ("v <= 273.2", "5"),
        ("v = 273.2", "1"),
        ("v != 273.2", "10"),
        ("not (v = 273.2)", "10"),
        ("v > 273.203", "6"),
        ("v between 273.16 and 273.19", "3"),
        ("v in (273.15, 273.18, 273.2, 5)", "2"),
        ("v not in (273.15, 5)", "10"),
        ("v = 5", "0"),
        ("v > -1e300 and x < 2", "6"),
        ("x = 3 or v = 273.2", "4"),
        ("v is null", "0"),
    ] {
        assert_eq!(count(&format!("--where '{condition}'")), cells, "{condition}");
    }
    assert_eq!(count("--where 'v > 5' --stored"), "6");
    assert_eq!(count("--where 'v = 3' --stored"), "1");
    let rows = shell.ok("export g/a - --format csv --rows --where 'v < 273.2' --coordinates index");
    assert_eq!(rows, "y,x,v\n0,0,0\n0,1,1\n0,2,2\n1,0,4\n");
    let sum = "export g/a --agg count,max --json --where";
    assert_eq!(
        shell.ok(&format!("{sum} 'v <= 273.2'")),
        "{\"v\":{\"count\":5,\"max\":273.2}}\n"
    );
    assert_eq!(
        shell.ok(&format!("{sum} 'v <= 5' --stored")),
        "{\"v\":{\"count\":6,\"max\":5}}\n"
    );
    check(&shell, "export g/a --count --stored", 2, &["--where", "--agg"]);
}

/// Of arrays that no application describes, a fill value may be a value too.
#[test]
fn fill_values_of_plain_arrays_pass() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy plain --attrs v");
    let mut schema = shell.schema("plain");
    schema["attributes"][0]["fill"] = json!(3);
    shell.pipe("create a --schema -", schema.to_string().as_bytes());
    shell.ok("write a in.npy");
    assert_eq!(shell.ok("export a --count --where 'v <= 3'"), "4\n");
    shell.ok("export a a.parquet");
    shell.ok("import a.parquet again");
    assert_eq!(shell.ok("export again --count --where 'v <= 3'"), "4\n");
    shell.ok("meta set a __tiledb_attr.v.units K");
    assert_eq!(shell.ok("export a --count --where 'v <= 3'"), "3\n");
}
