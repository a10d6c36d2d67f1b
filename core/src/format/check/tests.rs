use super::*;
use crate::format::current_domain::CurrentDomain;
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::schema::{ArrayType, EnumerationRef};

fn x() -> Dimension {
    Dimension::new("x", Datatype::Int8, 0_i8, 99_i8, 10_i8)
}

fn a() -> Attribute {
    Attribute::new("a", Datatype::Int32, CellCount::ONE)
}

fn dense(dimension: Dimension) -> Schema {
    Schema::new(ArrayType::Dense, vec![dimension], vec![a()])
}

fn sparse(dimension: Dimension) -> Schema {
    Schema::new(ArrayType::Sparse, vec![dimension], vec![a()])
}

#[track_caller]
fn check(schema: Schema, expect: &str) {
    match schema.check() {
        Ok(()) => assert_eq!("ok", expect),
        Err(e) => assert!(e.to_string().contains(expect), "{e}"),
    }
}

#[test]
fn domains_and_extents() {
    check(dense(x()), "ok");
    let int8 = |lo: i8, hi: i8, extent: i8| Dimension::new("x", Datatype::Int8, lo, hi, extent);
    check(dense(int8(5, 4, 1)), "the domain ends before it starts");
    check(dense(int8(0, 9, 0)), "must be 1 to 10, not 0");
    check(dense(int8(0, 9, 11)), "must be 1 to 10, not 11");
    check(dense(int8(-128, 127, 1)), "every value of its type");
    check(dense(int8(-128, 126, -1)), "ok");
    check(dense(int8(-128, 126, -2)), "must be 1 to 127, not 254");
    check(dense(int8(97, 126, 16)), "ok");
    let int64 = |lo: i64, hi: i64, extent: i64| Dimension::new("x", Datatype::Int64, lo, hi, extent);
    check(dense(int64(i64::MIN, i64::MAX - 1, 10)), "the last tile would end at");
    check(dense(int64(i64::MIN, i64::MAX - 10, 10)), "ok");
    check(
        dense(Dimension::new("x", Datatype::Uint64, 1_u64, u64::MAX, 1_u64)),
        "ok",
    );
    check(
        dense(Dimension::new("x", Datatype::Uint64, 1_u64, u64::MAX, 2_u64)),
        "the last tile would end at",
    );
    check(
        dense(Dimension::new("x", Datatype::Int8, 0_i16, 9_i16, 1_i16)),
        "must be int8",
    );
    check(dense(Dimension { domain: None, ..x() }), "a domain is required");
    let float = |lo: f64, hi: f64, extent: f64| Dimension::new("x", Datatype::Float64, lo, hi, extent);
    check(sparse(float(0.0, 1.0, 0.5)), "ok");
    check(sparse(float(0.0, 1.0, 2.0)), "ok");
    check(sparse(float(0.0, 1.0, 2.1)), "must be above 0 and at most 2");
    check(sparse(float(0.0, 1.0, 0.0)), "must be above 0 and at most 2");
    check(sparse(float(0.0, 0.0, 0.0)), "ok");
    check(sparse(float(0.0, 1.0, f64::NAN)), "not NaN");
    check(sparse(float(0.0, f64::INFINITY, 1.0)), "must be finite");
    check(sparse(float(f64::NAN, 1.0, 1.0)), "must be finite");
}

#[test]
fn types_of_dimensions() {
    check(
        dense(Dimension::new("x", Datatype::Float32, 0_f32, 1_f32, 1_f32)),
        "float dimensions need a sparse array",
    );
    check(dense(Dimension::string("x")), "string dimensions need a sparse array");
    check(sparse(Dimension::string("x")), "ok");
    check(
        sparse(Dimension {
            datatype: Datatype::StringUtf8,
            ..Dimension::string("x")
        }),
        "string_utf8 cannot be a dimension",
    );
    check(
        sparse(Dimension {
            datatype: Datatype::Bool,
            ..x()
        }),
        "bool cannot be a dimension",
    );
    check(
        sparse(Dimension {
            cell: CellCount::Fixed(2),
            ..x()
        }),
        "one value per cell",
    );
    let mut mixed = dense(x());
    mixed
        .dimensions
        .push(Dimension::new("y", Datatype::Int16, 0_i16, 9_i16, 1_i16));
    check(mixed.clone(), "dimension 'y' is int16");
    check(
        Schema {
            array_type: ArrayType::Sparse,
            ..mixed
        },
        "ok",
    );
}

#[test]
fn names() {
    let with = |name: &str| Schema {
        attributes: vec![Attribute {
            name: name.into(),
            ..a()
        }],
        ..dense(x())
    };
    check(with(""), "ok");
    check(with("x"), "two fields are named 'x'");
    check(with("__a"), "two underscores");
    check(
        Schema {
            attributes: vec![a(), a()],
            ..dense(x())
        },
        "two fields are named 'a'",
    );
}

#[test]
fn array_shape() {
    check(
        Schema {
            dimensions: Vec::new(),
            ..dense(x())
        },
        "at least one dimension",
    );
    check(
        Schema {
            attributes: Vec::new(),
            ..dense(x())
        },
        "at least one attribute",
    );
    check(
        Schema {
            attributes: Vec::new(),
            ..sparse(x())
        },
        "ok",
    );
    check(
        Schema {
            allows_duplicates: true,
            ..dense(x())
        },
        "only sparse arrays may allow duplicates",
    );
    check(
        Schema {
            allows_duplicates: true,
            ..sparse(x())
        },
        "ok",
    );
    check(
        Schema {
            capacity: 0,
            ..sparse(x())
        },
        "capacity",
    );
    check(
        Schema {
            capacity: 0,
            ..dense(x())
        },
        "ok",
    );
    check(
        Schema {
            cell_order: Layout::Hilbert,
            ..dense(x())
        },
        "only the cells of sparse arrays",
    );
    check(
        Schema {
            cell_order: Layout::Hilbert,
            ..sparse(x())
        },
        "ok",
    );
    check(
        Schema {
            tile_order: Layout::Hilbert,
            ..sparse(x())
        },
        "tiles are in row-major or col-major order",
    );
    let many = (0..17)
        .map(|i| Dimension {
            name: i.to_string(),
            ..x()
        })
        .collect();
    check(
        Schema {
            cell_order: Layout::Hilbert,
            dimensions: many,
            ..sparse(x())
        },
        "up to 16 dimensions",
    );
}

#[test]
fn attributes() {
    let with = |a: Attribute| Schema {
        attributes: vec![a],
        ..dense(x())
    };
    check(
        with(Attribute::new("a", Datatype::Any, CellCount::ONE)),
        "'any' must have variable length",
    );
    check(
        with(Attribute {
            fill: vec![0; 3],
            ..a()
        }),
        "the fill value has 3 bytes, but a cell has 4",
    );
    let text = Attribute::new("a", Datatype::StringUtf16, CellCount::Var);
    check(
        with(Attribute {
            fill: vec![0; 3],
            ..text.clone()
        }),
        "one or more values of 2 bytes",
    );
    check(with(text), "ok");
    check(
        with(Attribute {
            order: DataOrder::Increasing,
            ..a()
        }),
        "ok",
    );
    check(
        Schema {
            array_type: ArrayType::Sparse,
            ..with(Attribute {
                order: DataOrder::Increasing,
                ..a()
            })
        },
        "can be ordered",
    );
    check(
        with(Attribute {
            enumeration: Some("e".into()),
            ..a()
        }),
        "there is no enumeration 'e'",
    );
    let named = EnumerationRef {
        name: "e".into(),
        file: String::new(),
    };
    let coded = Attribute {
        enumeration: Some("e".into()),
        ..a()
    };
    check(
        Schema {
            enumerations: vec![named.clone()],
            ..with(coded.clone())
        },
        "ok",
    );
    let truth = Attribute {
        enumeration: Some("e".into()),
        ..Attribute::new("a", Datatype::Bool, CellCount::ONE)
    };
    check(
        Schema {
            enumerations: vec![named.clone()],
            ..with(truth)
        },
        "ok",
    );
    let float = Attribute {
        enumeration: Some("e".into()),
        ..Attribute::new("a", Datatype::Float32, CellCount::ONE)
    };
    check(
        Schema {
            enumerations: vec![named.clone()],
            ..with(float)
        },
        "must hold one integer per cell",
    );
    check(
        Schema {
            enumerations: vec![named.clone(), named],
            ..with(coded)
        },
        "two enumerations are named 'e'",
    );
    let filters = Pipeline::new(vec![
        Filter::Dictionary { level: -1 },
        Filter::Unknown {
            id: 99,
            options: Vec::new(),
        },
    ]);
    check(with(Attribute { filters, ..a() }), "filter");
}

#[test]
fn the_current_domain_must_be_inside_the_domain() {
    let with = |lo: i8, hi: i8| {
        Some(CurrentDomain {
            ranges: vec![ScalarRange::new(lo, hi)],
        })
    };
    check(
        Schema {
            current_domain: with(3, 99),
            ..sparse(x())
        },
        "ok",
    );
    check(
        Schema {
            current_domain: with(3, 100),
            ..sparse(x())
        },
        "is not inside its domain",
    );
    check(
        Schema {
            current_domain: with(4, 3),
            ..sparse(x())
        },
        "is not inside its domain",
    );
    check(
        Schema {
            current_domain: Some(CurrentDomain { ranges: Vec::new() }),
            ..sparse(x())
        },
        "a range for each dimension",
    );
    let words = Some(CurrentDomain {
        ranges: vec![ScalarRange::new("a", "b")],
    });
    check(
        Schema {
            current_domain: words.clone(),
            ..sparse(Dimension::string("s"))
        },
        "ok",
    );
    check(
        Schema {
            current_domain: words,
            ..sparse(x())
        },
        "is not inside its domain",
    );
}

#[test]
fn missing_extents_span_the_domain() {
    let open = |d: Dimension| Dimension { extent: None, ..d };
    let completed = |schema: Schema| schema.completed().map(|s| s.dimensions[0].extent.clone());
    assert_eq!(completed(dense(open(x()))).unwrap(), Some(Scalar::I8(100)));
    let wide = |lo: i8, hi: i8| open(Dimension::new("x", Datatype::Int8, lo, hi, 1_i8));
    assert_eq!(completed(dense(wide(-128, 126))).unwrap(), Some(Scalar::I8(-1)));
    assert!(completed(dense(wide(-128, 127))).is_err());
    assert_eq!(
        completed(Schema {
            cell_order: Layout::Hilbert,
            ..sparse(open(x()))
        })
        .unwrap(),
        None
    );
    assert_eq!(completed(sparse(Dimension::string("s"))).unwrap(), None);
    let float = open(Dimension::new("x", Datatype::Float32, -1.5_f32, 2.25_f32, 1_f32));
    assert_eq!(completed(sparse(float)).unwrap(), Some(Scalar::F32(3.75)));
}
