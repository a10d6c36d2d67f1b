//! NetCDF files: export, and import of what was exported.
#![cfg(feature = "formats")]

use serde_json::Value;

use crate::failing::check;
use crate::{Shell, int16s, npy};

fn sample(shell: &Shell, name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../formats/tests/files/");
    shell.file(name, std::fs::read(format!("{folder}{name}")).unwrap());
}

/// What `info --json` says about the variables, without what depends on the path and the room to grow.
fn meaning(shell: &Shell, path: &str) -> Vec<Value> {
    let json: Value = serde_json::from_str(&shell.ok(&format!("info {path} --json"))).unwrap();
    let mut all = json["dataset"]["variables"].as_array().unwrap().clone();
    for variable in &mut all {
        for axis in variable["axes"].as_array_mut().into_iter().flatten() {
            axis.as_object_mut().unwrap().remove("length");
        }
    }
    all
}

#[test]
fn a_classic_file_survives_an_export() {
    let shell = Shell::new();
    sample(&shell, "climate3.nc");
    shell.run("import climate3.nc a", b"");
    shell.ok("export a out.nc");
    shell.ok("import out.nc b");
    assert_eq!(meaning(&shell, "b"), meaning(&shell, "a"));
    for name in ["t2m", "lat", "lon", "time", "station", "crs"] {
        let cells = |group: &str| shell.ok(&format!("export {group}/{name} - --format csv --coordinates index"));
        assert_eq!(cells("b"), cells("a"), "{name}");
        let metadata = |group: &str| shell.ok(&format!("meta ls {group}/{name}"));
        assert_eq!(metadata("b"), metadata("a"), "{name}");
    }
    assert!(shell.ok("meta ls b").contains("A sample"));
    assert_eq!(shell.bytes("out.nc")[..4], *b"CDF\x02");
}

#[test]
fn an_array_takes_its_coordinates_along() {
    let shell = Shell::new();
    sample(&shell, "climate3.nc");
    shell.run("import climate3.nc a", b"");
    shell.ok("export a/t2m part.nc --select 'lat=0:50,lon=@{4,0}' --where 't2m < 50' --stored");
    shell.ok("import part.nc p");
    assert_eq!(
        shell.ok("export p/lat - --format csv --coordinates index"),
        "lat,lat.data\n0,15.0\n1,45.0\n"
    );
    assert_eq!(
        shell.ok("export p/lon - --format csv --coordinates index"),
        "lon,lon.data\n0,288.0\n1,0.0\n"
    );
    let cells = shell.ok("export p/t2m - --format csv --coordinates index");
    let cells: Vec<&str> = cells.lines().skip(1).map(|l| l.rsplit(',').next().unwrap()).collect();
    assert_eq!(
        cells,
        [
            "14", "10", "19", "15", "34", "30", "39", "35", "-999", "-999", "-999", "-999"
        ]
    );
    shell.ok("export a/t2m day.nc --select time=@1 --force");
    shell.ok("import day.nc d");
    assert_eq!(shell.schema("d/t2m")["dimensions"].as_array().unwrap().len(), 2);
    assert!(shell.ok("meta get d/t2m __tiledb_attr.t2m.units").contains('K'));
}

#[test]
fn files_have_nulls_bools_dates_and_text() {
    let shell = Shell::new();
    shell.file(
        "in.csv",
        "n,day,ok,name,big\n1,2020-01-01,true,a,3\n,2020-01-02,false,long name,\n3,,true,,-5000000000\n",
    );
    shell.ok("import in.csv t");
    shell.ok("export t out.nc");
    assert_eq!(shell.bytes("out.nc")[..4], *b"CDF\x05");
    shell.ok("import out.nc back");
    let column = |name: &str| shell.ok(&format!("export back/{name} - --format csv --coordinates index"));
    assert!(
        column("name").ends_with("0,a\n1,long name\n2,\"\"\n"),
        "{}",
        column("name")
    );
    assert!(column("ok").ends_with("0,1\n1,0\n2,1\n"), "{}", column("ok"));
    // What is null in the file is the fill value, and the file says so.
    assert!(
        column("big").ends_with("0,3\n1,-9223372036854775808\n2,-5000000000\n"),
        "{}",
        column("big")
    );
    let marks = shell
        .bytes("out.nc")
        .windows(10)
        .filter(|bytes| bytes == b"_FillValue")
        .count();
    assert_eq!(marks, 3, "n, day and big");
}

#[test]
fn what_a_file_cannot_hold_is_refused() {
    let shell = Shell::new();
    shell.file("in.csv", "x,v\n1,1\n");
    shell.ok("import in.csv points --sparse --dims x");
    check(&shell, "export points out.nc", 1, &["dense arrays", ".parquet or .csv"]);
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("import in.npy a");
    shell.ok("group create g");
    check(&shell, "export g out.nc", 1, &["no dense arrays"]);
    check(
        &shell,
        "export g out.nc --select 0:2",
        2,
        &["--select", "name an array of the group"],
    );
    check(&shell, "export a out.nc --limit 3", 2, &["--limit", "has no rows"]);
    check(&shell, "export a out.nc --order col", 2, &["--order", "row order"]);
    shell.ok("export a out.nc");
    check(&shell, "export a out.nc", 1, &["out.nc", "--force"]);
}

#[test]
fn a_geotiff_lies_where_the_coordinates_say() {
    let shell = Shell::new();
    sample(&shell, "climate3.nc");
    shell.run("import climate3.nc a", b"");
    shell.ok("meta set a/lon __tiledb_attr.lon.data.units degrees_east");
    shell.ok("export a/t2m out.tif --select time=@0,lat=@1:4");
    shell.ok("import out.tif r");
    let json: Value = serde_json::from_str(&shell.ok("info r --json")).unwrap();
    let variable = &json["dataset"]["variables"][0];
    assert_eq!(variable["packing"]["scale"], 0.01);
    assert_eq!(variable["unit"], "K");
    let places: Vec<&Value> = variable["axes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| &a["coordinates"])
        .collect();
    let regular = |start: f64, step: f64| serde_json::json!({"type": "regular", "start": start, "step": step});
    assert!(places.contains(&&regular(-15.0, 30.0)), "{places:?}");
    assert!(places.contains(&&regular(0.0, 72.0)), "{places:?}");
    assert_eq!(json["dataset"]["crs"][0]["wkt"], "EPSG:4326");
}

#[test]
fn a_raster_becomes_a_file_with_its_coordinates() {
    let shell = Shell::new();
    sample(&shell, "climate3.nc");
    shell.run("import climate3.nc a", b"");
    shell.ok("meta set a/lon __tiledb_attr.lon.data.units degrees_east");
    shell.ok("export a/t2m out.tif --select time=@0");
    shell.ok("import out.tif r");
    shell.ok("export r raster.nc");
    shell.ok("import raster.nc n");
    assert_eq!(
        shell.ok("export n/x - --format csv --coordinates index --limit 2"),
        "x,x.data\n0,0.0\n1,72.0\n"
    );
    assert!(shell.ok("meta ls n/spatial_ref").contains("4326"));
    let cells = |array: &str| shell.pipe(&format!("export {array} --format bin"), b"");
    assert_eq!(cells("n/r -"), cells("a/t2m - --select time=@0"));
}

#[test]
fn nulls_become_a_value_that_no_cell_has() {
    let shell = Shell::new();
    shell.file(
        "in.csv",
        "x,flag,byte,all\n0,true,255,0\n1,false,,1\n2,,0,2\n3,true,254,\n",
    );
    shell.ok("import in.csv a --dims x --types flag=bool,byte=uint8,all=uint8");
    shell.ok("export a a.nc");
    shell.ok("import a.nc b");
    let cells = |array: &str| shell.ok(&format!("export {array} - --format csv"));
    assert_eq!(cells("b/flag"), "x,flag\n0,1\n1,0\n2,-1\n3,1\n");
    assert_eq!(shell.schema("b/flag")["attributes"][0]["fill"], -1);
    // The fill value of the type is the value of a cell.
    assert_eq!(cells("b/byte"), "x,byte\n0,255\n1,1\n2,0\n3,254\n");
    assert_eq!(shell.schema("b/byte")["attributes"][0]["fill"], 1);
}

#[test]
fn positions_that_do_not_count_from_0_are_kept() {
    let shell = Shell::new();
    let json = r#"{"type": "dense", "dimensions": [{"name": "x", "type": "int16", "domain": [-2, 1], "tile": 4}],
        "attributes": [{"name": "v", "type": "int16"}]}"#;
    shell.file("schema.json", json);
    shell.ok("create a --schema schema.json");
    shell.file("v.npy", npy("'<i2'", "(4,)", &int16s(4)));
    shell.ok("write a v.npy");
    shell.ok("export a a.nc");
    shell.ok("import a.nc b");
    assert_eq!(shell.ok("export b/v - --format csv"), "x,v\n-2,0\n-1,1\n0,2\n1,3\n");
}
