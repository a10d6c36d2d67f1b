//! Parts of real arrays, used as seeds of the fuzz targets.

use std::collections::BTreeMap;

use hyperslab::Key;
use hyperslab::internals::format::fragment::footer::{Footer, List};
use hyperslab::internals::format::fragment::slots::Slots;
use hyperslab::internals::format::generic_tile;
use hyperslab::internals::format::name::TimestampedName;
use hyperslab::schema::{Schema, Version};

use crate::golden;

/// The maximum number and length of the inputs of one kind.
const SEEDS_MAX: usize = 300;
const SEED_BYTES_MAX: usize = 4096;

/// The files of an array.
pub(super) struct Sample {
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) key: Option<Key>,
}

/// Real arrays and their parts.
pub(super) struct Samples {
    pub(super) arrays: Vec<Sample>,
    /// Distinct schemas of every version.
    pub(super) schemas: Vec<Schema>,
    /// Payloads by kind. Those that need a schema start with its number.
    payloads: BTreeMap<&'static str, Vec<Vec<u8>>>,
}

impl Samples {
    /// The payloads of one kind.
    ///
    /// # Panics
    /// If no sample has this kind, because the samples have changed.
    pub(super) fn of(&self, kind: &str) -> Vec<Vec<u8>> {
        let mut all = self
            .payloads
            .get(kind)
            .unwrap_or_else(|| panic!("no samples of {kind}"))
            .clone();
        all.sort();
        all.dedup();
        // Take samples from all releases.
        let step = all.len().div_ceil(SEEDS_MAX);
        all.into_iter().step_by(step).collect()
    }

    /// The schema selected by an input.
    pub(super) fn schema(schemas: &[Schema], choice: [u8; 2]) -> &Schema {
        &schemas[usize::from(u16::from_le_bytes(choice)) % schemas.len()]
    }

    fn add(&mut self, kind: &'static str, payload: Vec<u8>) {
        if payload.len() <= SEED_BYTES_MAX {
            self.payloads.entry(kind).or_default().push(payload);
        }
    }
}

/// Splits every array of `golden/` into its parts.
pub(super) fn load() -> Samples {
    let mut samples = Samples {
        arrays: Vec::new(),
        schemas: Vec::new(),
        payloads: BTreeMap::new(),
    };
    for case in golden::load().into_iter().flat_map(|g| g.cases) {
        let key = case.key().ok().flatten();
        let files: Vec<_> = case.files.into_iter().map(|(path, bytes)| (path, bytes.0)).collect();
        let schema = files.iter().rfind(|(path, _)| is_schema(path));
        let payload = schema.and_then(|(_, bytes)| generic_tile::decode(bytes, key.as_ref()).ok());
        let schema = payload.and_then(|(payload, _)| Schema::decode(&payload).ok());
        let choice = schema.as_ref().map(|s| choice(&mut samples.schemas, s));
        for (path, bytes) in &files {
            whole_file(&mut samples, path, bytes, key.as_ref());
            if let (Some(schema), Some(choice)) = (&schema, choice)
                && path.ends_with("__fragment_metadata.tdb")
            {
                fragment(&mut samples, path, bytes, key.as_ref(), schema, choice);
            }
        }
        samples.arrays.push(Sample { files, key });
    }
    samples
}

fn is_schema(path: &str) -> bool {
    path == "__array_schema.tdb" || path.starts_with("__schema/__") && path.matches('/').count() == 1
}

/// The number of a schema among those seen so far.
fn choice(schemas: &mut Vec<Schema>, schema: &Schema) -> [u8; 2] {
    let at = schemas.iter().position(|s| s == schema).unwrap_or_else(|| {
        schemas.push(schema.clone());
        schemas.len() - 1
    });
    (at as u16).to_le_bytes()
}

fn whole_file(samples: &mut Samples, path: &str, bytes: &[u8], key: Option<&Key>) {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let payload = || generic_tile::decode(bytes, key).map(|(p, _)| p).unwrap_or_default();
    let kind = match (folder, end) {
        _ if is_schema(path) => "schema",
        ("__schema/__enumerations", _) => "enumeration",
        ("__meta", "") => "array-metadata",
        (_, "meta") => "consolidated-metadata",
        (_, "con") => "consolidated-commits",
        (_, "ign" | "vac") => "path-list",
        (_, "del") => "stored-condition",
        _ => return samples.add("name", name.as_bytes().to_vec()),
    };
    samples.add("name", name.as_bytes().to_vec());
    if matches!(kind, "consolidated-commits" | "path-list") {
        samples.add(kind, bytes.to_vec());
    } else {
        samples.add("generic-tile", bytes.to_vec());
        samples.add(kind, payload());
    }
}

/// The sections of a fragment's metadata.
fn fragment(s: &mut Samples, path: &str, bytes: &[u8], key: Option<&Key>, schema: &Schema, choice: [u8; 2]) {
    let folder = path.rsplit('/').nth(1).unwrap_or_default();
    let Ok(version) = TimestampedName::parse(folder).and_then(|n| n.version()) else {
        return;
    };
    let chosen = |payload: &[u8]| [&choice[..], &[version.number() as u8 - 1], payload].concat();
    if !version.has_footer() {
        if let Ok((payload, _)) = generic_tile::decode(bytes, None) {
            s.add("legacy-metadata", chosen(&payload));
        }
        return;
    }
    let tail = &bytes[bytes.len().saturating_sub(8)..];
    let Ok(range) = Footer::locate(version, schema, bytes.len() as u64, tail) else {
        return;
    };
    let footer_bytes = &bytes[range.start as usize..range.end as usize];
    s.add("footer", chosen(footer_bytes));
    let Ok(footer) = Footer::decode(footer_bytes, schema, version) else {
        return;
    };
    let section = |at: u64| {
        let bytes = bytes.get(usize::try_from(at).ok()?..)?;
        generic_tile::decode(bytes, key).ok().map(|(payload, _)| payload)
    };
    let o = &footer.sections;
    if let Some(payload) = section(o.rtree) {
        s.add("rtree", chosen(&payload));
    }
    let slots = Slots::new(version, schema, footer.has_timestamps, footer.has_delete_metadata).len();
    for (kind, list) in [
        ("tile-index", List::TileOffsets),
        ("tile-index", List::TileVarSizes),
        ("tile-values", List::TileMins),
    ] {
        for payload in footer.lists.get(list).iter().filter_map(|at| section(*at)) {
            s.add(kind, payload);
        }
    }
    if let Some(payload) = o.fragment_stats.and_then(section) {
        s.add("field-stats", [&[slots as u8], &payload[..]].concat());
    }
    if let Some(payload) = o.processed_conditions.and_then(section) {
        s.add("processed-conditions", payload);
    }
}

/// The version selected by an input.
pub(super) fn version(choice: u8) -> Version {
    Version::new(u32::from(choice) % Version::CURRENT.number() + 1).unwrap_or(Version::CURRENT)
}
