//! Zarr stores that `export` writes.

use serde_json::{Value, json};

use crate::failing::check;
use crate::{Shell, int16s, npy};

pub(crate) fn document(shell: &Shell, path: &str) -> Value {
    serde_json::from_slice(&shell.bytes(&format!("{path}/zarr.json"))).unwrap()
}

/// A group with an axis and a grid of three tiles, of which the last one is not whole.
fn climate() -> Shell {
    let shell = Shell::new();
    let latitudes: Vec<u8> = [20_f32, 15.5, 10.0].iter().flat_map(|v| v.to_le_bytes()).collect();
    shell.file("lat.npy", npy("'<f4'", "(3,)", &latitudes));
    shell.file("temp.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    shell.ok("group create g");
    shell.ok("import lat.npy g/lat --dims lat --attrs lat.data");
    shell.ok("import temp.npy g/temp --dims lat,x --attrs temp --tile 2,4");
    shell.ok("group add g g/temp");
    shell.ok("meta set g/temp __tiledb_attr.temp.units K");
    shell.ok("meta set g title Sample");
    shell
}

#[test]
fn a_group_becomes_a_store_of_its_arrays() {
    let shell = climate();
    shell.ok("export g out.zarr");
    let root = document(&shell, "out.zarr");
    assert_eq!(root["attributes"]["title"], "Sample");
    let all = root["consolidated_metadata"]["metadata"].as_object().unwrap();
    assert_eq!(all.keys().collect::<Vec<_>>(), ["lat", "temp", "x"]);
    let temp = document(&shell, "out.zarr/temp");
    assert_eq!(all["temp"], temp);
    assert_eq!(
        (&temp["shape"], &temp["dimension_names"]),
        (&json!([3, 4]), &json!(["lat", "x"]))
    );
    assert_eq!(temp["attributes"]["units"], "K");
    assert_eq!(temp["codecs"][1]["name"], "zstd");
    let chunk = |key: &str| zstd::decode_all(&*shell.bytes(&format!("out.zarr/temp/c/{key}"))).unwrap();
    assert_eq!(chunk("0/0"), int16s(8));
    assert_eq!(chunk("1/0")[..8], int16s(12)[16..]);
    let lat = document(&shell, "out.zarr/lat");
    assert_eq!(lat["data_type"], "float32");
}

/// The new array would be among the files that are read.
#[test]
fn a_store_is_not_imported_into_itself() {
    let shell = climate();
    shell.ok("export g out.zarr");
    #[cfg(unix)]
    std::os::unix::fs::symlink("out.zarr", shell.path("link.zarr")).unwrap();
    #[cfg(unix)]
    check(
        &shell,
        "import link.zarr out.zarr/in",
        2,
        &["ARRAY", "inside link.zarr"],
    );
    for line in ["import out.zarr out.zarr/in", "import ./out.zarr out.zarr/temp/deep/in"] {
        check(
            &shell,
            line,
            2,
            &["ARRAY", "out.zarr, which is imported", "outside of it"],
        );
    }
    assert!(!shell.path("out.zarr/in").exists() && !shell.path("out.zarr/temp/deep").exists());
    shell.ok("import out.zarr out.zarr-in");
}

#[test]
fn a_store_is_replaced_only_by_force() {
    let shell = climate();
    shell.ok("export g/temp out.zarr");
    check(
        &shell,
        "export g out.zarr",
        1,
        &["the folder exists already", "--force"],
    );
    shell.ok("export g out.zarr --force");
    assert_eq!(document(&shell, "out.zarr")["attributes"]["title"], "Sample");
    #[cfg(unix)]
    {
        std::fs::rename(shell.path("out.zarr"), shell.path("real.zarr")).unwrap();
        std::os::unix::fs::symlink("real.zarr", shell.path("out.zarr")).unwrap();
        shell.ok("export g/temp out.zarr --force");
        assert!(shell.path("out.zarr").is_symlink());
        assert_eq!(document(&shell, "real.zarr")["attributes"].get("title"), None);
    }
    std::fs::create_dir(shell.path("mine.zarr")).unwrap();
    check(&shell, "export g mine.zarr --force", 1, &["it is not a Zarr store"]);
    check(
        &shell,
        "export g other.zarr --select 0:2",
        2,
        &["--select", "name an array of the group"],
    );
    check(&shell, "export g - --format zarr", 2, &["OUT", "is a folder"]);
    assert!(
        shell.names().iter().all(|name| !name.contains("part")),
        "{:?}",
        shell.names()
    );
}

#[test]
#[cfg(feature = "formats")]
fn an_image_becomes_a_store_of_its_levels() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(2, 4, 6)", &int16s(48)));
    shell.ok("import in.npy a --dims z,y,x");
    shell.ok("export a in.tif");
    shell.ok("import in.tif image");
    shell.ok("overviews image --factors 2");
    shell.ok("import in.npy image/notes");
    shell.ok("group create image/labels");
    let exported = shell.run("export image out.zarr", b"");
    assert!(exported.status.success(), "{exported:?}");
    let notes = String::from_utf8(exported.stderr).unwrap();
    for name in ["notes", "labels"] {
        assert!(notes.contains(&format!("the member '{name}' is left out")), "{notes}");
    }
    assert!(!notes.contains("l_0") && !notes.contains("l_1"), "{notes}");
    let root = document(&shell, "out.zarr");
    let levels = root["attributes"]["ome"]["multiscales"][0]["datasets"]
        .as_array()
        .unwrap();
    let paths: Vec<&str> = levels.iter().map(|level| level["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["0/intensity", "1/intensity"]);
    let all = &root["consolidated_metadata"]["metadata"];
    assert_eq!(all["1"], document(&shell, "out.zarr/1"));
    for (level, shape, row) in [("0", json!([4, 6]), 12), ("1", json!([2, 3]), 6)] {
        let array = document(&shell, &format!("out.zarr/{level}/intensity"));
        assert_eq!(all[format!("{level}/intensity")], array);
        let lengths = array["shape"].as_array().unwrap();
        assert_eq!(lengths[lengths.len() - 2..], *shape.as_array().unwrap());
        let zeros = vec!["0"; lengths.len()].join("/");
        let chunk = shell.bytes(&format!("out.zarr/{level}/intensity/c/{zeros}"));
        let chunk = match array["codecs"][1]["name"].as_str() {
            Some("zstd") => zstd::decode_all(&*chunk).unwrap(),
            _ => chunk,
        };
        assert!(chunk.len() >= row, "{level}");
    }
}

#[test]
fn text_becomes_strings_and_comes_back() {
    let shell = Shell::new();
    shell.file("in.csv", "n,t,u\n1,a,x\n2,Grüße,\n3,日本,z\n4,\"\",y\n5,e,\n");
    shell.ok("import in.csv a --tile 2");
    let exported = shell.run("export a out.zarr", b"");
    let notes = String::from_utf8(exported.stderr).unwrap();
    assert!(exported.status.success(), "{notes}");
    assert!(
        notes.contains("null cells of 'u' are empty text in the store; the array 'u_valid'"),
        "{notes}"
    );
    let u = document(&shell, "out.zarr/u");
    assert_eq!(
        (&u["data_type"], &u["codecs"][0]["name"]),
        (&json!("string"), &json!("vlen-utf8"))
    );
    assert_eq!((&u["shape"], &u["dimension_names"]), (&json!([5]), &json!(["row"])));
    let chunk = |name: &str, key: &str| zstd::decode_all(&*shell.bytes(&format!("out.zarr/{name}/c/{key}"))).unwrap();
    assert_eq!(chunk("u", "0"), b"\x02\0\0\0\x01\0\0\0x\0\0\0\0");
    assert_eq!(chunk("u_valid", "0"), [1, 0]);
    // The last chunk is not whole.
    assert_eq!(chunk("t", "2"), b"\x02\0\0\0\x01\0\0\0e\0\0\0\0");
    assert_eq!(chunk("u_valid", "2"), [0, 0]);
    shell.ok("import out.zarr again");
    let rows = shell.ok("export again/t - --format csv --coordinates index");
    assert_eq!(rows, "row,t\n0,a\n1,Grüße\n2,日本\n3,\"\"\n4,e\n");
}

#[test]
fn cells_that_are_no_text_are_an_error_with_a_way_out() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'|S3'", "(2,)", b"ab\0\xff\xfe\0"));
    shell.ok("import in.npy a --attrs t");
    check(
        &shell,
        "export a out.zarr",
        1,
        &["a cell of 't' is not UTF-8 text", "--attrs", ".parquet"],
    );
    assert!(
        shell.names().iter().all(|name| !name.contains("zarr")),
        "{:?}",
        shell.names()
    );
    shell.file("in.npy", npy("'|S3'", "(2,)", b"ab\0c\0\0"));
    shell.ok("import in.npy b --attrs t");
    shell.ok("export b out.zarr");
    let chunk = zstd::decode_all(&*shell.bytes("out.zarr/t/c/0")).unwrap();
    assert_eq!(chunk, b"\x02\0\0\0\x02\0\0\0ab\x01\0\0\0c");
}

/// The shape and the values of an array of a store with a single chunk.
pub(crate) fn whole(shell: &Shell, path: &str) -> (Value, Vec<u8>) {
    let document = document(shell, path);
    let zeros = vec!["0"; document["shape"].as_array().unwrap().len()].join("/");
    let bytes = shell.bytes(&format!("{path}/c/{zeros}"));
    (document["shape"].clone(), zstd::decode_all(&*bytes).unwrap())
}

fn shorts(values: &[i16]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

#[test]
fn a_selection_becomes_a_store_that_begins_at_its_corner() {
    let shell = climate();
    shell.ok("export g/temp out.zarr --select 1:3,1:4");
    let temp = document(&shell, "out.zarr/temp");
    assert_eq!(
        (&temp["shape"], &temp["attributes"]["units"]),
        (&json!([2, 3]), &json!("K"))
    );
    assert_eq!(
        whole(&shell, "out.zarr/temp"),
        (json!([2, 3]), shorts(&[5, 6, 7, 9, 10, 11]))
    );
    let floats = |values: &[f32]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(whole(&shell, "out.zarr/lat"), (json!([2]), floats(&[15.5, 10.0])));
    let (shape, x) = whole(&shell, "out.zarr/x");
    assert_eq!((shape, x.first(), x.len()), (json!([3]), Some(&1), 24));
    // Lists keep their order, and an axis with one coordinate stays.
    shell.ok("export g/temp list.zarr --select 'lat=@{2,0},x=@3'");
    assert_eq!(whole(&shell, "list.zarr/temp"), (json!([2, 1]), shorts(&[11, 3])));
    assert_eq!(whole(&shell, "list.zarr/lat").1, floats(&[10.0, 20.0]));
    shell.ok("export g/temp step.zarr --select 'lat=10:16,x=@0:4:2'");
    assert_eq!(whole(&shell, "step.zarr/temp"), (json!([2, 2]), shorts(&[4, 6, 8, 10])));
    shell.ok("import out.zarr again");
    let rows = shell.ok("export again/temp - --format csv --rows --where 'temp > 9'");
    assert_eq!(rows, "lat,x,temp\n10.0,2,10\n10.0,3,11\n");
}

#[test]
fn a_store_has_the_attributes_that_are_named() {
    let shell = Shell::new();
    shell.file("in.csv", "n,t,u,v\n1,a,x,0.5\n2,b,,1.5\n3,c,z,\n");
    shell.ok("import in.csv a");
    let arrays = |options: &str| {
        let run = shell.run(&format!("export a out.zarr --force {options}"), b"");
        assert!(run.status.success(), "{run:?}");
        let root = document(&shell, "out.zarr");
        let all = root["consolidated_metadata"]["metadata"].as_object().unwrap().clone();
        all.keys().cloned().collect::<Vec<String>>()
    };
    let text = "export a out.zarr --attrs n";
    shell.ok(text);
    assert_eq!(arrays("--attrs t,n"), ["n", "row", "t"]);
    assert_eq!(arrays("--attrs v --select 0:2"), ["row", "v", "v_valid"]);
    assert_eq!(whole(&shell, "out.zarr/v_valid"), (json!([2]), vec![1, 1]));
    assert_eq!(arrays("--select u@1:3"), ["row", "u", "u_valid"]);
    assert_eq!(whole(&shell, "out.zarr/u_valid"), (json!([2]), vec![0, 1]));
    check(
        &shell,
        "export a b.zarr --attrs row",
        2,
        &["--attrs", "'row' is a dimension"],
    );
    check(&shell, "export a b.zarr --attrs x", 2, &["--attrs", "no attribute 'x'"]);
    check(
        &shell,
        "export a b.zarr --where 'n > 1'",
        2,
        &["--where", "row-major order"],
    );
}

/// Writes the array of a level, as Zarr of version 2 with one chunk.
#[cfg(feature = "formats")]
fn level(shell: &Shell, path: &str, shape: [usize; 5], cells: &[u8]) {
    std::fs::create_dir_all(shell.path(path)).unwrap();
    let array = json!({
        "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "<u2", "compressor": null, "fill_value": 0,
        "order": "C", "filters": null,
    });
    shell.file(&format!("{path}/.zarray"), array.to_string());
    shell.file(&format!("{path}/0.0.0.0.0"), cells);
}

#[test]
#[cfg(feature = "formats")]
fn an_image_of_ome_becomes_levels_channels_and_axes() {
    let shell = Shell::new();
    level(&shell, "in.zarr/0", [3, 2, 1, 4, 5], &int16s(120));
    level(&shell, "in.zarr/1", [3, 2, 1, 2, 3], &int16s(36));
    level(&shell, "in.zarr/labels/0", [3, 1, 1, 4, 5], &int16s(60));
    let scale = |step: f64| json!([{ "type": "scale", "scale": [1.0, 1.0, 2.0, step, step] }]);
    let axis = |name: &str, kind: &str| json!({ "name": name, "type": kind, "unit": "micrometer" });
    let image = json!({
        "multiscales": [{
            "version": "0.4",
            "axes": [
                { "name": "t", "type": "time", "unit": "second" }, { "name": "c", "type": "channel" },
                axis("z", "space"), axis("y", "space"), axis("x", "space"),
            ],
            "datasets": [
                { "path": "0", "coordinateTransformations": scale(0.5) },
                { "path": "1", "coordinateTransformations": scale(1.0) },
            ],
        }],
        "omero": { "channels": [
            { "label": "DAPI", "color": "0000FF", "window": { "start": 5, "end": 40, "min": 0, "max": 65535 } },
            { "label": "GFP", "color": "00FF00", "window": { "start": 0, "end": 9 } },
        ] },
    });
    shell.file("in.zarr/.zgroup", r#"{"zarr_format": 2}"#);
    shell.file("in.zarr/.zattrs", image.to_string());
    shell.file("in.zarr/labels/.zgroup", r#"{"zarr_format": 2}"#);
    let imported = shell.run("import in.zarr image", b"");
    let notes = String::from_utf8(imported.stderr).unwrap();
    assert!(imported.status.success(), "{notes}");
    assert!(notes.contains("are left out: 'labels/0'"), "{notes}");
    let described: Value = serde_json::from_str(&shell.ok("info image --json")).unwrap();
    let dataset = &described["dataset"];
    assert_eq!(dataset["application"], "bioimg");
    let channels = dataset["channels"].as_array().unwrap();
    assert_eq!(
        (&channels[0]["name"], &channels[0]["color"], &channels[0]["range"]),
        (&json!("DAPI"), &json!([0, 0, 255, 255]), &json!([5.0, 40.0]))
    );
    assert_eq!(channels[1]["name"], "GFP");
    let axes = dataset["variables"][0]["axes"].as_array().unwrap();
    let found: Vec<(&Value, &Value)> = axes.iter().map(|a| (&a["name"], &a["unit"])).collect();
    let micrometers = json!("µm");
    assert_eq!(
        found,
        [
            (&json!("T"), &json!("s")),
            (&json!("C"), &Value::Null),
            (&json!("Y"), &micrometers),
            (&json!("X"), &micrometers)
        ]
    );
    assert_eq!(axes[3]["coordinates"]["step"], 0.5);
    assert_eq!(dataset["levels"][1]["shape"], json!([3, 2, 2, 3]));
    // The axes have other lengths, so that cells in another order are seen.
    for (path, shape) in [("l_0", [3, 2, 4, 5]), ("l_1", [3, 2, 2, 3])] {
        let [_, channels, height, width] = shape;
        let row = |n: usize| {
            let (x, rest) = (n % width, n / width);
            let (y, rest) = (rest % height, rest / height);
            format!("{},{},{y},{x},{n}\n", rest / channels, rest % channels)
        };
        let rows: String = (0..shape.iter().product()).map(row).collect();
        let found = shell.ok(&format!("export image/{path}.tdb - --format csv --coordinates index"));
        assert_eq!(found, format!("T,C,Y,X,intensity\n{rows}"));
    }
    // An image that was exported comes back.
    shell.ok("export image out.zarr");
    shell.ok("import out.zarr again");
    let again: Value = serde_json::from_str(&shell.ok("info again --json")).unwrap();
    assert_eq!(again["dataset"]["channels"], dataset["channels"]);
    assert_eq!(again["dataset"]["levels"], dataset["levels"]);
}

#[test]
#[cfg(feature = "formats")]
fn levels_that_are_missing_are_errors_or_notes() {
    let shell = Shell::new();
    level(&shell, "in.zarr/0", [1, 1, 1, 4, 6], &int16s(24));
    shell.file("in.zarr/.zgroup", r#"{"zarr_format": 2}"#);
    let image = |paths: [&str; 2]| {
        let all = paths.map(|path| json!({ "path": path }));
        shell.file(
            "in.zarr/.zattrs",
            json!({ "multiscales": [{ "datasets": all }] }).to_string(),
        );
    };
    image(["0", "1"]);
    let imported = shell.run("import in.zarr image", b"");
    let notes = String::from_utf8(imported.stderr).unwrap();
    assert!(imported.status.success(), "{notes}");
    assert!(
        notes.contains("the level '1' is left out: there is no array '1'"),
        "{notes}"
    );
    image(["5", "0"]);
    check(
        &shell,
        "import in.zarr other",
        1,
        &["cannot read the level '5' of the image", "there is no array '5'"],
    );
}
