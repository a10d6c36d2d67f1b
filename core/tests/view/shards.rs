//! Tiles as Zarr shards, for arrays on disk whose files are served unchanged.

mod made;

use hyperslab::Key;
use hyperslab::schema::{CurrentDomain, Filter};
use proptest::prelude::*;
use serde_json::{Value, json};

use self::made::*;
use super::*;

fn is_sharded(made: &Made) -> bool {
    let meta: Value = serde_json::from_slice(&file(&made.view, "zarr/v/zarr.json")).unwrap();
    let group: Value = serde_json::from_slice(&file(&made.view, "zarr/zarr.json")).unwrap();
    assert_eq!(group["consolidated_metadata"]["metadata"]["v"], meta);
    meta["codecs"][0]["name"] == "sharding_indexed"
}

#[test]
fn a_tile_of_one_fragment_is_served_from_its_file() {
    for filters in [vec![], vec![ZSTD]] {
        let made = Made::new(&[(512, 256), (300, 256)], attribute(Datatype::Float64, filters));
        let values: Vec<f64> = (0..70_001).map(f64::from).collect();
        made.write(
            1000,
            &[(3, 514), (3, 302)],
            &Column::from_values(Datatype::Float64, &values),
        );
        let stored = std::fs::read(made.data_file()).unwrap();
        let mut end = 0;
        for key in ["0/0", "0/1", "1/0", "1/1"] {
            let node = made.node(&format!("zarr/v/c/{key}"));
            let bytes = file(&made.view, &format!("zarr/v/c/{key}"));
            // Eight chunks per tile. Tiles follow each other in the file.
            let tile = bytes.len() - 16 * 8 - 4;
            assert!(bytes[..tile] == stored[end..end + tile], "{key}");
            assert_eq!(node.stored_bytes, tile as u64);
            assert!(
                fact(&node).starts_with(&format!("bytes {end}..{} of ", end + tile)),
                "{}",
                fact(&node)
            );
            end += tile;
            for start in (0..bytes.len()).step_by(30_011).chain(tile - 3..tile + 3) {
                let range = start as u64..start as u64 + 40_000;
                let part = block_on(made.view.read(&node, range)).unwrap();
                assert!(
                    part == bytes[start..bytes.len().min(start + 40_000)],
                    "{key} from {start}"
                );
            }
        }
        assert_eq!(end, stored.len());
        assert!(made.zarr("") == made.read(NOW_MS));
        let readme = String::from_utf8(file(&made.view, "README.md")).unwrap();
        assert!(
            readme.contains("`v`: stored tiles, served unchanged as shards"),
            "{readme}"
        );
    }
}

#[test]
fn tiles_of_several_fragments_are_built_from_cells() {
    for filters in [vec![], vec![ZSTD]] {
        let made = Made::new(&[(8, 4), (9, 4)], attribute(Datatype::Int32, filters));
        let column = |v: i32| Column::from_values(Datatype::Int32, &[v, v + 1, v + 2]);
        made.write(1000, &[(3, 10), (3, 11)], &column(100));
        // A cell of the first tile, and all of the last tile, which extends past the domain.
        made.write(2000, &[(4, 4), (5, 5)], &column(200));
        made.write(3000, &[(7, 10), (11, 11)], &column(300));
        assert!(is_sharded(&made));
        let kind = |path: &str| fact(&made.node(path)).split(' ').next().unwrap().to_owned();
        assert_eq!(kind("zarr/v/c/0/0"), "made");
        assert_eq!(kind("zarr/v/c/0/1"), "bytes");
        assert_eq!(kind("zarr/v/c/1/2"), "bytes");
        assert_eq!(kind("at/1000ms/zarr/v/c/0/0"), "bytes");
        let id = |path: &str| made.node(path).id;
        assert_ne!(id("zarr/v/c/1/2"), id("at/1000ms/zarr/v/c/1/2"));
        for (prefix, end_ms) in [
            ("", NOW_MS),
            ("at/1000ms/", 1000),
            ("at/2500ms/", 2500),
            ("at/3000ms/", 3000),
        ] {
            assert!(made.zarr(prefix) == made.read(end_ms), "{prefix}");
        }
    }
}

#[test]
fn unwritten_tiles_are_absent_and_partly_written_ones_are_built() {
    let mut v = attribute(Datatype::Uint16, vec![ZSTD]);
    v.fill = 7_u16.to_le_bytes().to_vec();
    let made = Made::new(&[(10, 4)], v);
    assert!(is_sharded(&made));
    assert!(block_on(made.view.lookup("zarr/v/c/0")).unwrap().is_none());
    assert_eq!(made.zarr(""), 7_u16.to_le_bytes().repeat(10));
    // The file's contents in unwritten cells are undefined, so they are not shown.
    made.write(1000, &[(8, 9)], &Column::from_values(Datatype::Uint16, &[1_u16, 2]));
    assert!(fact(&made.node("zarr/v/c/1")).starts_with("made"));
    assert!(block_on(made.view.lookup("zarr/v/c/2")).unwrap().is_none());
    assert!(made.zarr("") == made.read(NOW_MS));
}

/// Cells before the current domain cannot be written, so the fill value is shown, whatever the file contains.
#[test]
fn cells_before_the_current_domain_are_fill_values() {
    let x = Dimension::new("x", Datatype::Int64, 0_i64, 99_i64, 4_i64);
    let mut schema = Schema::new(ArrayType::Dense, vec![x], vec![attribute(Datatype::Uint8, vec![ZSTD])]);
    schema.current_domain = Some(CurrentDomain {
        ranges: vec![ScalarRange::new(5_i64, 8_i64)],
    });
    let made = Made::of(&schema, &created());
    made.write(1000, &[(5, 8)], &Column::from_values(Datatype::Uint8, &[1_u8, 2, 3, 4]));
    let kinds = ["1", "2"].map(|key| fact(&made.node(&format!("zarr/v/c/{key}")))[..4].to_owned());
    assert_eq!(kinds, ["made", "byte"]);
    assert_eq!(made.zarr(""), [255, 255, 255, 255, 255, 1, 2, 3, 4]);
}

#[test]
fn tiles_of_one_cell_are_shards_too() {
    let made = Made::new(&[(3, 1), (2, 1)], attribute(Datatype::Uint8, vec![ZSTD]));
    made.write(
        1000,
        &[(3, 5), (3, 4)],
        &Column::from_values(Datatype::Uint8, &[5_u8, 6, 7, 8, 9]),
    );
    assert!(fact(&made.node("zarr/v/c/2/1")).starts_with("bytes"));
    assert_eq!(made.zarr(""), [5, 6, 7, 8, 9, 5]);
}

#[test]
fn tiles_that_cannot_be_served_unchanged_are_unpacked() {
    let plain = |made: &Made, why: &str| {
        assert!(!is_sharded(made), "{why}");
        let node = made.node("zarr/v/c/0");
        assert_eq!(fact(&node), "");
        let readme = String::from_utf8(file(&made.view, "README.md")).unwrap();
        assert!(
            readme.contains(&format!("`v`: tiles decoded on read, because {why}")),
            "{readme}"
        );
    };
    let numbers = Column::from_values(Datatype::Int32, &[1, 2, 3, 4]);
    for filter in [Filter::Lz4 { level: 1 }, Filter::Gzip { level: 6 }] {
        let made = Made::new(&[(8, 4)], attribute(Datatype::Int32, vec![filter]));
        made.write(1000, &[(3, 10)], &numbers);
        plain(&made, "its filter pipeline is not empty or zstd");
        assert!(made.zarr("") == made.read(NOW_MS));
    }

    let mut v = attribute(Datatype::Int32, vec![ZSTD]);
    v.nullable = true;
    let made = Made::new(&[(8, 4)], v);
    let valid = Column {
        validity: Some(vec![1; 8]),
        ..Column::from_values(Datatype::Int32, &[1; 8])
    };
    made.write(1000, &[(3, 10)], &valid);
    plain(&made, "it is nullable");

    let dimension = Dimension::new("d0", Datatype::Int64, 3_i64, 10_i64, 4_i64);
    let schema = Schema::new(
        ArrayType::Dense,
        vec![dimension],
        vec![attribute(Datatype::Int32, vec![ZSTD])],
    );
    let options = CreateOptions {
        key: Some(Key([5; 32])),
        ..created()
    };
    let made = Made::of(&schema, &options);
    assert!(!is_sharded(&made));

    let in_memory = Context::memory();
    block_on(Array::create(&in_memory, "a", &schema, &[], &created())).unwrap();
    let source = Source {
        context: in_memory,
        url: String::new(),
        path: "a".into(),
        options: OpenOptions::default(),
        name: "a".into(),
    };
    let meta: Value = serde_json::from_slice(&file(&View::new(source, NOW_MS), "zarr/v/zarr.json")).unwrap();
    assert_eq!(
        meta["codecs"],
        json!([{ "name": "bytes", "configuration": { "endian": "little" } }])
    );
}

/// A store that violates its contract causes errors, but never wrong cells.
#[test]
fn damaged_files_give_errors() {
    let whole = |made: &Made| block_on(made.view.read_file("zarr/v/c/1"));
    let make = |filters: &[Filter]| {
        let made = Made::new(&[(30_000, 10_000)], attribute(Datatype::Float64, filters.to_vec()));
        let values: Vec<f64> = (0..30_000).map(|i| f64::from(i) * 0.7).collect();
        // 10000 cells are not a whole number of 64 KiB chunks.
        assert!(!is_sharded(&made));
        let made = Made::new(&[(24_576, 8192)], attribute(Datatype::Float64, filters.to_vec()));
        made.write(
            1000,
            &[(3, 24_578)],
            &Column::from_values(Datatype::Float64, &values[..24_576]),
        );
        made
    };
    for filters in [&[][..], &[ZSTD]] {
        // Truncated within the second tile, before and after its node is created.
        let made = make(filters);
        let node = made.node("zarr/v/c/1");
        let bytes = std::fs::read(made.data_file()).unwrap();
        let cut = bytes.len() / 2;
        std::fs::write(made.data_file(), &bytes[..cut]).unwrap();
        let fresh = Made::again(&made);
        assert!(block_on(fresh.read(&node, 0..u64::MAX)).is_err());
        let error = block_on(fresh.read_file("zarr/v/c/1")).unwrap_err().to_string();
        assert!(error.contains("a0.tdb"), "{error}");

        // A missing file is an error, not an absent name.
        std::fs::remove_file(made.data_file()).unwrap();
        assert!(block_on(Made::again(&made).read_file("zarr/v/c/1")).is_err());

        // Changed counts and sizes of chunks: the tile is not served, or it is read correctly.
        let made = make(filters);
        let bytes = std::fs::read(made.data_file()).unwrap();
        let right = whole(&made).unwrap();
        let start: usize = fact(&made.node("zarr/v/c/1"))["bytes ".len()..]
            .split("..")
            .next()
            .unwrap()
            .parse()
            .unwrap();
        for at in 0..if filters.is_empty() { 20 } else { 36 + 2 } {
            let mut other = bytes.clone();
            other[start + at] ^= 0x81;
            std::fs::write(made.data_file(), &other).unwrap();
            let fresh = Made::again(&made);
            match block_on(fresh.lookup("zarr/v/c/1")) {
                Ok(Some(node)) => {
                    assert!(fact(&node).starts_with("made"), "byte {at}");
                    match block_on(fresh.read(&node, 0..u64::MAX)) {
                        Err(e) => assert!(e.to_string().contains("a0.tdb"), "{e}"),
                        // Bytes that no decoder uses.
                        Ok(found) => {
                            assert!(
                                unsharded_of(&fresh, &found) == unsharded_of(&fresh, &right),
                                "byte {at}"
                            )
                        }
                    }
                }
                Ok(None) => panic!("byte {at}: a name that is absent is a fill value"),
                Err(e) => assert!(e.to_string().contains("a0.tdb"), "{e}"),
            }
        }
    }
}

fn unsharded_of(view: &View, shard: &[u8]) -> Vec<u8> {
    let meta: Value = serde_json::from_slice(&file(view, "zarr/v/zarr.json")).unwrap();
    unsharded(
        &meta["codecs"],
        &numbers(&meta["chunk_grid"]["configuration"]["chunk_shape"]),
        8,
        shard,
    )
}

/// A reader may use an index from before a write or a consolidation, and then read bytes from after it.
#[test]
fn an_outdated_index_never_finds_wrong_cells() {
    for filters in [vec![], vec![ZSTD]] {
        let made = Made::new(&[(4 * 16_384, 16_384)], attribute(Datatype::Float64, filters));
        let inside = |tile: i64| [(3 + tile * 16_384, 2 + (tile + 1) * 16_384)];
        // The consolidation moves tiles to other offsets, and all chunks have the same length.
        for (time, tile) in [(1000, 3), (1100, 1), (1200, 2), (1300, 0)] {
            made.write(
                time,
                &inside(tile),
                &Column::from_values(Datatype::Float64, &[tile as f64]),
            );
        }
        let keys = ["0", "1", "2", "3"].map(|key| format!("zarr/v/c/{key}"));
        let before: Vec<Vec<u8>> = keys.iter().map(|key| file(&made.view, key)).collect();
        let options = |timestamp_ms| WriteOptions {
            timestamp_ms,
            seed: [3; 32],
            sync: false,
        };
        block_on(consolidate(
            &made.array(NOW_MS),
            &ConsolidateOptions::new(Mode::Fragments),
            &options(1400),
        ))
        .unwrap();
        block_on(vacuum(&made.array(NOW_MS), Mode::Fragments, false, &options(1500))).unwrap();
        made.write(1600, &[(3, 3)], &Column::from_values(Datatype::Float64, &[9.0]));
        let meta: Value = serde_json::from_slice(&file(&made.view, "zarr/v/zarr.json")).unwrap();
        let now = made.read(NOW_MS);
        for (tile, (key, before)) in keys.iter().zip(&before).enumerate() {
            let after = file(&made.view, key);
            for (chunk, place) in index(before, 2).into_iter().enumerate() {
                let packed = after.get(place).unwrap_or(&[]);
                let codecs = &meta["codecs"][0]["configuration"]["codecs"];
                if let Some(cells) = unpacked(codecs, packed, 65_536) {
                    let start = (tile * 2 + chunk) * 65_536;
                    let aside = |cells: &[u8]| cells[8..].to_vec();
                    assert!(aside(&cells) == aside(&now[start..start + 65_536]), "{key} {chunk}");
                }
            }
        }
        assert!(made.zarr("") == now);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// After any writes in any order, Zarr shows the same cells as a read, at each time.
    #[test]
    fn shards_match_reads(
        dims in prop::collection::vec((1_i64..12, 1_i64..6), 1..4),
        writes in prop::collection::vec((any::<[u8; 6]>(), 1_u8..200), 0..5),
        kind in 0..2,
        narrow in any::<bool>(),
    ) {
        let filters = [vec![], vec![ZSTD]][kind as usize].clone();
        let datatype = if narrow { Datatype::Uint8 } else { Datatype::Int32 };
        let dims: Vec<(i64, i64)> = dims.into_iter().map(|(n, e)| (n, e.min(n))).collect();
        let made = Made::new(&dims, attribute(datatype, filters));
        prop_assert!(is_sharded(&made));
        for (i, (ends, value)) in writes.iter().enumerate() {
            let range = |(d, (n, extent)): (usize, &(i64, i64))| {
                let (a, b) = (i64::from(ends[2 * d]) % n, i64::from(ends[2 * d + 1]) % n);
                let (a, b) = (a.min(b), a.max(b));
                // Half of the writes are whole tiles.
                let whole = (a / extent * extent, ((b / extent + 1) * extent - 1).min(n - 1));
                let (a, b) = if value % 2 == 0 { whole } else { (a, b) };
                (3 + a, 3 + b)
            };
            let ranges: Vec<(i64, i64)> = dims.iter().enumerate().map(range).collect();
            let column = if narrow {
                Column::from_values(datatype, &[*value, 1, 2])
            } else {
                Column::from_values(datatype, &[i32::from(*value), 1, 2])
            };
            made.write(1000 + i as u64, &ranges, &column);
        }
        prop_assert!(made.zarr("") == made.read(NOW_MS));
        for i in 0..writes.len() {
            let time = 1000 + i as u64;
            prop_assert_eq!(made.zarr(&format!("at/{time}ms/")), made.read(time));
        }
    }
}
