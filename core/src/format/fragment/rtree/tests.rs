use super::*;
use crate::datatype::Datatype;
use crate::format::schema::ArrayType;

fn schema(dimensions: Vec<Dimension>) -> Schema {
    Schema::new(ArrayType::Sparse, dimensions, Vec::new())
}

fn int64() -> Dimension {
    Dimension::new("x", Datatype::Int64, 0_i64, 999_i64, 10_i64)
}

fn tree(schema: &Schema, mbrs: impl IntoIterator<Item = Vec<ScalarRange>>) -> RTree {
    let mut leaves = Level::new(schema);
    mbrs.into_iter().for_each(|mbr| leaves.push(&mbr));
    RTree::build(leaves)
}

#[test]
fn two_tiles_match_the_format() {
    let schema = schema(vec![int64()]);
    let tree = tree(
        &schema,
        [
            vec![ScalarRange::new(0_i64, 1_i64)],
            vec![ScalarRange::new(2_i64, 2_i64)],
        ],
    );
    let numbers = |values: &[i64]| values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>();
    let expect = [&[10, 0, 0, 0, 2, 0, 0, 0][..], &numbers(&[1, 0, 2, 2, 0, 1, 2, 2])].concat();
    assert_eq!(tree.encode(&schema, Version::CURRENT), expect);
    assert_eq!(RTree::decode(&expect, &schema, Version::CURRENT).unwrap(), tree);
}

#[test]
fn levels_grow_by_tens() {
    let schema = schema(vec![int64(), Dimension::string("s")]);
    for (tiles, expect) in [
        (0, vec![]),
        (1, vec![1]),
        (2, vec![1, 2]),
        (11, vec![1, 2, 11]),
        (101, vec![1, 2, 11, 101]),
    ] {
        let mbr = |i: i64| {
            vec![
                ScalarRange::new(i, i + 3),
                ScalarRange::new("a", "b".repeat(i as usize).as_str()),
            ]
        };
        let tree = tree(&schema, (0..tiles).map(mbr));
        assert_eq!(tree.levels.iter().map(|l| l.len).collect::<Vec<_>>(), expect);
        if tiles > 0 {
            let root = tree.levels[0].mbr(0).unwrap();
            assert_eq!(root[0], ScalarRange::new(0_i64, tiles + 2));
            assert_eq!(
                root[1],
                ScalarRange::new("a", "b".repeat(tiles as usize - 1).as_str().max(""))
            );
        }
        for version in [4, 22].map(|v| Version::new(v).unwrap()) {
            let payload = tree.encode(&schema, version);
            assert_eq!(RTree::decode(&payload, &schema, version).unwrap(), tree);
        }
    }
}

#[test]
fn coordinates_of_all_types_round_trip() {
    let dimension = |datatype| Dimension { datatype, ..int64() };
    let ranges = [
        (Datatype::Int8, ScalarRange::new(-128_i8, 127_i8)),
        (Datatype::Uint16, ScalarRange::new(0_u16, 65535_u16)),
        (Datatype::DatetimeNs, ScalarRange::new(i64::MIN + 1, i64::MAX)),
        (Datatype::Uint64, ScalarRange::new(1_u64, u64::MAX)),
        (Datatype::Float32, ScalarRange::new(-1.5_f32, f32::MAX)),
        (Datatype::Float64, ScalarRange::new(f64::NEG_INFINITY, 0.0_f64)),
    ];
    let schema = schema(ranges.iter().map(|(t, _)| dimension(*t)).collect());
    let mbr: Vec<_> = ranges.iter().map(|(_, r)| r.clone()).collect();
    let tree = tree(&schema, [mbr.clone()]);
    let back = RTree::decode(&tree.encode(&schema, Version::CURRENT), &schema, Version::CURRENT).unwrap();
    assert_eq!(back.leaves().unwrap().mbr(0).unwrap(), mbr);
}

#[test]
fn old_date_ranges_with_both_signs_are_widened() {
    let schema = schema(vec![Dimension::new("d", Datatype::DatetimeDay, -20_i64, 20_i64, 5_i64)]);
    let reversed = tree(&schema, [vec![ScalarRange::new(1_i64, -2_i64)]]);
    let decode = |number| {
        let version = Version::new(number).unwrap();
        let tree = RTree::decode(&reversed.encode(&schema, version), &schema, version).unwrap();
        let tree = tree.widened(&schema, version);
        tree.leaves().unwrap().mbr(0).unwrap()
    };
    assert_eq!(decode(4), [ScalarRange::new(-20_i64, 20_i64)]);
    assert_eq!(decode(5), [ScalarRange::new(1_i64, -2_i64)]);
}

#[test]
fn old_string_ranges_that_start_empty_are_widened() {
    let schema = schema(vec![Dimension::string("s")]);
    let strings = |lo: &[u8], hi: &[u8]| {
        vec![ScalarRange {
            lo: Scalar::Bytes(lo.to_vec()),
            hi: Scalar::Bytes(hi.to_vec()),
        }]
    };
    let stored = tree(&schema, [strings(b"", b""), strings(b"", b"b"), strings(b"a", b"b")]);
    let decode = |number| {
        let version = Version::new(number).unwrap();
        let tree = RTree::decode(&stored.encode(&schema, version), &schema, version).unwrap();
        assert_eq!(tree, stored);
        let tree = tree.widened(&schema, version);
        let leaves = tree.leaves().unwrap().clone();
        (0..3).map(|i| leaves.mbr(i).unwrap()).collect::<Vec<_>>()
    };
    let open = strings(b"", &[255]);
    assert_eq!(decode(9), [open.clone(), open, strings(b"a", b"b")]);
    assert_eq!(decode(10), [strings(b"", b""), strings(b"", b"b"), strings(b"a", b"b")]);
}

#[test]
fn inconsistent_levels_are_an_error() {
    let schema = schema(vec![int64()]);
    let mut broken = tree(&schema, (0..11).map(|i| vec![ScalarRange::new(i, i)]));
    broken.levels.remove(1);
    let e = RTree::decode(&broken.encode(&schema, Version::CURRENT), &schema, Version::CURRENT).unwrap_err();
    assert_eq!(e.why, "levels of [1, 11] entries do not fit a fanout of 10");
    let huge = [&[10, 0, 0, 0, 1, 0, 0, 0][..], &u64::MAX.to_le_bytes()].concat();
    assert!(RTree::decode(&huge, &schema, Version::CURRENT).is_err());
}
