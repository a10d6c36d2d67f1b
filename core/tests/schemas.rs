//! Random schemas, to bytes and to JSON and back.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use hyperslab::schema::{
    ArrayType, Attribute, CurrentDomain, DataOrder, Dimension, DimensionLabel, Enumeration, EnumerationRef, Filter,
    Layout, MaxChunk, Pipeline, Schema, WebpFormat,
};
use hyperslab::schema_json::{from_json, to_json};
use hyperslab::{CellCount, Column, Datatype, Scalar, ScalarRange};
use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![4 => "[a-z]{1,8}", 1 => "\\PC{0,12}", 1 => Just(String::new())]
}

fn datatype() -> impl Strategy<Value = Datatype> {
    prop::sample::select(Datatype::ALL)
}

fn cell() -> impl Strategy<Value = CellCount> {
    prop_oneof![3 => Just(CellCount::ONE), 1 => (2..5_u32).prop_map(CellCount::Fixed), 2 => Just(CellCount::Var)]
}

fn filter() -> impl Strategy<Value = Filter> {
    let level = any::<i32>();
    let reinterpret = || prop::option::of(datatype().prop_filter("'any' means none", |t| *t != Datatype::Any));
    let finite = || -1e6..1e6_f64;
    let formats = vec![WebpFormat::Rgb, WebpFormat::Bgr, WebpFormat::Rgba, WebpFormat::Bgra];
    prop_oneof![
        prop::sample::select(vec![
            Filter::None,
            Filter::Bitshuffle,
            Filter::Byteshuffle,
            Filter::Md5,
            Filter::Sha256,
            Filter::Xor
        ]),
        level.prop_map(|level| Filter::Zstd { level }),
        level.prop_map(|level| Filter::Gzip { level }),
        level.prop_map(|level| Filter::Dictionary { level }),
        (level, reinterpret()).prop_map(|(level, reinterpret)| Filter::DoubleDelta { level, reinterpret }),
        (level, reinterpret()).prop_map(|(level, reinterpret)| Filter::Delta { level, reinterpret }),
        any::<u32>().prop_map(|max_window| Filter::BitWidthReduction { max_window }),
        any::<u32>().prop_map(|max_window| Filter::PositiveDelta { max_window }),
        (finite(), finite(), any::<u64>()).prop_map(|(scale, offset, byte_width)| Filter::FloatScale {
            scale,
            offset,
            byte_width
        }),
        (0.0..100.0_f32, prop::sample::select(formats), any::<(bool, u16, u16)>()).prop_map(
            |(quality, format, (lossless, y_extent, x_extent))| Filter::Webp {
                quality,
                format,
                lossless,
                y_extent,
                x_extent
            }
        ),
        (100..=255_u8, prop::collection::vec(any::<u8>(), 0..5))
            .prop_map(|(id, options)| Filter::Unknown { id, options }),
    ]
}

fn pipeline() -> impl Strategy<Value = Pipeline> {
    let chunk = prop_oneof![4 => Just(MaxChunk::default()), 1 => any::<u32>().prop_map(MaxChunk)];
    (chunk, prop::collection::vec(filter(), 0..4)).prop_map(|(max_chunk_bytes, filters)| Pipeline {
        max_chunk_bytes,
        filters,
    })
}

/// A number of this type that JSON can represent exactly: any value except unusual NaNs.
fn number(datatype: Datatype) -> impl Strategy<Value = Scalar> {
    any::<[u8; 8]>().prop_map(move |bits| {
        let read = |bytes: &[u8]| Scalar::from_le_bytes(datatype.physical(), bytes).unwrap();
        let value = read(&bits[..datatype.size()]);
        if value.as_f64().is_some_and(f64::is_nan) {
            read(&datatype.default_fill())
        } else {
            value
        }
    })
}

fn range(datatype: Datatype) -> impl Strategy<Value = ScalarRange> {
    (number(datatype), number(datatype)).prop_map(|(lo, hi)| ScalarRange { lo, hi })
}

fn dimension() -> impl Strategy<Value = Dimension> {
    let coordinates: Vec<_> = Datatype::ALL
        .iter()
        .copied()
        .filter(|t| !t.is_string() && !t.is_opaque())
        .collect();
    let number = (prop::sample::select(coordinates), name(), pipeline()).prop_flat_map(|(t, name, filters)| {
        (range(t), prop::option::of(number(t))).prop_map(move |(domain, extent)| Dimension {
            name: name.clone(),
            datatype: t,
            cell: CellCount::ONE,
            filters: filters.clone(),
            domain: Some(domain),
            extent,
        })
    });
    prop_oneof![4 => number, 1 => name().prop_map(|name| Dimension::string(&name))]
}

fn order() -> impl Strategy<Value = DataOrder> {
    prop::sample::select(vec![DataOrder::Unordered, DataOrder::Increasing, DataOrder::Decreasing])
}

fn attribute() -> impl Strategy<Value = Attribute> {
    let kind = (datatype(), cell()).prop_flat_map(|(t, cell)| {
        let bytes = Attribute::new("", t, cell).fill.len();
        (Just(t), Just(cell), prop::collection::vec(any::<u8>(), bytes))
    });
    let rest = (any::<bool>(), any::<bool>(), order(), prop::option::of("[a-z]{1,5}"));
    (name(), kind, pipeline(), rest).prop_map(|(name, (datatype, cell, fill), filters, rest)| {
        let (nullable, fill_valid, order, enumeration) = rest;
        Attribute {
            name,
            datatype,
            cell,
            filters,
            fill,
            nullable,
            fill_valid,
            order,
            enumeration,
        }
    })
}

fn enumeration() -> impl Strategy<Value = Enumeration> {
    let values = (datatype(), cell()).prop_flat_map(|(t, cell)| {
        let size = cell.cell_bytes(t);
        let one = (0..4_usize).prop_flat_map(move |n| prop::collection::vec(any::<u8>(), size.unwrap_or(n * t.size())));
        prop::collection::vec(one, 0..5).prop_map(move |cells| {
            let column = Column::from_cells(t, cells);
            if cell.is_var() {
                column
            } else {
                Column {
                    cell,
                    offsets: None,
                    ..column
                }
            }
        })
    });
    ("[a-z]{1,6}", any::<bool>(), values).prop_map(|(name, ordered, values)| Enumeration {
        name,
        file: String::new(),
        ordered,
        values,
    })
}

fn label(dimensions: u32) -> impl Strategy<Value = DimensionLabel> {
    let names = (name(), "[a-z/]{1,9}", "[a-z]{1,9}");
    (0..dimensions, names, datatype(), cell(), order(), any::<(bool, bool)>()).prop_map(
        |(dimension, (name, uri, attribute), datatype, cell, order, (relative, external))| DimensionLabel {
            dimension,
            name,
            relative,
            uri,
            attribute,
            order,
            datatype,
            cell,
            external,
        },
    )
}

fn schema() -> impl Strategy<Value = (Schema, Vec<Enumeration>)> {
    let layout = || prop::sample::select(vec![Layout::RowMajor, Layout::ColMajor, Layout::Hilbert]);
    let fields = (
        prop::collection::vec(dimension(), 1..4),
        prop::collection::vec(attribute(), 0..4),
    );
    let whole = (
        any::<(bool, bool, u64)>(),
        layout(),
        layout(),
        pipeline(),
        pipeline(),
        pipeline(),
    );
    (fields, whole, prop::collection::vec(enumeration(), 0..3), any::<bool>())
        .prop_flat_map(|((mut dimensions, attributes), whole, mut enumerations, bounded)| {
            // Labels name their dimension, and schemas their enumerations.
            dimensions
                .iter_mut()
                .enumerate()
                .for_each(|(i, d)| d.name.push_str(&i.to_string()));
            enumerations
                .iter_mut()
                .enumerate()
                .for_each(|(i, e)| e.name.push_str(&i.to_string()));
            let ((sparse, duplicates, capacity), tile_order, cell_order, coords, offsets, validity) = whole;
            let kind = if sparse { ArrayType::Sparse } else { ArrayType::Dense };
            let mut schema = Schema::new(kind, dimensions, attributes);
            schema.allows_duplicates = sparse && duplicates;
            (schema.tile_order, schema.cell_order, schema.capacity) = (tile_order, cell_order, capacity);
            (schema.coords_filters, schema.offsets_filters, schema.validity_filters) = (coords, offsets, validity);
            let refs = enumerations.iter().map(|e| EnumerationRef {
                name: e.name.clone(),
                file: String::new(),
            });
            schema.enumerations = refs.collect();
            let words = ScalarRange {
                lo: Scalar::Bytes(vec![1, 0xff]),
                hi: Scalar::Bytes(b"zz".to_vec()),
            };
            let used = |d: &Dimension| d.domain.clone().unwrap_or_else(|| words.clone());
            let ranges = schema.dimensions.iter().map(used).collect();
            schema.current_domain = bounded.then_some(CurrentDomain { ranges });
            let labels = prop::collection::vec(label(schema.dimensions.len() as u32), 0..3);
            (Just(schema), Just(enumerations), labels)
        })
        .prop_map(|(schema, enumerations, labels)| (Schema { labels, ..schema }, enumerations))
}

/// Compares debug output, because NaN is not equal to itself.
#[track_caller]
fn same(a: &Schema, b: &Schema) {
    assert_eq!(format!("{a:?}"), format!("{b:?}"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn schemas_round_trip_through_bytes((schema, enumerations) in schema()) {
        same(&Schema::decode(&schema.encode()).unwrap(), &schema);
        for e in enumerations {
            prop_assert_eq!(Enumeration::decode(&e.encode()).unwrap(), e);
        }
    }

    #[test]
    fn schemas_round_trip_through_json((schema, enumerations) in schema()) {
        let text = to_json(&schema, &enumerations).to_string();
        let (back, values) = from_json(&serde_json::from_str(&text).unwrap()).unwrap();
        same(&back, &schema);
        prop_assert_eq!(values, enumerations);
    }
}
