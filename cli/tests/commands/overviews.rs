//! `overviews`: the cells of smaller arrays, and the metadata that lists them.

use serde_json::Value;

use crate::{Shell, int16s, npy};

#[test]
fn overviews_of_distant_cells_are_refused() {
    let shell = Shell::new();
    let json = r#"{"type": "dense", "dimensions": [{"name": "x", "type": "int64", "domain": [0, 2000000000000], "tile": 10}],
        "attributes": [{"name": "v", "type": "uint8"}]}"#;
    shell.file("schema.json", json);
    shell.ok("create a --schema schema.json");
    shell.file("v.npy", npy("'|u1'", "(5,)", &[1, 2, 3, 4, 5]));
    shell.ok("write a v.npy --select 0:5");
    shell.ok("write a v.npy --select 1000000000000:1000000000005");
    let (code, error) = shell.fails("overviews a --factors 2");
    assert!(code == 2 && error.contains("use larger factors"), "{error}");
    assert!(!shell.path("a.2").exists());
}

#[test]
fn overviews_are_next_to_the_array() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'|u1'", "(4, 6)", &(0..24).collect::<Vec<u8>>()));
    shell.ok("import in.npy a");
    shell.ok("overviews a --factors 2");
    assert_eq!(paths(&shell), ["../a.2"]);
    assert_eq!(
        shell.ok("export a.2 - --format csv --select 1,:"),
        "d0,d1,data\n1,0,16\n1,1,18\n1,2,20\n"
    );
    let (_, error) = shell.fails("overviews a --factors 4 --factors 2");
    assert!(
        error.contains("a.2: it already exists") && !shell.path("a.4").exists(),
        "{error}"
    );
    shell.ok("overviews a --factors 4 --factors 1,3");
    assert_eq!(paths(&shell), ["../a.2", "../a.1x3", "../a.4"]);
    let list: Value = serde_json::from_str(&shell.ok("meta get a overviews")).unwrap();
    let expected = r#"{"factor": 3, "factors": [1, 3], "path": "../a.1x3", "shape": [4, 2], "covers": [[0, 3], [0, 5]],
        "methods": {"data": "mean"}}"#;
    assert_eq!(list[1], serde_json::from_str::<Value>(expected).unwrap());
    assert_eq!(
        shell.ok("export a.1x3 - --format csv --select 1,:"),
        "d0,d1,data\n1,0,7\n1,1,10\n"
    );
    let (_, error) = shell.fails("overviews a --factors 1,2,2");
    assert!(error.contains("3 factors, but the array has 2 axes"), "{error}");
    let (_, error) = shell.fails("overviews a --factors 1");
    assert!(error.contains("shrinks nothing"), "{error}");
}

fn paths(shell: &Shell) -> Vec<String> {
    let list: Value = serde_json::from_str(&shell.ok("meta get a overviews")).unwrap();
    let entries = list.as_array().unwrap().iter();
    entries.map(|e| e["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn single_factors_shrink_x_and_y_and_classes_keep_their_values() {
    let shell = Shell::new();
    let json = r#"{"type": "dense", "dimensions": [
            {"name": "time", "type": "int64", "domain": [0, 1], "tile": 1},
            {"name": "y", "type": "int64", "domain": [0, 1], "tile": 2},
            {"name": "x", "type": "int64", "domain": [0, 3], "tile": 4}],
        "attributes": [{"name": "class", "type": "int16", "fill": -1}]}"#;
    shell.file("schema.json", json);
    shell.ok("create a --schema schema.json");
    let cells: Vec<u8> = [1_i16, 4, -1, 7, 4, 9, 7, 8, 2, 2, 3, 3, 2, 5, -1, -1]
        .iter()
        .flat_map(|v| v.to_le_bytes())
        .collect();
    shell.file("v.npy", npy("'<i2'", "(2, 2, 4)", &cells));
    shell.ok("write a v.npy");
    shell.ok("overviews a --factors 2 --method mode");
    assert_eq!(
        shell.ok("export a.2 - --format csv"),
        "time,y,x,class\n0,0,0,4\n0,0,1,7\n1,0,0,2\n1,0,1,3\n"
    );
    shell.ok("overviews a --factors 1,1,4");
    assert_eq!(
        shell.ok("export a.1x1x4 - --format csv --select 0,:,:"),
        "time,y,x,class\n0,0,0,4\n0,1,0,7\n"
    );
}

#[test]
fn white_in_an_image_counts_as_a_value() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'|u1'", "(2, 2)", &[255, 0, 255, 0]));
    shell.ok("import in.npy a");
    shell.ok("overviews a --factors 2");
    assert_eq!(shell.ok("export a.2 - --format csv"), "d0,d1,data\n0,0,128\n");
}

#[test]
fn means_exclude_no_data_values() {
    let shell = Shell::new();
    shell.file(
        "in.npy",
        npy(
            "'<i2'",
            "(2, 4)",
            &[
                1, 0, 0xf1, 0xd8, 0xf1, 0xd8, 0xf1, 0xd8, 3, 0, 0, 0x80, 0xf1, 0xd8, 0xf1, 0xd8,
            ],
        ),
    );
    shell.ok("import in.npy a");
    shell.ok("meta set a missing_value -9999 --type float64");
    shell.ok("overviews a --factors 2");
    // Cells without a value have the fill value.
    assert_eq!(shell.ok("export a.2 - --format csv"), "d0,d1,data\n0,0,2\n0,1,-32768\n");
    shell.file("byte.npy", npy("'|u1'", "(1, 4)", &[255, 3, 0, 0]));
    shell.ok("import byte.npy b");
    shell.ok("meta set b __tiledb_attr.data._FillValue 0 --type uint8");
    shell.ok("overviews b --factors 2");
    assert_eq!(shell.ok("export b.2 - --format csv"), "d0,d1,data\n0,0,129\n0,1,0\n");
}

#[cfg(unix)]
#[test]
fn leftovers_of_killed_commands_are_listed_and_removed() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(3, 4)", &int16s(12)));
    let then = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let left = |name: &str| {
        std::fs::create_dir(shell.path(name)).unwrap();
        let folder = std::fs::File::open(shell.path(name)).unwrap();
        folder.set_modified(then).unwrap();
        folder
    };
    drop(left(".hyperslab-0011223344556677.part"));
    let alive = left(".hyperslab-8899aabbccddeeff.part");
    alive.lock().unwrap();
    let told = shell.ok("ls .");
    assert!(
        told.lines().count() == 1 && told.contains("0011223344556677") && told.contains("killed command"),
        "{told}"
    );
    let output = shell.run("import in.npy a", b"");
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("removed") && told.contains("0011223344556677"), "{told}");
    assert_eq!(shell.names(), [".hyperslab-8899aabbccddeeff.part", "a", "in.npy"]);
}

#[test]
fn overviews_of_a_raster_are_levels_that_gdal_reads() {
    let shell = Shell::new();
    let json = r#"{"type": "dense", "dimensions": [
            {"name": "BANDS", "type": "uint64", "domain": [1, 1], "tile": 1},
            {"name": "Y", "type": "uint64", "domain": [0, 3], "tile": 2},
            {"name": "X", "type": "uint64", "domain": [0, 5], "tile": 2}],
        "attributes": [{"name": "TDB_VALUES", "type": "int16", "fill": -9}]}"#;
    shell.file("schema.json", json);
    shell.ok("group create r");
    shell.ok("create r/l_0 --schema schema.json");
    // The last row and column are padding.
    let cells: Vec<u8> = [
        1_i16, 3, 5, -9, 7, 0, 1, 3, -9, -9, 9, 0, 8, 8, 4, 6, 2, 0, 0, 0, 0, 0, 0, 0,
    ]
    .iter()
    .flat_map(|v| v.to_le_bytes())
    .collect();
    shell.file("v.npy", npy("'<i2'", "(1, 4, 6)", &cells));
    shell.ok("write r/l_0 v.npy");
    shell.ok("group add r r/l_0");
    let xml = "<PAMDataset><SRS dataAxisToSRSAxisMapping=\"2,1\">EPSG:4326</SRS><GeoTransform>10,1,0,50,0,-2</GeoTransform>\
        <Metadata domain=\"IMAGE_STRUCTURE\"><MDI key=\"DATA_TYPE\">Int16</MDI><MDI key=\"X_SIZE\">5</MDI>\
        <MDI key=\"Y_SIZE\">3</MDI></Metadata></PAMDataset>";
    shell.ok(&format!("meta set r/l_0 _gdal '{xml}'"));
    shell.ok("meta set r/l_0 dataset_type raster");
    shell.ok("meta set r dataset_type raster");
    shell.ok("overviews r --factors 2");
    let info = shell.ok("info r");
    assert!(info.contains("levels    2: 1×3×5, 1×2×3"), "{info}");
    assert_eq!(
        shell.ok("export r/l_1 - --format csv --coordinates index"),
        "BANDS,Y,X,TDB_VALUES\n1,0,0,2\n1,0,1,5\n1,0,2,8\n1,1,0,8\n1,1,1,5\n1,1,2,2\n"
    );
    // GDAL's own readers want bytes.
    let bytes = shell.ok("meta get r/l_1 _gdal");
    let bytes = bytes.trim().split(',').map(|b| b.parse().unwrap()).collect();
    let xml = String::from_utf8(bytes).unwrap();
    let transform = "<GeoTransform>1.0000000000000000e1, 2.0000000000000000e0, 0.0000000000000000e0, 5.0000000000000000e1, \
        0.0000000000000000e0, -4.0000000000000000e0</GeoTransform>";
    for part in [
        transform,
        "<SRS dataAxisToSRSAxisMapping=\"2,1\">EPSG:4326</SRS>",
        "<MDI key=\"X_SIZE\">3</MDI>",
    ] {
        assert!(xml.contains(part), "{part} is not in {xml}");
    }
    let xml = shell.ok("meta get r/l_0 _gdal");
    assert!(xml.contains("<tiledb:OverviewCount>1</tiledb:OverviewCount>"), "{xml}");
    let (_, error) = shell.fails("overviews r --factors 2");
    assert!(error.contains("r/l_1: it already exists"), "{error}");
}

#[test]
#[cfg(feature = "formats")]
fn overviews_of_an_image_are_its_levels() {
    let shell = Shell::new();
    shell.file("in.npy", npy("'<i2'", "(2, 4, 6)", &int16s(48)));
    shell.ok("import in.npy a --dims z,y,x");
    shell.ok("export a in.tif");
    shell.ok("import in.tif image");
    shell.ok("overviews image --factors 2");
    let info: Value = serde_json::from_str(&shell.ok("info image --json")).unwrap();
    let levels = info["dataset"]["levels"].as_array().unwrap();
    let shapes: Vec<&Value> = levels.iter().map(|l| &l["shape"]).collect();
    let n = shapes[0].as_array().unwrap().len();
    assert_eq!(shapes[0].as_array().unwrap()[n - 2..], [4, 6]);
    assert_eq!(shapes[1].as_array().unwrap()[n - 2..], [2, 3]);
    let listed: Value = serde_json::from_str(&shell.ok("meta get image levels")).unwrap();
    assert_eq!(listed[1]["name"], "l_1.tdb");
    assert_eq!(&listed[1]["shape"], shapes[1]);
    let axes: Value = serde_json::from_str(&shell.ok("meta get image metadata")).unwrap();
    assert_eq!(&axes["axes"][1]["storedShape"], shapes[1]);
    assert_eq!(shell.ok("meta get image/l_1.tdb level"), "1\n");
    assert!(shell.ok("export image/l_1.tdb - --format csv").contains("0,0,0,4\n"));
}

#[test]
fn overviews_keep_the_values_of_enumerations_and_leave_out_invalid_ones() {
    let shell = Shell::new();
    let json = r#"{"type": "dense", "dimensions": [
            {"name": "y", "type": "int64", "domain": [0, 1], "tile": 2},
            {"name": "x", "type": "int64", "domain": [0, 3], "tile": 4}],
        "attributes": [{"name": "cover", "type": "uint8", "enumeration": "cover"}, {"name": "v", "type": "int16"}],
        "enumerations": [{"name": "cover", "type": "string_utf8", "ordered": false, "values": ["sea", "ice", "land"]}]}"#;
    shell.file("schema.json", json);
    shell.ok("create a --schema schema.json");
    shell.file(
        "in.csv",
        "y,x,cover,v\n0,0,sea,1\n0,1,land,3\n0,2,ice,5\n0,3,ice,7\n1,0,land,900\n1,1,land,2\n1,2,sea,-900\n1,3,sea,6\n",
    );
    shell.ok("write a in.csv --points");
    shell.ok("meta set a __tiledb_attr.v.valid_range 0,100 --type int16");
    shell.ok("overviews a --factors 2");
    assert_eq!(
        shell.ok("export a.2 - --format csv"),
        "y,x,cover,v\n0,0,land,2\n0,1,ice,6\n"
    );
    assert_eq!(shell.ok("meta get a.2 __tiledb_attr.v.valid_range"), "0,100\n");
    let (_, error) = shell.fails("overviews a --factors 4 --method mean");
    assert!(error.contains("'cover' has values of the enumeration"), "{error}");
}
