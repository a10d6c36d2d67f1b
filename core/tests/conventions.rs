//! Descriptions of odd and hostile metadata: a note, never a failure, and bounded.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;
use std::sync::Arc;

use hyperslab::conventions::{Answer, Application, Content, Dataset, Description, Member, Object, Request, Step};
use hyperslab::metadata::MetaValue;
use hyperslab::schema::{ArrayType, Attribute, Dimension, DimensionLabel, Schema};
use hyperslab::{CellCount, Datatype, Scalar, ScalarRange};
use proptest::prelude::*;

type Metadata = BTreeMap<String, MetaValue>;

fn texts(pairs: &[(&str, &str)]) -> Metadata {
    let text = |(key, value): &(&str, &str)| ((*key).to_owned(), MetaValue::text(value));
    pairs.iter().map(text).collect()
}

fn array(schema: Schema, metadata: Metadata) -> Object {
    Object {
        content: Content::Array {
            schema: Arc::new(schema),
            non_empty_domain: None,
        },
        metadata,
    }
}

fn dense(dimensions: &[&str], attributes: &[&str]) -> Schema {
    let dimension = |n: &&str| Dimension::new(n, Datatype::Uint64, 0_u64, 7_u64, 4_u64);
    let attribute = |n: &&str| Attribute::new(n, Datatype::Int16, CellCount::ONE);
    let (dimensions, attributes) = (dimensions.iter().map(dimension), attributes.iter().map(attribute));
    Schema::new(ArrayType::Dense, dimensions.collect(), attributes.collect())
}

fn group(members: &[(&str, bool)], metadata: Metadata) -> Object {
    let member = |(uri, relative): &(&str, bool)| Member {
        name: None,
        uri: (*uri).to_owned(),
        relative: *relative,
        listed: true,
    };
    Object {
        content: Content::Group {
            members: members.iter().map(member).collect(),
        },
        metadata,
    }
}

/// The dataset of the objects at these paths, and the number of requests it took.
fn describe_counting(objects: &BTreeMap<String, Object>) -> (Dataset, usize) {
    let mut description = Description::default();
    let mut asked = 0;
    for _ in 0..64 {
        let requests = match description.step() {
            Step::Done(dataset) => return (*dataset, asked),
            Step::Need(requests) => requests,
        };
        asked += requests.len();
        for request in requests {
            let found = match &request {
                Request::Object(path) => objects.get(path).map(|o| Answer::Object(Box::new(o.clone()))),
                Request::Numbers { count, .. } => Some(Answer::Numbers((0..*count).map(|i| i as f64).collect())),
            };
            description.answer(
                request,
                found.unwrap_or_else(|| Answer::Missing("nothing is there".into())),
            );
        }
    }
    panic!("64 rounds do not suffice");
}

fn describe(objects: &[(&str, Object)]) -> Dataset {
    let objects = objects
        .iter()
        .map(|(path, object)| ((*path).to_owned(), object.clone()));
    describe_counting(&objects.collect()).0
}

fn noted(dataset: &Dataset, part: &str) {
    assert!(
        dataset.notes.iter().any(|n| n.contains(part)),
        "{part:?} is not in {:?}",
        dataset.notes
    );
}

#[test]
fn broken_xml_is_a_note_and_the_schema_counts() {
    let raster = |xml: &str| array(dense(&["BANDS", "Y", "X"], &["TDB_VALUES"]), texts(&[("_gdal", xml)]));
    for xml in [
        "",
        "<PAMDataset><SRS>",
        "{}",
        "<a></b>",
        &"<x>".repeat(1000),
        &"x".repeat(2 << 20),
    ] {
        let dataset = describe(&[("", raster(xml))]);
        assert_eq!(dataset.application, Application::GdalRaster);
        assert_eq!(dataset.variables[0].axes[2].length, Some(8));
        assert!(dataset.crs.is_empty());
    }
    noted(&describe(&[("", raster("<PAMDataset><SRS>"))]), "not valid XML");
    // Bands are counted from 1.
    let odd = array(
        dense(&["Y", "X"], &["TDB_VALUES_0", "TDB_VALUES_x"]),
        texts(&[("_gdal", "<a/>")]),
    );
    assert!(describe(&[("", odd)]).channels.is_empty());
    // Sizes beyond the array, and numbers that are none.
    let xml = "<PAMDataset><GeoTransform>1,nan,0,0,0,1</GeoTransform><Metadata domain=\"IMAGE_STRUCTURE\">\
        <MDI key=\"X_SIZE\">99999999999999999999</MDI><MDI key=\"Y_SIZE\">9000</MDI></Metadata>\
        <PAMRasterBand band=\"1\"><Scale>inf</Scale></PAMRasterBand></PAMDataset>";
    let variable = &describe(&[("", raster(xml))]).variables[0];
    assert_eq!(
        (variable.axes[1].length, variable.geotransform, variable.packing),
        (Some(8), None, None)
    );
}

#[test]
fn broken_json_is_a_note() {
    let deep = "[".repeat(1 << 16);
    for json in ["{", "", "[1", "\u{0}", deep.as_str()] {
        let image = texts(&[
            ("dataset_type", "bioimg"),
            ("metadata", json),
            ("levels", json),
            ("channels", json),
        ]);
        let level = array(dense(&["Y", "X"], &["intensity"]), Metadata::new());
        let dataset = describe(&[("", group(&[("l_0.tdb", true)], image)), ("l_0.tdb", level)]);
        assert_eq!((dataset.application, dataset.variables.len()), (Application::Bioimg, 1));
        noted(&dataset, "'metadata' is not valid JSON");
        let frame = array(
            dense(&["__tiledb_rows"], &["a"]),
            texts(&[("__pandas_index_dims", json)]),
        );
        noted(&describe(&[("", frame)]), "'__pandas_index_dims' is not a JSON object");
        let overviews = array(dense(&["x"], &["a"]), texts(&[("overviews", json)]));
        noted(&describe(&[("", overviews)]), "'overviews' is no list");
    }
}

#[test]
fn values_of_wrong_types_are_ignored() {
    let number = MetaValue::bytes(Datatype::Float64, &1.5_f64.to_le_bytes());
    for key in [
        "dataset_type",
        "_gdal",
        "Conventions",
        "overviews",
        "_CRS",
        "title",
        "soma_object_type",
    ] {
        let metadata = Metadata::from([(key.to_owned(), number.clone())]);
        let dataset = describe(&[("", array(dense(&["y", "x"], &["a"]), metadata.clone()))]);
        assert!(dataset.levels.is_empty() && dataset.crs.is_empty(), "{key}");
        describe(&[("", group(&[], metadata))]);
    }
    let json = r#"{"channels":{"intensity":[{"color":{"red":-1,"green":1e9,"blue":"x"},"min":"a","name":7}, 3]},
        "physicalSizeX":"0.5","physicalSizeY":-1}"#;
    let image = group(
        &[("l_0.tdb", true)],
        texts(&[("dataset_type", "bioimg"), ("metadata", json), ("pixel_depth", "0")]),
    );
    let dataset = describe(&[
        ("", image),
        (
            "l_0.tdb",
            array(dense(&["C", "Y", "X"], &["intensity"]), Metadata::new()),
        ),
    ]);
    assert_eq!(
        (
            dataset.channels[0].color,
            dataset.channels[0].range,
            &dataset.channels[0].name
        ),
        (None, None, &None)
    );
    noted(&dataset, "2 channels are described, and the array has 8");
}

#[test]
fn code_is_never_passed_on() {
    let code = r#"{"py/reduce": [{"py/type": "os.system"}, {"py/tuple": ["ls"]}]}"#;
    let keys = [
        "original_metadata",
        "json_write_kwargs",
        "pickled_write_kwargs",
        "object_reader_source_code",
    ];
    let metadata = |kind: &str| {
        let mut all = texts(&keys.map(|k| (k, code)));
        all.extend(texts(&[("dataset_type", kind), ("Conventions", "CF-1.8")]));
        all
    };
    for kind in ["bioimg", "vector_search", "vcf", "raster", "none"] {
        let level = array(dense(&["Y", "X"], &["a"]), metadata("none"));
        let dataset = describe(&[("", group(&[("l_0.tdb", true)], metadata(kind))), ("l_0.tdb", level)]);
        let json = serde_json::to_string(&dataset).unwrap();
        assert!(!json.contains("py/") && !json.contains("os.system"), "{kind}: {json}");
    }
}

#[test]
fn members_that_lead_back_or_out_are_left_out() {
    let cyclic = [
        ("..", true),
        (".", true),
        ("", true),
        ("a/..", true),
        ("../b", true),
        ("a", true),
    ];
    let dataset = describe(&[
        ("", group(&cyclic, Metadata::new())),
        ("a", group(&cyclic, Metadata::new())),
    ]);
    assert_eq!(dataset.children[0].path, "a");
    noted(&dataset, "is not below the group");
    noted(&dataset, "member 'a' was left out: nothing is there");
    // A group in itself, as deep as links go.
    let name = |depth: usize| vec!["a"; depth].join("/");
    let deep = (0..100)
        .map(|d| (name(d), group(&[("a", true)], Metadata::new())))
        .collect();
    let (dataset, asked) = describe_counting(&deep);
    noted(&dataset, "groups this deep");
    assert!(asked < 20, "{asked}");
}

#[test]
fn stale_uris_fall_back_to_their_last_names() {
    let raster = texts(&[("dataset_type", "raster")]);
    let members = [
        ("file:///old/place/map/l_0", false),
        ("s3://gone/l_1", false),
        ("file:///old/lost", false),
    ];
    let level = || array(dense(&["Y", "X"], &["TDB_VALUES"]), raster.clone());
    let dataset = describe(&[
        ("", group(&members, raster.clone())),
        ("l_0", level()),
        ("map/l_0", level()),
        ("l_1", level()),
    ]);
    assert_eq!(
        dataset.levels.iter().map(|l| l.path.as_str()).collect::<Vec<_>>(),
        ["map/l_0", "l_1"]
    );
    noted(&dataset, "absolute URIs outside of the group");
    noted(&dataset, "member 'file:///old/lost' was left out");
}

#[test]
fn work_and_notes_are_bounded() {
    let names: Vec<String> = (0..5000).map(|i| format!("a{i}")).collect();
    let members: Vec<(&str, bool)> = names.iter().map(|n| (n.as_str(), true)).collect();
    let (dataset, asked) = describe_counting(&BTreeMap::from([(String::new(), group(&members, Metadata::new()))]));
    assert!(asked <= 1024 && dataset.notes.len() <= 64, "{asked}");
    let keys = (0..5000).map(|i| (format!("k{i}"), MetaValue::text(&"v".repeat(10_000))));
    let dataset = describe(&[("", group(&[], keys.collect()))]);
    assert!(serde_json::to_string(&dataset).unwrap().len() < 2 << 20);
    noted(&dataset, "only 256 of 5000 metadata keys");
}

#[test]
fn old_dots_and_flags_of_cf_are_read_with_care() {
    let mut metadata = texts(&[
        ("__tiledb_attr.a.b.units", "m"),
        ("__tiledb_attr.a.units", "K"),
        ("__tiledb_attr.a.flag_meanings", "one two"),
        ("__tiledb_attr.a.grid_mapping", "nowhere: x y"),
        ("__tiledb_attr.a.scale_factor", "nan"),
    ]);
    metadata.insert(
        "__tiledb_attr.a.flag_values".into(),
        MetaValue::bytes(Datatype::Uint8, &[1]),
    );
    let dataset = describe(&[("", array(dense(&["lat"], &["a", "a.b"]), metadata))]);
    let units: Vec<_> = dataset.variables.iter().map(|v| v.unit.as_deref()).collect();
    assert_eq!(units, [Some("K"), Some("m")]);
    assert_eq!(dataset.variables[0].flags.len(), 1);
    noted(&dataset, "1 flags have 2 meanings");
    noted(&dataset, "no grid mapping 'nowhere'");
    noted(&dataset, "scale_factor");
}

#[test]
fn point_clouds_variants_and_palettes_are_described() {
    let float = |n: &str| Dimension::new(n, Datatype::Float64, -1e9, 1e9, 1e9);
    let attributes = [("BitFields", Datatype::Uint16), ("Red", Datatype::Uint16)];
    let attributes = attributes.map(|(n, t)| Attribute::new(n, t, CellCount::ONE));
    let cloud = Schema::new(ArrayType::Sparse, ["X", "Y", "Z"].map(float).into(), attributes.into());
    let pipeline = r#"{"root":{"writers.tiledb":{"spatialreference":"PROJCS[\"U\",AUTHORITY[\"EPSG\",\"32633\"]]"}}}"#;
    let pdal = Metadata::from([(
        "_pdal".to_owned(),
        MetaValue::bytes(Datatype::Uint8, format!("{pipeline}\0").as_bytes()),
    )]);
    let dataset = describe(&[("", array(cloud.clone(), pdal))]);
    assert_eq!(
        (dataset.application, &dataset.tables[0].points[..]),
        (Application::Pdal, &["X", "Y", "Z"].map(String::from)[..])
    );
    assert_eq!(dataset.crs[0].code.as_deref(), Some("EPSG:32633"));
    let returns = dataset.tables[0]
        .columns
        .iter()
        .find(|c| c.name == "NumberOfReturns")
        .unwrap();
    let bits = returns.bits.as_ref().unwrap();
    assert_eq!((bits.of.as_str(), bits.shift, bits.width), ("BitFields", 12, 4));

    let variants = group(&[("data", true)], texts(&[("dataset_type", "vcf")]));
    let dataset = describe(&[("", variants), ("data", array(cloud, Metadata::new()))]);
    assert_eq!(
        (dataset.application, dataset.tables[0].name.as_str()),
        (Application::Vcf, "data")
    );
}

#[test]
fn overviews_and_names_of_bare_arrays_are_described() {
    let overviews = r#"[{"factor":4,"path":"../n.4"},{"factor":2,"path":"../n.2"},{"factor":0,"path":"x"},{"factor":9,"path":"../lost"},{"factor":8,"path":"../../n.8"},{"factor":8,"path":"//other.example/n.8"}]"#;
    let own = array(dense(&["lat", "n"], &["a"]), texts(&[("overviews", overviews)]));
    let small = || array(dense(&["lat", "n"], &["a"]), Metadata::new());
    let dataset = describe(&[
        ("", own),
        ("../n.4", small()),
        ("../n.2", small()),
        ("../../n.8", small()),
        ("other.example/n.8", small()),
    ]);
    assert_eq!(dataset.application, Application::Hyperslab);
    let levels: Vec<_> = dataset.levels.iter().map(|l| (l.path.as_str(), l.factors[0])).collect();
    assert_eq!(levels, [("", 1.0), ("../n.2", 2.0), ("../n.4", 4.0)]);
    let axes = &dataset.variables[0].axes;
    let json = |i: usize| serde_json::to_value(&axes[i]).unwrap();
    assert_eq!(
        (json(0)["role"].as_str(), json(0)["guessed"].as_bool()),
        (Some("y"), Some(true))
    );
    assert_eq!(json(1)["role"], "other");
    noted(&dataset, "no factor or no path");
    noted(&dataset, "of factors 9, 9 was left out");
}

#[test]
fn overviews_out_of_reach_have_the_shape_that_follows() {
    let overviews = r#"[{"factor":3,"path":"../n.3"}]"#;
    let mut description = Description::default();
    let own = array(dense(&["y", "x"], &["a"]), texts(&[("overviews", overviews)]));
    description.answer(Request::Object(String::new()), Answer::Object(Box::new(own)));
    let dataset = loop {
        match description.step() {
            Step::Done(dataset) => break dataset,
            Step::Need(requests) => requests
                .into_iter()
                .for_each(|r| description.answer(r, Answer::Outside)),
        }
    };
    assert_eq!(
        (dataset.levels[1].path.as_str(), &dataset.levels[1].shape[..]),
        ("../n.3", &[3, 3][..])
    );
    assert!(dataset.notes.is_empty(), "{:?}", dataset.notes);
}

fn any_value() -> impl Strategy<Value = MetaValue> {
    let words = [
        "raster",
        "bioimg",
        "vcf",
        "vector_search",
        "geometry",
        "SOMAExperiment",
        "SOMAMeasurement",
        "SOMAScene",
        "SOMAMultiscaleImage",
        "SOMADataFrame",
        "SOMAGeometryDataFrame",
        "SOMADenseNDArray",
        "CF-1.8",
        "lat lon",
        "a",
        "[20]",
        "[[1,2],{\"level\":0,\"shape\":[3,-1]}]",
        "{\"channels\":{\"intensity\":[{}]},\"physicalSizeX\":0.5}",
        "{\"data_axis_permutation\":[9,0],\"shape\":[]}",
        "[{\"name\":\"x\"},3]",
        "[{\"factor\":2,\"path\":\"..\"}]",
        "{\"transform_type\":\"ScaleTransform\",\"transform\":{\"scale_factors\":[0]}}",
        "days since 2000-01-01",
        "<PAMDataset><PAMRasterBand band=\"3\"><CategoryNames><Category/></CategoryNames></PAMRasterBand></PAMDataset>",
    ];
    let text = prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(str::to_owned),
        ".{0,40}"
    ];
    let bytes = (0..44_u8, proptest::collection::vec(any::<u8>(), 0..40));
    prop_oneof![
        3 => text.prop_map(|t| MetaValue::text(&t)),
        1 => bytes.prop_map(|(id, data)| MetaValue::bytes(Datatype::from_id(id).unwrap(), &data)),
    ]
}

fn any_metadata() -> impl Strategy<Value = Metadata> {
    let keys = [
        "soma_object_type",
        "dataset_type",
        "_gdal",
        "overviews",
        "_CRS",
        "_UNIT",
        "metadata",
        "levels",
        "channels",
        "pixel_depth",
        "axes",
        "valid",
        "level",
        "__pandas_index_dims",
        "__pandas_attribute_repr",
        "Conventions",
        "_pdal",
        "__tiledb_attr.a.units",
        "__tiledb_attr.a.valid_range",
        "__tiledb_attr.a.flag_values",
        "__tiledb_attr.lat.axis",
        "__tiledb_attr.a.grid_mapping",
        "__tiledb_attr.a.coordinates",
        "soma_multiscale_image_schema",
        "soma_coordinate_space",
        "soma_level_a",
        "soma_scene_registry_a",
        "GEOMETRY_ATTRIBUTE_NAME",
        "PAD_X",
        "FEATURE_COUNT",
        "base_sizes",
        "_DIM_TYPE",
        "title",
    ];
    let key = prop_oneof![9 => proptest::sample::select(keys.to_vec()).prop_map(str::to_owned), 1 => ".{0,12}"];
    proptest::collection::btree_map(key, any_value(), 0..10)
}

fn any_array() -> impl Strategy<Value = Object> {
    let names = [
        "a",
        "lat",
        "lat.data",
        "x",
        "X",
        "Y",
        "Z",
        "C",
        "BANDS",
        "_X",
        "_Y",
        "soma_dim_0",
        "soma_joinid",
        "",
        "rows",
    ];
    let types = [
        Datatype::Uint64,
        Datatype::Int32,
        Datatype::Float64,
        Datatype::DatetimeDay,
        Datatype::Uint8,
    ];
    let dimension = (
        proptest::sample::select(names.to_vec()),
        proptest::sample::select(types.to_vec()),
        any::<(i64, i64)>(),
    );
    let dimension = dimension.prop_map(|(name, datatype, (a, b))| {
        let end = |v: i64| {
            Scalar::from_i128(datatype, i128::from(v))
                .or_else(|| Scalar::from_i128(datatype, 3))
                .unwrap()
        };
        Dimension::new(name, datatype, end(a.min(b)), end(a.max(b)), end(1))
    });
    let attribute = (proptest::sample::select(names.to_vec()), 0..44_u8, any::<bool>()).prop_map(|(name, id, var)| {
        let cell = if var { CellCount::Var } else { CellCount::ONE };
        Attribute::new(name, Datatype::from_id(id).unwrap(), cell)
    });
    let (dimensions, attributes) = (
        proptest::collection::vec(dimension, 0..4),
        proptest::collection::vec(attribute, 0..4),
    );
    (any::<[bool; 3]>(), dimensions, attributes, any_metadata()).prop_map(
        |([sparse, label, written], d, a, metadata)| {
            let kind = if sparse { ArrayType::Sparse } else { ArrayType::Dense };
            let mut schema = Schema::new(kind, d, a);
            schema.labels.extend(label.then(|| DimensionLabel {
                dimension: 1,
                name: "l".into(),
                relative: true,
                uri: "a".into(),
                attribute: "a".into(),
                order: hyperslab::schema::DataOrder::Unordered,
                datatype: Datatype::Float64,
                cell: CellCount::ONE,
                external: false,
            }));
            let non_empty = || {
                schema
                    .dimensions
                    .iter()
                    .filter_map(|d| d.domain.clone())
                    .collect::<Vec<ScalarRange>>()
            };
            let non_empty_domain = written.then(non_empty);
            Object {
                content: Content::Array {
                    schema: Arc::new(schema),
                    non_empty_domain,
                },
                metadata,
            }
        },
    )
}

fn any_group() -> impl Strategy<Value = Object> {
    let uris = [
        "a",
        "l_0",
        "l_0.tdb",
        "l_1.tdb",
        "obs",
        "ms",
        "X",
        "data",
        "shuffled_vectors",
        "..",
        "lat",
        "img",
        "",
    ];
    let member =
        (proptest::sample::select(uris.to_vec()), any::<(bool, bool)>()).prop_map(|(uri, (relative, listed))| Member {
            name: relative.then(|| uri.to_owned()),
            uri: uri.to_owned(),
            relative,
            listed,
        });
    (proptest::collection::vec(member, 0..6), any_metadata()).prop_map(|(members, metadata)| Object {
        content: Content::Group { members },
        metadata,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_fail(objects in proptest::collection::vec(prop_oneof![any_array(), any_group()], 1..6)) {
        let mut description = Description::default();
        let mut asked = 0;
        let dataset = loop {
            let requests = match description.step() {
                Step::Done(dataset) => break dataset,
                Step::Need(requests) => requests,
            };
            for request in requests {
                // The first object is the root; others repeat, so that groups are nested.
                let object = objects[asked % objects.len()].clone();
                let answer = match &request {
                    Request::Object(_) if asked % 5 == 4 => Answer::Missing("lost".into()),
                    Request::Object(_) => Answer::Object(Box::new(object)),
                    Request::Numbers { count, .. } => Answer::Numbers((0..*count % 9).map(|i| i as f64).collect()),
                };
                description.answer(request, answer);
                asked += 1;
            }
            prop_assert!(asked <= 2048);
        };
        let json = serde_json::to_string(&dataset).unwrap();
        prop_assert!(!json.contains("null"), "{}", json);
    }
}
