//! The Zarr view of what real applications wrote: names, coordinates, units, packing, missing values and places.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use hyperslab::OpenOptions;
use hyperslab::blocking::block_on;
use hyperslab::view::{Source, View};
use hyperslab_tests::conventions::in_memory;
use serde_json::{Value, json};

/// A view of the array or group at `path` in an example.
fn view(example: &str, path: &str) -> View {
    let source = Source {
        context: in_memory(example),
        url: String::new(),
        path: format!("{example}/{path}"),
        options: OpenOptions::default(),
        name: String::new(),
    };
    View::new(source, u64::MAX)
}

fn read(view: &View, path: &str) -> Vec<u8> {
    block_on(view.read_file(&format!("zarr/{path}"))).unwrap().to_vec()
}

fn metadata(view: &View, name: &str) -> Value {
    serde_json::from_slice(&read(view, &format!("{name}/zarr.json"))).unwrap()
}

fn floats(view: &View, chunk: &str) -> Vec<f64> {
    let bytes = read(view, chunk);
    let name = chunk.split('/').next().unwrap();
    match metadata(view, name)["data_type"].as_str() {
        Some("float32") => bytes
            .chunks(4)
            .map(|b| f32::from_le_bytes(b.try_into().unwrap()).into())
            .collect(),
        _ => bytes
            .chunks(8)
            .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
            .collect(),
    }
}

fn names(view: &View) -> Vec<String> {
    let list = block_on(view.list("zarr")).unwrap();
    list.into_iter().map(|entry| entry.name).collect()
}

#[test]
fn variables_of_netcdf_have_coordinates_units_and_packing() {
    for (path, time) in [("per_variable/t2m", "time"), ("collected/array6", "time")] {
        let view = view("cf_netcdf", path);
        let t2m = metadata(&view, "t2m");
        assert_eq!(t2m["dimension_names"], json!(["time", "lat", "lon"]), "{path}");
        // The time axis has room for 8.
        assert_eq!(t2m["shape"], json!([3, 4, 6]));
        let attributes = &t2m["attributes"];
        for (key, value) in [
            ("units", json!("K")),
            ("long_name", json!("2 metre temperature")),
            ("scale_factor", json!(0.01)),
            ("add_offset", json!(273.15)),
            // Of cells that were not written, and the one that the file states.
            ("_FillValue", json!(-32768)),
            ("missing_value", json!(-32767)),
            ("grid_mapping", json!("spatial_ref")),
        ] {
            assert_eq!(attributes[key], value, "{path} {key}");
        }
        assert_eq!(floats(&view, "lat/c/0"), [45.0, 30.0, 15.0, 0.0]);
        let lat = metadata(&view, "lat");
        let (units, name) = (&lat["attributes"]["units"], &lat["attributes"]["standard_name"]);
        assert_eq!((units, name), (&json!("degrees_north"), &json!("latitude")));
        let stated = metadata(&view, time);
        assert_eq!(stated["attributes"]["units"], "days since 2000-01-01 00:00:00");
        assert_eq!(stated["attributes"]["calendar"], "standard");
        let grid = metadata(&view, "spatial_ref");
        assert_eq!(grid["shape"], json!([]));
        assert_eq!(grid["attributes"]["grid_mapping_name"], "latitude_longitude");
        let group: Value = serde_json::from_slice(&read(&view, "zarr.json")).unwrap();
        assert_eq!(group["consolidated_metadata"]["metadata"]["spatial_ref"], grid);
    }
}

#[test]
fn rasters_of_gdal_lie_where_they_lie() {
    let fine = view("gdal_raster", "l_0");
    assert_eq!(
        names(&fine),
        ["TDB_VALUES", "BANDS", "Y", "X", "spatial_ref", "zarr.json"]
    );
    let values = metadata(&fine, "TDB_VALUES");
    // The domain is padded to 256 × 256.
    assert_eq!(values["shape"], json!([1, 70, 100]));
    let attributes = &values["attributes"];
    assert_eq!(attributes["_FillValue"], json!(-9999));
    assert_eq!(
        (&attributes["scale_factor"], &attributes["add_offset"]),
        (&json!(0.1), &json!(5.0))
    );
    assert_eq!(
        (&attributes["units"], &attributes["long_name"]),
        (&json!("m"), &json!("height"))
    );
    assert_eq!(attributes["proj:code"], "EPSG:32633");
    // The stored text is of the first version of well-known text.
    assert_eq!(attributes["proj:wkt2"], Value::Null);
    assert_eq!(attributes["spatial:dimensions"], json!(["Y", "X"]));
    assert_eq!(
        attributes["spatial:transform"],
        json!([10.0, 0.0, 500_000.0, 0.0, -10.0, 5_000_000.0])
    );
    assert_eq!(
        attributes["spatial:bbox"],
        json!([500_000.0, 4_999_300.0, 501_000.0, 5_000_000.0])
    );
    assert_eq!(attributes["spatial:shape"], json!([70, 100]));
    let conventions = attributes["zarr_conventions"].as_array().unwrap();
    let named: Vec<&Value> = conventions.iter().map(|c| &c["name"]).collect();
    assert_eq!(named, ["proj", "spatial"]);
    let grid = metadata(&fine, "spatial_ref")["attributes"].clone();
    assert!(grid["crs_wkt"].as_str().unwrap().starts_with("PROJCS["));
    assert_eq!(grid["GeoTransform"], "500000 10 0 5000000 0 -10");
    // A tile has 32 columns, so the last chunk has 4.
    assert_eq!(metadata(&fine, "X")["shape"], json!([100]));
    let (first, last) = (floats(&fine, "X/c/0"), floats(&fine, "X/c/3"));
    assert_eq!((first[0], last[3]), (500_005.0, 500_995.0));
    // The overview has twice the cell size.
    assert_eq!(
        floats(&view("gdal_raster", "l_1"), "Y/c/0")[..2],
        [4_999_990.0, 4_999_970.0]
    );
}

#[test]
fn images_have_the_sizes_of_their_group() {
    let fine = view("bioimg_ome", "l_0.tdb");
    let y = metadata(&fine, "Y");
    assert_eq!(
        (&y["attributes"]["units"], &y["attributes"]["axis"]),
        (&json!("µm"), &json!("Y"))
    );
    assert_eq!(floats(&fine, "Y/c/0")[..3], [0.0, 0.5, 1.0]);
    // A cell of the second level is centred between two of the first.
    assert_eq!(floats(&view("bioimg_ome", "l_1.tdb"), "Y/c/0")[..3], [0.25, 1.25, 2.25]);
    assert!(!names(&fine).contains(&"spatial_ref".to_owned()));
}

#[test]
fn coordinates_may_be_in_dimension_labels() {
    let view = view("gdal_mdim", "temp");
    assert_eq!(floats(&view, "y/c/0"), [30.0, 20.0, 10.0]);
    let temp = metadata(&view, "temp")["attributes"].clone();
    assert_eq!((&temp["units"], &temp["proj:code"]), (&json!("K"), &json!("EPSG:4326")));
    assert_eq!(temp["proj:projjson"]["name"], "WGS 84");
    // CF has no attribute for PROJJSON.
    assert_eq!(temp["grid_mapping"], Value::Null);
}
