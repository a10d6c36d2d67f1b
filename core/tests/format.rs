//! Decodes and encodes files that libtiledb wrote, and checks that no byte changes.
//!
//! `data/make.py` generates the test vectors.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use std::collections::BTreeMap;

use hyperslab::internals::filter::Nonces;
use hyperslab::internals::format::fragment::footer::{Footer, FooterLists, List, SectionOffsets};
use hyperslab::internals::format::fragment::metadata_file::{FieldMetadata, FragmentMetadata};
use hyperslab::internals::format::fragment::rtree::RTree;
use hyperslab::internals::format::fragment::slots::{FieldId, Slots};
use hyperslab::internals::format::fragment::stats::{FieldStats, TileValues};
use hyperslab::internals::format::fragment::{conditions, tile_index};
use hyperslab::internals::format::generic_tile;
use hyperslab::internals::format::name::TimestampedName;
use hyperslab::schema::{Enumeration, Schema, Version};
use hyperslab::schema_json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const SCHEMAS: &str = include_str!("data/schemas.txt");
const FRAGMENTS: &str = include_str!("data/fragments.txt");

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |c: u8| (c as char).to_digit(16).unwrap() as u8;
    hex.as_bytes()
        .chunks(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect()
}

fn vectors(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split(' ').collect())
}

fn schemas() -> impl Iterator<Item = (&'static str, Vec<u8>)> {
    vectors(SCHEMAS)
        .filter(|v| v[0] != "enumeration")
        .map(|v| (v[0], bytes(v[1])))
}

#[test]
fn schemas_round_trip_exactly() {
    let mut seen = 0;
    for (name, payload) in schemas() {
        let schema = Schema::decode(&payload).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(schema.encode(), payload, "{name}");
        seen += 1;
    }
    assert_eq!(seen, 17);
}

#[test]
fn schemas_of_libtiledb_are_valid_and_complete() {
    for (name, payload) in schemas() {
        let schema = Schema::decode(&payload).unwrap();
        schema.check().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(schema.clone().completed().unwrap(), schema, "{name}");
    }
}

#[test]
fn missing_extents_are_filled_in_like_libtiledb() {
    for name in ["null_extents", "wide_extent"] {
        let (_, payload) = schemas().find(|(n, _)| *n == name).unwrap();
        let mut schema = Schema::decode(&payload).unwrap();
        schema.dimensions.iter_mut().for_each(|d| d.extent = None);
        assert_eq!(schema.completed().unwrap().encode(), payload, "{name}");
    }
}

#[test]
fn schemas_round_trip_through_json() {
    for (name, payload) in schemas() {
        let mut schema = Schema::decode(&payload).unwrap();
        schema.enumerations.clear();
        let text = schema_json::to_json(&schema, &[]).to_string();
        let (back, _) =
            schema_json::from_json(&serde_json::from_str(&text).unwrap()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(back, schema, "{name}");
    }
}

#[test]
fn enumerations_round_trip_exactly() {
    let mut names = Vec::new();
    for v in vectors(SCHEMAS).filter(|v| v[0] == "enumeration") {
        let payload = bytes(v[1]);
        let enumeration = Enumeration::decode(&payload).unwrap();
        assert_eq!(enumeration.encode(), payload);
        names.push((enumeration.name, enumeration.values.len()));
    }
    names.sort();
    let expect = [("empty", 0), ("none", 0), ("numbers", 3), ("pairs", 2), ("strings", 3)];
    assert_eq!(names, expect.map(|(name, n)| (name.to_owned(), n)));
}

/// A decoded file of fragment metadata.
struct Parts {
    version: Version,
    schema: Schema,
    file: Vec<u8>,
    footer_at: usize,
    footer: Footer,
}

impl Parts {
    fn read(v: &[&str]) -> Self {
        let [name, folder, schema, file] = v else {
            panic!("not a fragment")
        };
        let version = TimestampedName::parse(folder).unwrap().version().unwrap();
        Self::of(version, Schema::decode(&bytes(schema)).unwrap(), bytes(file))
            .unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    fn of(version: Version, schema: Schema, file: Vec<u8>) -> Result<Self, hyperslab::Malformed> {
        let range = Footer::locate(version, &schema, file.len() as u64, &file[file.len() - 8..])?;
        let footer_at = range.start as usize;
        let footer = Footer::decode(&file[footer_at..range.end as usize], &schema, version)?;
        Ok(Self {
            version,
            schema,
            file,
            footer_at,
            footer,
        })
    }

    fn section(&self, at: u64) -> Vec<u8> {
        generic_tile::decode(&self.file[at as usize..], None).unwrap().0
    }

    /// The payloads of all sections, in file order.
    fn sections(&self) -> Vec<Vec<u8>> {
        let (mut at, mut found) = (0, Vec::new());
        while at < self.footer_at {
            let (payload, n) = generic_tile::decode(&self.file[at..], None).unwrap();
            found.push(payload);
            at += n as usize;
        }
        found
    }

    /// The metadata of each field with data files.
    fn fields(&self) -> BTreeMap<FieldId, FieldMetadata> {
        let (f, s) = (&self.footer, &self.footer.sections);
        let lists = |list| {
            let at = f.lists.get(list).iter();
            at.map(|at| tile_index::decode(&self.section(*at)).unwrap())
                .collect::<Vec<_>>()
        };
        let values = |list| {
            let at = f.lists.get(list).iter();
            at.map(|at| TileValues::decode(&self.section(*at)).unwrap())
                .collect::<Vec<_>>()
        };
        let (offsets, var_offsets, var_sizes) = (
            lists(List::TileOffsets),
            lists(List::TileVarOffsets),
            lists(List::TileVarSizes),
        );
        let (validity, sums, nulls) = (
            lists(List::TileValidityOffsets),
            lists(List::TileSums),
            lists(List::TileNullCounts),
        );
        let (mins, maxs) = (values(List::TileMins), values(List::TileMaxs));
        let stats = s
            .fragment_stats
            .map(|at| FieldStats::decode_all(&self.section(at), f.lists.get(List::FileSizes).len()).unwrap());
        let slots = Slots::new(f.version, &self.schema, f.has_timestamps, f.has_delete_metadata);
        let has_files = |id: FieldId| id != FieldId::Coords && !(f.dense && matches!(id, FieldId::Dimension(_)));
        let field = |i: usize| FieldMetadata {
            tile_offsets: offsets[i].clone(),
            tile_var_offsets: var_offsets[i].clone(),
            tile_var_sizes: var_sizes[i].clone(),
            tile_validity_offsets: validity.get(i).cloned().unwrap_or_default(),
            mins: mins.get(i).cloned().unwrap_or_default(),
            maxs: maxs.get(i).cloned().unwrap_or_default(),
            sums: sums.get(i).cloned().unwrap_or_default(),
            null_counts: nulls.get(i).cloned().unwrap_or_default(),
            stats: stats.as_ref().map_or(FieldStats::default(), |s| s[i].clone()),
            file_bytes: f.lists.at(List::FileSizes, i).unwrap(),
            var_file_bytes: f.lists.at(List::VarFileSizes, i).unwrap(),
            validity_file_bytes: f.lists.at(List::ValidityFileSizes, i).unwrap_or(0),
        };
        slots
            .fields()
            .enumerate()
            .filter(|(_, id)| has_files(*id))
            .map(|(i, id)| (id, field(i)))
            .collect()
    }

    fn rtree(&self) -> RTree {
        RTree::decode(
            &self.section(self.footer.sections.rtree),
            &self.schema,
            self.footer.version,
        )
        .unwrap()
    }
}

#[test]
fn footers_round_trip_exactly() {
    let mut versions = Vec::new();
    for v in vectors(FRAGMENTS) {
        let parts = Parts::read(&v);
        let length = if Footer::has_length(parts.version, &parts.schema) {
            8
        } else {
            0
        };
        let stored = &parts.file[parts.footer_at..parts.file.len() - length];
        let encoded = parts.footer.encode(&parts.schema);
        // Libraries before 2.8 omit the last number of version 11.
        let written_by_2_7 = v[0].starts_with("2.7");
        assert_eq!(
            &encoded[..encoded.len() - if written_by_2_7 { 8 } else { 0 }],
            stored,
            "{}",
            v[0]
        );
        versions.push(parts.footer.version.number());
    }
    assert_eq!(versions, [3, 4, 5, 6, 7, 9, 11, 12, 15, 22, 22, 22, 22]);
}

#[test]
fn rtrees_have_a_leaf_for_each_tile() {
    for v in vectors(FRAGMENTS) {
        let parts = Parts::read(&v);
        let tree = parts.rtree();
        assert_eq!(
            tree.leaves().map_or(0, |l| l.len as u64),
            parts.footer.sparse_tiles,
            "{}",
            v[0]
        );
        let again = RTree::decode(
            &tree.encode(&parts.schema, parts.footer.version),
            &parts.schema,
            parts.footer.version,
        );
        assert_eq!(again.unwrap(), tree);
    }
}

#[test]
fn metadata_files_match_libtiledb() {
    for v in vectors(FRAGMENTS) {
        let parts = Parts::read(&v);
        let footer = &parts.footer;
        // We never write older versions.
        if !footer.version.has_validity() {
            continue;
        }
        let processed = footer
            .sections
            .processed_conditions
            .map(|at| conditions::decode(&parts.section(at)).unwrap());
        let metadata = FragmentMetadata {
            version: footer.version,
            schema_name: footer.schema_name.clone().unwrap_or_default(),
            dense: footer.dense,
            non_empty_domain: footer.non_empty_domain.clone().unwrap(),
            tiles: tile_index::decode(&parts.section(footer.lists.at(List::TileOffsets, 0).unwrap()))
                .unwrap()
                .len() as u64,
            last_tile_cells: footer.last_tile_cells,
            rtree: parts.rtree(),
            fields: parts.fields(),
            processed_conditions: processed.unwrap_or_default(),
        };
        let file = metadata.encode(&parts.schema, None, &Nonces::none()).unwrap();
        let ours = Parts::of(parts.version, parts.schema.clone(), file).unwrap();
        assert_eq!(ours.sections(), parts.sections(), "{}", v[0]);
        // Sections are compressed by another library, so their offsets differ.
        let plain = |f: &Footer| Footer {
            lists: FooterLists::default(),
            sections: SectionOffsets::default(),
            ..f.clone()
        };
        assert_eq!(plain(&ours.footer), plain(footer), "{}", v[0]);
        assert_eq!(ours.footer.lists.sizes(), footer.lists.sizes(), "{}", v[0]);
    }
}
