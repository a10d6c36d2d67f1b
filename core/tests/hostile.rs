//! Tests decoders with hostile bytes. Errors are fine; panics and huge allocations are not.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::sync::LazyLock;

use hyperslab::internals::format::condition::StoredCondition;
use hyperslab::internals::format::fragment::footer::Footer;
use hyperslab::internals::format::fragment::legacy::LegacyMetadata;
use hyperslab::internals::format::fragment::rtree::RTree;
use hyperslab::internals::format::fragment::stats::{FieldStats, TileValues};
use hyperslab::internals::format::fragment::{conditions, tile_index};
use hyperslab::internals::format::group::GroupDetails;
use hyperslab::internals::format::name::TimestampedName;
use hyperslab::internals::format::{commits, consolidated_metadata, metadata};
use hyperslab::schema::{Enumeration, Schema, Version};
use hyperslab::schema_json;
use proptest::prelude::*;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

/// Payloads of real schemas of many versions.
static SCHEMAS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    let current = include_str!("data/schemas.txt").lines().map(|l| l.split(' ').nth(1));
    let old = include_str!("data/fragments.txt").lines().map(|l| l.split(' ').nth(2));
    current.chain(old).map(|hex| bytes(hex.unwrap())).collect()
});

/// Footers of real fragments: version, schema, footer.
static FOOTERS: LazyLock<Vec<(Version, Schema, Vec<u8>)>> = LazyLock::new(|| {
    let line = |l: &str| {
        let v: Vec<&str> = l.split(' ').collect();
        let version = TimestampedName::parse(v[1]).unwrap().version().unwrap();
        let schema = Schema::decode(&bytes(v[2])).unwrap();
        let file = bytes(v[3]);
        let range = Footer::locate(version, &schema, file.len() as u64, &file[file.len() - 8..]).unwrap();
        (version, schema, file[range.start as usize..range.end as usize].to_vec())
    };
    include_str!("data/fragments.txt").lines().map(line).collect()
});

/// Truncates, extends and overwrites bytes, preferring values that occur in counts and lengths.
fn damage() -> impl Strategy<Value = Vec<(u16, u8, u8)>> {
    let value = prop_oneof![Just(0), Just(1), Just(0x7f), Just(0x80), Just(0xff), any::<u8>()];
    prop::collection::vec((any::<u16>(), 0..8_u8, value), 1..6)
}

fn damaged(mut bytes: Vec<u8>, damage: &[(u16, u8, u8)]) -> Vec<u8> {
    for &(at, how, value) in damage {
        if bytes.is_empty() {
            break;
        }
        let at = at as usize % bytes.len();
        match how {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, value),
            2 => drop(bytes.remove(at)),
            3 => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(value);
            }
            _ => bytes[at] = value,
        }
    }
    bytes
}

fn try_schema(payload: &[u8]) {
    let Ok(schema) = Schema::decode(payload) else { return };
    let _ = schema.check();
    let json = schema_json::to_json(&schema, &[]);
    let _ = schema_json::from_json(&json);
    // A schema that was decoded can be encoded, and decodes to the same schema.
    let again = Schema::decode(&schema.encode()).unwrap();
    assert_eq!(
        format!(
            "{:?}",
            Schema {
                version: schema.version,
                ..again
            }
        ),
        format!("{schema:?}")
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn schemas(i in any::<prop::sample::Index>(), damage in damage()) {
        try_schema(&damaged(i.get(&SCHEMAS).clone(), &damage));
    }

    #[test]
    fn enumerations(i in any::<prop::sample::Index>(), damage in damage()) {
        let all: Vec<_> = SCHEMAS.iter().filter(|p| Enumeration::decode(p).is_ok()).collect();
        if let Ok(e) = Enumeration::decode(&damaged(i.get(&all).to_vec(), &damage)) {
            prop_assert_eq!(Enumeration::decode(&e.encode()).unwrap(), e);
        }
    }

    #[test]
    fn footers(i in any::<prop::sample::Index>(), damage in damage()) {
        let (version, schema, footer) = i.get(&FOOTERS).clone();
        let footer = damaged(footer, &damage);
        let _ = Footer::schema_name(&footer, version);
        if let Ok(f) = Footer::decode(&footer, &schema, version) {
            let again = Footer::decode(&f.encode(&schema), &schema, version).unwrap();
            prop_assert_eq!(format!("{again:?}"), format!("{f:?}"));
        }
        let _ = Footer::locate(version, &schema, footer.len() as u64, &footer);
    }

    #[test]
    fn any_bytes_at_all(i in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (version, schema, _) = i.get(&FOOTERS);
        try_schema(&bytes);
        let _ = Enumeration::decode(&bytes);
        let _ = Footer::decode(&bytes, schema, *version);
        let _ = RTree::decode(&bytes, schema, *version);
        let _ = LegacyMetadata::decode(&bytes, schema, false);
        let _ = tile_index::decode(&bytes);
        let _ = conditions::decode(&bytes);
        let _ = FieldStats::decode_all(&bytes, bytes.len());
        let _ = StoredCondition::decode(&bytes);
        let _ = GroupDetails::decode(&bytes);
        let _ = metadata::decode(&bytes);
        let _ = consolidated_metadata::decode(&bytes);
        let _ = commits::decode_consolidated(&bytes);
        let _ = commits::decode_lines(&bytes);
        if let Ok(values) = TileValues::decode(&bytes) {
            let _ = (values.get(0, None), values.get(usize::MAX, None), values.get(usize::MAX, Some(3)));
        }
    }

    #[test]
    fn small_counts_and_lengths(bytes in prop::collection::vec(prop_oneof![8 => 0..4_u8, 1 => any::<u8>()], 0..200)) {
        for (version, schema, _) in FOOTERS.iter() {
            if let Ok(tree) = RTree::decode(&bytes, schema, *version) {
                prop_assert_eq!(RTree::decode(&tree.encode(schema, *version), schema, *version).unwrap(), tree);
            }
        }
        if let Ok(condition) = StoredCondition::decode(&bytes) {
            prop_assert_eq!(StoredCondition::decode(&condition.encode()).unwrap(), condition.clone());
            prop_assert_eq!(condition.negated().negated(), condition);
        }
        if let Ok(group) = GroupDetails::decode(&bytes) {
            prop_assert_eq!(GroupDetails::decode(&group.encode()).unwrap().members, group.members);
        }
        let _ = metadata::decode(&bytes);
        let _ = consolidated_metadata::decode(&bytes);
    }

    #[test]
    fn names(name in "(__)?[0-9a-f_]{0,60}(\\.[a-z]{3})?|\\PC{0,40}") {
        if let Ok(parsed) = TimestampedName::parse(&name) {
            prop_assert!(parsed.start_ms <= parsed.end_ms);
            let _ = parsed.version();
        }
        let _ = commits::vacuumed_path(&name);
    }

    #[test]
    fn filters_as_text(text in "[a-z0-9:,. -]{0,30}|(zstd|gzip|float-scale|delta|webp|xor)(:[a-z0-9.-]{0,6}){0,4}") {
        let _ = schema_json::parse_filters(&text);
    }
}
