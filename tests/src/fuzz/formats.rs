//! The decoders of `format`: decoded values must survive being encoded and decoded again.

use std::sync::Arc;

use hyperslab::group::{GroupMember, MemberKind};
use hyperslab::internals::format::condition::StoredCondition;
use hyperslab::internals::format::cursor::{Reader, Writer};
use hyperslab::internals::format::fragment::footer::Footer;
use hyperslab::internals::format::fragment::legacy::LegacyMetadata;
use hyperslab::internals::format::fragment::rtree::RTree;
use hyperslab::internals::format::fragment::stats::{FieldStats, TileValues};
use hyperslab::internals::format::fragment::{conditions, tile_index};
use hyperslab::internals::format::group::GroupDetails;
use hyperslab::internals::format::name::TimestampedName;
use hyperslab::internals::format::{commits, consolidated_metadata, generic_tile, metadata, tile};
use hyperslab::internals::limits;
use hyperslab::schema::{Enumeration, Pipeline, Schema, Version};
use hyperslab::schema_json;

use super::samples::{Samples, version};
use super::{Allowance, Target, choices};

/// A decoder that needs only the bytes.
type Plain = fn(&[u8]) -> Allowance;
/// A decoder that also needs a schema and a version.
type WithSchema = fn(&Schema, Version, &[u8]);

pub(super) fn targets(samples: &Samples) -> Vec<Target> {
    let plain: [(&str, Plain); 13] = [
        ("schema", schema),
        ("enumeration", enumeration),
        ("generic-tile", generic),
        ("array-metadata", array_metadata),
        ("consolidated-metadata", consolidated),
        ("consolidated-commits", con),
        ("path-list", lines),
        ("stored-condition", condition),
        ("name", name),
        ("tile-index", index),
        ("tile-values", values),
        ("field-stats", stats),
        ("processed-conditions", processed),
    ];
    let mut all: Vec<Target> = plain
        .into_iter()
        .map(|(name, run)| Target::new(name, samples.of(name), run))
        .collect();
    let chunks = samples.of("generic-tile");
    all.push(Target::new("tile-chunks", chunks, chunked));
    all.push(Target::new("pipeline", pipeline_seeds(samples), pipelines));
    all.push(Target::new("group", group_seeds(), group));
    let schemas = Arc::new(samples.schemas.clone());
    let with: [(&str, WithSchema); 3] = [("footer", footer), ("rtree", rtree), ("legacy-metadata", legacy)];
    for (name, run) in with {
        let schemas = schemas.clone();
        let run = move |input: &[u8]| {
            let Some(([a, b, v], rest)) = choices(input) else {
                return Allowance::of(0);
            };
            run(Samples::schema(&schemas, [a, b]), version(v), rest);
            Allowance::of(input.len())
        };
        all.push(Target::new(name, samples.of(name), run));
    }
    all
}

fn schema(payload: &[u8]) -> Allowance {
    let allowance = Allowance {
        bytes: payload.len(),
        // Old schemas leave out fill values.
        fixed: usize::try_from(limits::DEFAULT_FILL_BYTES_MAX).unwrap_or(0) * 2,
    };
    let Ok(schema) = Schema::decode(payload) else {
        return allowance;
    };
    if schema.attributes.iter().map(|a| a.fill.len()).sum::<usize>() > 4 * payload.len() {
        return allowance;
    }
    let _ = schema.check();
    let _ = schema_json::from_json(&schema_json::to_json(&schema, &[]));
    let again = Schema::decode(&schema.encode()).unwrap();
    let again = Schema {
        version: schema.version,
        ..again
    };
    assert_eq!(format!("{again:?}"), format!("{schema:?}"));
    allowance
}

fn enumeration(payload: &[u8]) -> Allowance {
    if let Ok(e) = Enumeration::decode(payload) {
        assert_eq!(Enumeration::decode(&e.encode()).unwrap(), e);
    }
    Allowance::of(payload.len())
}

fn generic(bytes: &[u8]) -> Allowance {
    let bytes_out = generic_tile::decode(bytes, None).map_or(0, |(payload, _)| payload.len());
    Allowance {
        // The initial memory of a codec.
        fixed: 16 << 20,
        ..Allowance::of(bytes.len() + bytes_out)
    }
}

fn array_metadata(payload: &[u8]) -> Allowance {
    if let Ok(entries) = metadata::decode(payload) {
        // Entries are written in the order of their keys.
        let written = metadata::encode(&entries);
        let again = metadata::decode(&written).unwrap();
        assert_eq!(metadata::encode(&again), written);
        // If several entries have the same key, the last one counts.
        let keys: std::collections::BTreeSet<_> = entries.iter().map(|e| &e.key).collect();
        assert_eq!(again.len(), keys.len());
    }
    Allowance::of(payload.len())
}

fn consolidated(payload: &[u8]) -> Allowance {
    if let Ok(footers) = consolidated_metadata::decode(payload) {
        for f in footers {
            assert!(payload.get(f.range).is_some());
        }
    }
    Allowance::of(payload.len())
}

fn con(bytes: &[u8]) -> Allowance {
    if let Ok(found) = commits::decode_consolidated(bytes) {
        let pairs = found
            .iter()
            .map(|c| (c.path.as_ref(), c.embedded.clone().map(|range| &bytes[range])));
        assert_eq!(commits::encode_consolidated(pairs), bytes);
    }
    Allowance::of(bytes.len())
}

fn lines(bytes: &[u8]) -> Allowance {
    for line in commits::decode_lines(bytes).unwrap_or_default() {
        let _ = commits::vacuumed_path(&line);
    }
    Allowance::of(bytes.len())
}

fn condition(payload: &[u8]) -> Allowance {
    if let Ok(c) = StoredCondition::decode(payload) {
        // Nested combinations of the same kind are written flat.
        let written = c.encode();
        assert_eq!(StoredCondition::decode(&written).unwrap().encode(), written);
        let twice = c.negated().negated();
        assert_eq!(twice.negated().negated(), twice);
        let _ = c.fields();
    }
    Allowance::of(payload.len())
}

fn name(bytes: &[u8]) -> Allowance {
    if let Ok(parsed) = TimestampedName::parse(&String::from_utf8_lossy(bytes)) {
        assert!(parsed.start_ms <= parsed.end_ms);
        let _ = parsed.version();
    }
    Allowance::of(bytes.len())
}

fn index(payload: &[u8]) -> Allowance {
    if let Ok(values) = tile_index::decode(payload) {
        assert_eq!(tile_index::encode(&values), payload);
    }
    Allowance::of(payload.len())
}

fn values(payload: &[u8]) -> Allowance {
    if let Ok(values) = TileValues::decode(payload) {
        assert_eq!(values.encode(), payload);
        for i in [0, 1, usize::MAX] {
            let _ = (values.get(i, None), values.get(i, Some(3)), values.get(i, Some(0)));
        }
    }
    Allowance::of(payload.len())
}

fn stats(input: &[u8]) -> Allowance {
    let Some(([slots], payload)) = choices(input) else {
        return Allowance::of(0);
    };
    if let Ok(all) = FieldStats::decode_all(payload, usize::from(slots)) {
        assert_eq!(FieldStats::encode_all(&all), payload);
    }
    Allowance::of(input.len())
}

fn processed(payload: &[u8]) -> Allowance {
    if let Ok(names) = conditions::decode(payload) {
        assert_eq!(conditions::decode(&conditions::encode(&names)).unwrap(), names);
    }
    Allowance::of(payload.len())
}

fn chunked(framed: &[u8]) -> Allowance {
    let _ = tile::chunks(framed);
    Allowance::of(framed.len())
}

fn pipelines(input: &[u8]) -> Allowance {
    let Some(([v], bytes)) = choices(input) else {
        return Allowance::of(0);
    };
    if let Ok(p) = Pipeline::decode(&mut Reader::new(bytes), version(v)) {
        let mut w = Writer::new();
        p.encode(&mut w);
        let again = Pipeline::decode(&mut Reader::new(&w.into_bytes()), Version::CURRENT).unwrap();
        assert_eq!(format!("{again:?}"), format!("{p:?}"));
    }
    Allowance::of(input.len())
}

fn pipeline_seeds(samples: &Samples) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = samples
        .schemas
        .iter()
        .flat_map(|s| s.attributes.iter().map(|a| &a.filters))
        .map(|p| {
            let mut w = Writer::new();
            p.encode(&mut w);
            [vec![21], w.into_bytes()].concat()
        })
        .collect();
    all.sort();
    all.dedup();
    all
}

fn group(payload: &[u8]) -> Allowance {
    if let Ok(group) = GroupDetails::decode(payload) {
        let again = GroupDetails::decode(&group.encode()).unwrap();
        // The first version has no removed members.
        let listed = group.members.into_iter().filter(|m| group.version > 1 || !m.deleted);
        assert_eq!(again.members, listed.collect::<Vec<_>>());
    }
    Allowance::of(payload.len())
}

fn group_seeds() -> Vec<Vec<u8>> {
    let member = |kind, uri: &str, name: Option<&str>, deleted| GroupMember {
        kind,
        relative: deleted,
        uri: uri.into(),
        name: name.map(str::to_owned),
        deleted,
    };
    let members = vec![
        member(MemberKind::Array, "a", None, false),
        member(MemberKind::Group, "file:///b/c", Some("d"), true),
        member(MemberKind::Unknown, "e", None, false),
    ];
    vec![GroupDetails { version: 2, members }.encode()]
}

fn footer(schema: &Schema, version: Version, bytes: &[u8]) {
    let _ = Footer::schema_name(bytes, version);
    if let Ok(f) = Footer::decode(bytes, schema, version) {
        let again = Footer::decode(&f.encode(schema), schema, version).unwrap();
        assert_eq!(format!("{again:?}"), format!("{f:?}"));
    }
    let _ = Footer::locate(version, schema, bytes.len() as u64, bytes);
}

fn rtree(schema: &Schema, version: Version, payload: &[u8]) {
    if let Ok(tree) = RTree::decode(payload, schema, version) {
        let again = RTree::decode(&tree.encode(schema, version), schema, version).unwrap();
        assert_eq!(format!("{again:?}"), format!("{tree:?}"));
    }
}

fn legacy(schema: &Schema, version: Version, payload: &[u8]) {
    let _ = LegacyMetadata::decode(payload, schema, version.number().is_multiple_of(2));
}
