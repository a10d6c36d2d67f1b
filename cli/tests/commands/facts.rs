//! What is known of a field: units and packing in tables.

use std::collections::HashMap;
use std::fs::File;

use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};

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
