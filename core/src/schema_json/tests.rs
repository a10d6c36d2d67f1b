use super::*;
use crate::column::Column;
use crate::datatype::{CellCount, Datatype};
use crate::format::attribute::DataOrder;
use crate::format::dimension_label::DimensionLabel;
use crate::format::pipeline::{Filter, MaxChunk, WebpFormat};
use crate::scalar::{Scalar, ScalarRange};

#[track_caller]
fn round_trip(schema: &Schema, enumerations: &[Enumeration]) -> Value {
    let json = to_json(schema, enumerations);
    // Goes through text, like a file.
    let json = serde_json::from_str(&json.to_string()).unwrap();
    let (back, values) = from_json(&json).unwrap();
    assert_eq!(&back, schema, "{json:#}");
    assert_eq!(values, enumerations, "{json:#}");
    json
}

fn dimension() -> Dimension {
    Dimension::new("x", Datatype::Int64, 0_i64, 99_i64, 10_i64)
}

#[test]
fn the_shape_of_a_plain_schema() {
    let schema = Schema::new(
        ArrayType::Dense,
        vec![dimension()],
        vec![
            Attribute::new("a", Datatype::Int32, CellCount::ONE),
            Attribute::new("s", Datatype::StringUtf8, CellCount::Var),
        ],
    );
    let expect = json!({
        "type": "dense",
        "tile_order": "row-major",
        "cell_order": "row-major",
        "capacity": 10000,
        "dimensions": [{"name": "x", "type": "int64", "domain": [0, 99], "tile": 10}],
        "attributes": [{"name": "a", "type": "int32", "fill": -2_147_483_648_i64}, {"name": "s", "type": "string_utf8"}],
        "coords_filters": [{"name": "zstd"}],
        "offsets_filters": [{"name": "zstd"}],
        "validity_filters": [{"name": "rle"}],
    });
    assert_eq!(round_trip(&schema, &[]), expect);
    let keys: Vec<_> = to_json(&schema, &[]).as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys[0], "type", "entries come in an order for people");
}

#[test]
fn all_datatypes_and_fill_values_round_trip() {
    for &t in Datatype::ALL {
        for cell in [CellCount::ONE, CellCount::Fixed(3), CellCount::Var] {
            let default = Attribute::new("a", t, cell);
            let n = default.fill.len();
            for fill in [
                default.fill.clone(),
                vec![0; n],
                vec![1; n],
                vec![0x7f; n],
                vec![0xff; n],
                vec![0xfe; n],
            ] {
                let a = Attribute {
                    fill,
                    nullable: true,
                    fill_valid: true,
                    ..default.clone()
                };
                round_trip(&Schema::new(ArrayType::Dense, vec![dimension()], vec![a]), &[]);
            }
        }
    }
}

#[test]
fn dimensions_of_all_types_round_trip() {
    let dates = |t, lo: i64, hi: i64| Dimension::new("d", t, lo, hi, 7_i64);
    let dimensions = vec![
        Dimension::new("a", Datatype::Int8, -128_i8, 126_i8, -1_i8),
        Dimension::new("b", Datatype::Uint64, 1_u64, u64::MAX, 1_u64 << 60),
        Dimension::new("c", Datatype::Int64, i64::MIN, 0_i64, i64::MIN),
        Dimension::new("f", Datatype::Float32, -0.1_f32, f32::MAX, 0.3_f32),
        Dimension::new("g", Datatype::Float64, f64::MIN_POSITIVE, 1e300, 5.0_f64),
        Dimension {
            extent: None,
            ..Dimension::new("h", Datatype::Uint16, 0_u16, 9_u16, 1_u16)
        },
        Dimension {
            filters: Pipeline::new(vec![Filter::None]),
            ..Dimension::string("s")
        },
    ];
    round_trip(
        &Schema {
            allows_duplicates: true,
            ..Schema::new(ArrayType::Sparse, dimensions, Vec::new())
        },
        &[],
    );
    for &t in Datatype::ALL.iter().filter(|t| t.is_temporal()) {
        for (lo, hi) in [
            (0, 1),
            (i64::MIN + 1, i64::MAX),
            (-1_000_000_007, 1_700_000_000_123_456_789),
        ] {
            round_trip(&Schema::new(ArrayType::Sparse, vec![dates(t, lo, hi)], Vec::new()), &[]);
        }
    }
}

#[test]
fn dates_are_readable() {
    let d = Dimension::new("t", Datatype::DatetimeDay, 0_i64, 10_957_i64, 365_i64);
    let json = round_trip(&Schema::new(ArrayType::Sparse, vec![d], Vec::new()), &[]);
    assert_eq!(json["dimensions"][0]["domain"], json!(["1970-01-01", "2000-01-01"]));
    assert_eq!(json["dimensions"][0]["tile"], json!(365));
}

#[test]
fn all_filters_round_trip() {
    let level = -1;
    let filters = vec![
        Filter::None,
        Filter::Gzip { level: 9 },
        Filter::Zstd { level: -7 },
        Filter::Lz4 { level },
        Filter::Rle { level: 3 },
        Filter::Bzip2 { level: 1 },
        Filter::DoubleDelta {
            level: 2,
            reinterpret: Some(Datatype::Int32),
        },
        Filter::Delta {
            level,
            reinterpret: None,
        },
        Filter::BitWidthReduction { max_window: 512 },
        Filter::PositiveDelta { max_window: 7 },
        Filter::Bitshuffle,
        Filter::Byteshuffle,
        Filter::Md5,
        Filter::Sha256,
        Filter::Dictionary { level },
        Filter::FloatScale {
            scale: 0.1,
            offset: -3.5,
            byte_width: 2,
        },
        Filter::Xor,
        Filter::Webp {
            quality: 75.5,
            format: WebpFormat::Bgra,
            lossless: false,
            y_extent: 4,
            x_extent: 12,
        },
        Filter::Unknown {
            id: 99,
            options: vec![1, 255],
        },
    ];
    let pipeline = Pipeline {
        max_chunk_bytes: MaxChunk(0),
        filters,
    };
    let a = Attribute {
        filters: pipeline.clone(),
        ..Attribute::new("a", Datatype::Int32, CellCount::ONE)
    };
    let mut schema = Schema::new(ArrayType::Sparse, vec![dimension()], vec![a]);
    schema.coords_filters = Pipeline::default();
    schema.validity_filters = pipeline;
    round_trip(&schema, &[]);
}

#[test]
fn the_short_form_of_filters() {
    let parsed =
        parse_filters("byteshuffle, zstd:5,double_delta:int32,bit-width-reduction:64,float-scale:0.5:1:4").unwrap();
    let expect = [
        Filter::Byteshuffle,
        Filter::Zstd { level: 5 },
        Filter::DoubleDelta {
            level: -1,
            reinterpret: Some(Datatype::Int32),
        },
        Filter::BitWidthReduction { max_window: 64 },
        Filter::FloatScale {
            scale: 0.5,
            offset: 1.0,
            byte_width: 4,
        },
    ];
    assert_eq!(parsed.filters, expect);
    assert_eq!(parse_filters("").unwrap(), Pipeline::default());
    let why = |text: &str| parse_filters(text).unwrap_err().to_string();
    assert!(why("gzip:10").contains("does not accept '10'") && why("zstd:23").contains("does not accept '23'"));
    assert!(why("snappy").starts_with("there is no filter 'snappy'; the filters are none, gzip, zstd"));
    assert_eq!(
        why("zstd:fast"),
        "filter 'zstd:fast': the zstd filter does not accept 'fast'; its level is a whole number up to 22"
    );
    assert_eq!(
        why("md5:1"),
        "filter 'md5:1': the md5 filter does not accept '1'; it has no options"
    );
}

#[test]
fn enumerations_labels_and_the_current_domain_round_trip() {
    let enumeration = |name: &str, values, ordered| Enumeration {
        name: name.into(),
        file: String::new(),
        ordered,
        values,
    };
    let pairs = Column {
        cell: CellCount::Fixed(2),
        ..Column::from_values(Datatype::Int16, &[1_i16, 2, 3, 4])
    };
    let enumerations = [
        enumeration(
            "colour",
            Column::from_cells(Datatype::StringUtf8, ["red", "", "\u{e9}"]),
            false,
        ),
        enumeration(
            "raw",
            Column::from_cells(Datatype::StringAscii, [&b"\xff"[..], b"a"]),
            false,
        ),
        enumeration(
            "wide",
            Column::from_cells(Datatype::StringUtf16, [&b"a\0"[..], b"\x00\xd8"]),
            false,
        ),
        enumeration(
            "number",
            Column::from_values(Datatype::Float64, &[1.5_f64, f64::INFINITY]),
            true,
        ),
        enumeration("pairs", pairs, true),
        enumeration("none", Column::from_values::<u8>(Datatype::Bool, &[]), false),
        enumeration("flags", Column::from_values(Datatype::Bool, &[0_u8, 1, 7]), false),
    ];
    let a = Attribute {
        enumeration: Some("colour".into()),
        ..Attribute::new("a", Datatype::Uint8, CellCount::ONE)
    };
    let mut schema = Schema::new(ArrayType::Sparse, vec![dimension(), Dimension::string("s")], vec![a]);
    schema.enumerations = enumerations.iter().map(Into::into).collect();
    let ranges = vec![
        ScalarRange::new(3_i64, 7_i64),
        ScalarRange {
            lo: Scalar::Bytes(vec![1]),
            hi: Scalar::Bytes(vec![0xff]),
        },
    ];
    schema.current_domain = Some(CurrentDomain { ranges });
    let label = |dimension, uri: &str, order, cell| DimensionLabel {
        dimension,
        name: format!("l{dimension}"),
        relative: dimension == 0,
        uri: uri.into(),
        attribute: "label".into(),
        order,
        datatype: Datatype::Float64,
        cell,
        external: dimension == 1,
    };
    schema.labels = vec![
        label(0, "__labels/l0", DataOrder::Increasing, CellCount::ONE),
        label(1, "elsewhere", DataOrder::Decreasing, CellCount::Var),
    ];
    let json = round_trip(&schema, &enumerations);
    assert_eq!(json["enumerations"][0]["values"], json!(["red", "", "\u{e9}"]));
    assert_eq!(
        json["labels"][0],
        json!({"name": "l0", "type": "float64", "dimension": "x", "order": "increasing"})
    );
}

#[test]
fn errors_name_the_entry() {
    let check = |json: Value, expect: &str| assert_eq!(from_json(&json).unwrap_err().to_string(), expect);
    let with = |key: &str, value: Value| json!({"type": "dense", "dimensions": [], "attributes": [], key: value});
    check(json!([]), "schema: takes an object, not []");
    check(json!({}), "schema: 'type' is missing; it must be dense or sparse");
    check(
        with("tiling", json!(1)),
        &format!("schema: unknown entry 'tiling'; the entries are {}", KEYS.join(", ")),
    );
    check(
        with("type", json!("thick")),
        "type: takes dense or sparse, not \"thick\"",
    );
    let d = |d: Value| with("dimensions", json!([d]));
    check(d(json!({"name": "x"})), "dimensions[0]: 'type' is missing");
    check(
        d(json!({"type": "int8", "domain": [0, 200]})),
        "dimensions[0].domain[1]: takes a value of int8, not 200",
    );
    check(
        d(json!({"type": "int8", "tile": 300})),
        "dimensions[0].tile: takes a number of coordinates that int8 can hold, not 300",
    );
    check(
        with("enumerations", json!([{"name": "e"}])),
        "enumerations[0]: 'values' is missing, because the schema of an open array does not include values; read them from its enumeration",
    );
    let a = |a: Value| with("attributes", json!([{"type": "int8"}, a]));
    check(
        a(json!({"type": "int32", "fill": [1, 2]})),
        "attributes[1].fill: has 8 bytes; a cell takes 4 (1 values of int32)",
    );
    check(
        a(json!({"type": "blob", "fill": {"hex": "abc"}})),
        "attributes[1].fill.hex: takes pairs of hexadecimal digits, not \"abc\"",
    );
    assert!(
        from_json(&a(json!({"type": "int33"})))
            .unwrap_err()
            .to_string()
            .starts_with("attributes[1].type: there is no datatype 'int33'")
    );
    let filters = a(json!({"type": "int8", "filters": ["zstd", {"name": "gzip", "size": 1}]}));
    check(
        filters,
        "attributes[1].filters[1]: unknown entry 'size'; the entries are name, level",
    );
}

#[test]
fn the_old_name_for_unnamed_attributes_means_unnamed() {
    let dimensions = json!([{"name": "x", "type": "int8", "domain": [0, 9], "tile": 5}]);
    let json = json!({"type": "dense", "dimensions": dimensions, "attributes": [{"name": "__attr", "type": "int8"}]});
    assert_eq!(from_json(&json).unwrap().0.attributes[0].name, "");
}
