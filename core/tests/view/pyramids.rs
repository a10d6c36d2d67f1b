//! The levels of rasters and images as one Zarr hierarchy.

use std::sync::Arc;

use super::*;
use hyperslab::vfs::faulty::{Fault, FaultyVfs};
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn texts(pairs: &[(&str, &str)]) -> Vec<Entry> {
    let entry = |(key, value): &(&str, &str)| Entry {
        key: (*key).to_owned(),
        value: Some(MetaValue::text(value)),
    };
    pairs.iter().map(entry).collect()
}

fn options(seed: u8) -> WriteOptions {
    WriteOptions {
        timestamp_ms: 10,
        seed: [seed; 32],
        sync: false,
    }
}

/// The name, lengths and metadata of an array.
type Level<'a> = (&'a str, &'a [u64], &'a [(&'a str, &'a str)]);

/// A group with arrays of these lengths along the dimensions, whose cells count up.
fn make(group: &[(&str, &str)], dimensions: &[&str], attribute: &str, levels: &[Level<'_>]) -> View {
    let context = Context::memory();
    block_on(create_group(&context, "g")).unwrap();
    block_on(write_group_metadata(&context, "g", &texts(group), None, &options(1))).unwrap();
    for (number, (name, lengths, metadata)) in levels.iter().enumerate() {
        let dimension =
            |(name, length): (&&str, &u64)| Dimension::new(name, Datatype::Uint64, 0_u64, *length - 1, 2_u64);
        let dimensions = dimensions.iter().zip(*lengths).map(dimension).collect();
        let attributes = vec![Attribute::new(attribute, Datatype::Uint16, CellCount::ONE)];
        let schema = Schema::new(ArrayType::Dense, dimensions, attributes);
        let path = format!("g/{name}");
        block_on(Array::create(&context, &path, &schema, &[], &created())).unwrap();
        let count = lengths.iter().product::<u64>();
        let values: Vec<u16> = (0..count).map(|v| u16::try_from(v).unwrap()).collect();
        let cells = Cells {
            region: None,
            layout: Layout::RowMajor,
            columns: vec![(attribute.to_owned(), Column::from_values(Datatype::Uint16, &values))],
        };
        write(&context, &path, 10 + number as u64, cells);
        let array = block_on(Array::open(&context, &path, &OpenOptions::default())).unwrap();
        block_on(array.write_metadata(&texts(metadata), &options(2))).unwrap();
    }
    let source = Source {
        context,
        url: String::new(),
        path: "g".into(),
        options: OpenOptions::default(),
        name: "g".into(),
    };
    View::new(source, NOW_MS)
}

fn document(view: &View, path: &str) -> Value {
    serde_json::from_slice(&file(view, path)).unwrap()
}

fn raster() -> View {
    let level = |x: u64, y: u64, step: u64| {
        format!(
            "<PAMDataset><SRS>PROJCRS[\"WGS 84 / UTM zone 33N\",ID[\"EPSG\",32633]]</SRS><GeoTransform>500000,{step},0,4100000,0,-{step}</GeoTransform>\
             <Metadata domain=\"IMAGE_STRUCTURE\"><MDI key=\"X_SIZE\">{x}</MDI><MDI key=\"Y_SIZE\">{y}</MDI></Metadata>\
             </PAMDataset>"
        )
    };
    let (fine, coarse) = (level(8, 6, 10), level(4, 3, 20));
    make(
        &[("dataset_type", "raster")],
        &["BANDS", "Y", "X"],
        "TDB_VALUES",
        &[
            ("l_0", &[2, 6, 8], &[("_gdal", &fine)]),
            ("l_1", &[2, 3, 4], &[("_gdal", &coarse)]),
        ],
    )
}

#[test]
fn a_raster_has_its_levels_as_multiscales() {
    let view = raster();
    assert_eq!(names(&view, ""), ["README.md", "l_0", "l_1", "metadata.json", "zarr"]);
    assert_eq!(names(&view, "zarr"), ["0", "1", "zarr.json"]);
    assert_eq!(block_on(view.levels("")).unwrap(), ["g/l_0", "g/l_1"]);
    assert!(block_on(view.levels("l_0")).unwrap().is_empty());
    assert_eq!(names(&view, "zarr/1"), names(&view, "l_1/zarr"));
    let group = document(&view, "zarr/zarr.json");
    let attributes = &group["attributes"];
    assert_eq!(
        attributes["multiscales"]["layout"],
        json!([
            {"asset": "0", "transform": {"scale": [1.0, 1.0], "translation": [0.0, 0.0]}, "spatial:shape": [6, 8],
             "spatial:transform": [10.0, 0.0, 500_000.0, 0.0, -10.0, 4_100_000.0]},
            {"asset": "1", "derived_from": "0", "transform": {"scale": [2.0, 2.0], "translation": [0.0, 0.0]},
             "spatial:shape": [3, 4], "spatial:transform": [20.0, 0.0, 500_000.0, 0.0, -20.0, 4_100_000.0]},
        ])
    );
    let conventions = attributes["zarr_conventions"].as_array().unwrap();
    let known: Vec<&str> = conventions.iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(known, ["proj", "spatial", "multiscales"]);
    assert_eq!(attributes["proj:code"], "EPSG:32633");
    assert_eq!(attributes["grid_mapping"], Value::Null);
    // The metadata of all levels is repeated.
    let all = &group["consolidated_metadata"]["metadata"];
    assert_eq!(all["0/TDB_VALUES"], document(&view, "zarr/0/TDB_VALUES/zarr.json"));
    assert_eq!(all["1/X"], document(&view, "l_1/zarr/X/zarr.json"));
    assert_eq!(all["1"]["node_type"], "group");
    assert_eq!(
        file(&view, "zarr/1/TDB_VALUES/c/0/1/1"),
        file(&view, "l_1/zarr/TDB_VALUES/c/0/1/1")
    );
    assert!(
        String::from_utf8(file(&view, "README.md"))
            .unwrap()
            .contains("`zarr/`: all levels")
    );
    for name in ["zarr/2", "zarr/00", "zarr/l_0", "zarr/0/other", "zarr/zarr.json/x"] {
        assert!(block_on(view.lookup(name)).unwrap().is_none(), "{name}");
    }
}

#[test]
fn a_failed_request_does_not_hide_the_levels() {
    let whole = raster();
    let path = "zarr/0/TDB_VALUES/c/0/1/1";
    let right = file(&whole, path);
    let store = FaultyVfs::new(Arc::clone(&whole.source().context.vfs), Fault::default());
    let open = || {
        let context = Context::new(Arc::new(store.clone()));
        let source = whole.source().clone();
        View::new(Source { context, ..source }, NOW_MS)
    };
    assert_eq!(file(&open(), path), right);
    let calls = store.calls().len() as u64;
    assert!(calls > 5, "{calls}");
    for call in 0..calls {
        let view = open();
        store.set(Fault {
            at_call: Some(call),
            ..Fault::default()
        });
        match block_on(view.read_file(path)) {
            Ok(found) => assert_eq!(found, right, "call {call}"),
            Err(error) => assert!(error.to_string().contains("injected"), "call {call}: {error}"),
        }
        // Only one request fails, and the failure is not kept.
        assert_eq!(file(&view, path), right, "call {call}");
    }
}

#[test]
fn an_image_has_the_attributes_of_ome() {
    let metadata = json!({
        "channels": {"intensity": [
            {"id": "0", "name": "red", "color": {"red": 255, "green": 0, "blue": 0, "alpha": 255}, "min": 3, "max": 40},
            {"id": "1", "name": "far red"},
        ]},
        "physicalSizeX": 0.5, "physicalSizeXUnit": "µm", "physicalSizeY": 0.5, "physicalSizeYUnit": "µm",
        "timeIncrement": 2, "timeIncrementUnit": "s",
    });
    let view = make(
        &[("dataset_type", "bioimg"), ("metadata", &metadata.to_string())],
        &["T", "C", "Y", "X"],
        "intensity",
        &[
            ("l_0.tdb", &[3, 2, 8, 8], &[("level", "0")]),
            ("l_1.tdb", &[3, 2, 4, 2], &[("level", "1")]),
        ],
    );
    assert_eq!(
        document(&view, "zarr/zarr.json")["attributes"]["ome"],
        json!({
            "version": "0.5",
            "multiscales": [{
                "name": "g",
                "axes": [
                    {"name": "T", "type": "time", "unit": "second"},
                    {"name": "C", "type": "channel"},
                    {"name": "Y", "type": "space", "unit": "micrometer"},
                    {"name": "X", "type": "space", "unit": "micrometer"},
                ],
                "datasets": [
                    {"path": "0/intensity", "coordinateTransformations": [{"type": "scale", "scale": [2.0, 1.0, 0.5, 0.5]}]},
                    {"path": "1/intensity", "coordinateTransformations": [
                        {"type": "scale", "scale": [2.0, 1.0, 1.0, 2.0]},
                        {"type": "translation", "translation": [0.0, 0.0, 0.25, 0.75]},
                    ]},
                ],
            }],
            "omero": {"channels": [
                {"label": "red", "color": "FF0000", "active": true,
                 "window": {"start": 3.0, "end": 40.0, "min": 0.0, "max": 65535.0}},
                {"label": "far red", "color": "FFFFFF", "active": true,
                 "window": {"start": 0.0, "end": 65535.0, "min": 0.0, "max": 65535.0}},
            ]},
        })
    );
    let one = make(
        &[("dataset_type", "bioimg")],
        &["Y", "X"],
        "intensity",
        &[("l_0.tdb", &[4, 4], &[])],
    );
    let ome = &document(&one, "zarr/zarr.json")["attributes"]["ome"];
    assert_eq!(ome["multiscales"][0]["datasets"][0]["path"], "0/intensity");
    assert_eq!(ome["omero"], Value::Null);
    // OME-NGFF wants channels before space.
    let odd = make(
        &[("dataset_type", "bioimg")],
        &["Y", "X", "C"],
        "intensity",
        &[("l_0.tdb", &[4, 4, 2], &[])],
    );
    assert_eq!(document(&odd, "zarr/zarr.json")["attributes"], json!({}));
}

#[test]
fn groups_without_levels_have_no_hierarchy() {
    for kind in ["raster", "other"] {
        let view = make(&[("dataset_type", kind)], &["Y", "X"], "a", &[("l_0", &[4, 4], &[])]);
        assert_eq!(names(&view, ""), ["README.md", "l_0", "metadata.json"], "{kind}");
        assert!(block_on(view.lookup("zarr/zarr.json")).unwrap().is_none(), "{kind}");
    }
    // A member of this name is what it is.
    let view = make(
        &[("dataset_type", "bioimg")],
        &["Y", "X"],
        "intensity",
        &[("l_0.tdb", &[4, 4], &[]), ("zarr", &[4, 4], &[])],
    );
    assert!(names(&view, "zarr").contains(&"slices".to_owned()));
}
