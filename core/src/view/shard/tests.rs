use proptest::prelude::*;

use super::*;
use crate::datatype::{CellCount, Datatype};
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::schema::{ArrayType, Dimension, Layout};

fn attribute(datatype: Datatype, cell: CellCount, filters: Vec<Filter>) -> Attribute {
    let mut a = Attribute::new("a", datatype, cell);
    a.filters = Pipeline::new(filters);
    a
}

fn schema(extents: &[i64], attribute: &Attribute) -> Schema {
    let dims = extents
        .iter()
        .enumerate()
        .map(|(i, e)| Dimension::new(&format!("d{i}"), Datatype::Int64, 0_i64, 4 * e - 1, *e));
    Schema::new(ArrayType::Dense, dims.collect(), vec![attribute.clone()])
}

#[track_caller]
fn check(extents: &[i64], datatype: Datatype, expect: Result<&[u64], &'static str>) {
    let a = attribute(datatype, CellCount::ONE, vec![]);
    let found = Sharding::of_schema(&schema(extents, &a), &a);
    assert_eq!(found.map(|s| s.inner), expect.map(<[u64]>::to_vec), "{extents:?}");
}

#[test]
fn inner_chunks_match_the_chunks_of_the_writer() {
    let no_boxes = Err("the chunks of its tiles are not boxes of equal size");
    check(&[1], Datatype::Float64, Ok(&[1]));
    check(&[100, 81], Datatype::Float64, Ok(&[100, 81]));
    check(&[256, 256], Datatype::Float64, Ok(&[32, 256]));
    check(&[32, 32, 64], Datatype::Float32, Ok(&[8, 32, 64]));
    check(&[2, 1 << 15], Datatype::Float64, Ok(&[1, 1 << 13]));
    check(&[1, 7, 1 << 16], Datatype::Uint8, Ok(&[1, 1, 1 << 16]));
    // Rows of 300 cells are split in two, the last chunk is shorter, or the chunks differ in shape.
    check(&[200, 300], Datatype::Float64, no_boxes);
    check(&[300, 256], Datatype::Float64, no_boxes);
    check(&[40, 12_288], Datatype::Float32, no_boxes);
    check(&[1 << 16, 1 << 16], Datatype::Uint8, Ok(&[1, 1 << 16]));
    check(
        &[1 << 17, 1 << 16],
        Datatype::Uint8,
        Err("its tiles have too many chunks"),
    );
    check(&[1 << 30, 1 << 30], Datatype::Uint8, Err("its tiles are too large"));
}

#[test]
fn attributes_without_a_shard_layout_state_the_reason() {
    let refused = |change: &dyn Fn(&mut Schema, &mut Attribute)| {
        let mut a = attribute(Datatype::Int32, CellCount::ONE, vec![Filter::Zstd { level: 3 }]);
        let mut s = schema(&[4, 5], &a);
        change(&mut s, &mut a);
        Sharding::of_schema(&s, &a).err()
    };
    assert_eq!(refused(&|_, _| ()), None);
    assert_eq!(refused(&|_, a| a.nullable = true), Some("it is nullable"));
    assert_eq!(
        refused(&|_, a| a.cell = CellCount::Var),
        Some("its cells have variable length")
    );
    let filters = Some("its filter pipeline is not empty or zstd");
    assert_eq!(
        refused(&|_, a| a.filters.filters.insert(0, Filter::Byteshuffle)),
        filters
    );
    assert_eq!(
        refused(&|_, a| a.filters = Pipeline::new(vec![Filter::Gzip { level: 6 }])),
        filters
    );
    let columns = Some("its cell order is column-major");
    assert_eq!(refused(&|s, _| s.cell_order = Layout::ColMajor), columns);
    // A one-dimensional tile has only one cell order, and the tile order does not matter.
    let line = |s: &mut Schema| {
        s.cell_order = Layout::ColMajor;
        s.dimensions = vec![
            Dimension::new("y", Datatype::Int64, 0_i64, 9_i64, 1_i64),
            Dimension::new("x", Datatype::Int64, 0_i64, 9_i64, 5_i64),
        ];
    };
    assert_eq!(refused(&|s, _| line(s)), None);
    assert_eq!(refused(&|s, _| s.tile_order = Layout::ColMajor), None);
}

#[test]
fn several_values_of_a_cell_stay_in_one_chunk() {
    let a = attribute(Datatype::Uint8, CellCount::Fixed(3), vec![Filter::Zstd { level: 1 }]);
    // A chunk has 21845 cells of 3 bytes, which is 85 rows of 257 cells.
    let sharding = Sharding::of_schema(&schema(&[170, 257], &a), &a).unwrap();
    assert_eq!((&sharding.inner[..], sharding.cut.chunks), (&[85, 257][..], 2));
    let bytes = json!({ "name": "bytes" });
    let codec = sharding.codec(&bytes, 3);
    assert_eq!(codec["configuration"]["chunk_shape"], json!([85, 257, 3]));
    let names: Vec<&Value> = codec["configuration"]["codecs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| &c["name"])
        .collect();
    assert_eq!(names, ["bytes", "zstd"]);
}

#[test]
fn checksums_are_crc32c() {
    // The check value from the CRC catalogue, and one from RFC 3720.
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
}

#[test]
fn any_range_of_a_shard_maps_to_the_file_and_the_index() {
    let tile = StoredTile {
        extent: Extent {
            path: "f".into(),
            range: 100..110,
        },
        chunks: vec![2..4, 7..10],
    };
    let shard = Shard::new(tile);
    assert_eq!(shard.size(), 10 + 36);
    assert_eq!(shard.index[16..24], 7_u64.to_le_bytes());
    assert_eq!(shard.index[24..32], 3_u64.to_le_bytes());
    for start in 0..=46 {
        for end in start..=46 {
            let (file, index) = (shard.of_file(&(start..end)), shard.of_index(&(start..end)));
            let whole: Vec<u64> = (100..110).chain(1000..1036).collect();
            let found: Vec<u64> = file
                .chain((0..index.len() as u64).map(|i| i + 1000 + start.saturating_sub(10)))
                .collect();
            assert_eq!(found, whole[start as usize..end as usize], "{start}..{end}");
        }
    }
}

proptest! {
    /// A run of cells is a box: its cells have the numbers that the position in the index predicts.
    #[test]
    fn inner_chunks_are_runs_of_cells(extents in prop::collection::vec(1_u64..9, 1..4), pick in 0_usize..64) {
        let total: u64 = extents.iter().product();
        let sizes: Vec<u64> = (1..=total).filter(|n| total.is_multiple_of(*n)).collect();
        let cells = sizes[pick % sizes.len()];
        let Some(shape) = inner(&extents, cells) else { return Ok(()) };
        prop_assert_eq!(shape.iter().product::<u64>(), cells);
        let grid: Vec<u64> = extents.iter().zip(&shape).map(|(e, s)| { assert_eq!(e % s, 0); e / s }).collect();
        let (of_tile, of_grid) = (Order::Row.strides(&extents), Order::Row.strides(&grid));
        for cell in 0..total {
            let at: Vec<u64> = of_tile.iter().zip(&extents).map(|(s, e)| cell / s % e).collect();
            let chunk: u64 = at.iter().zip(&shape).zip(&of_grid).map(|((a, s), g)| a / s * g).sum();
            prop_assert_eq!(chunk, cell / cells);
        }
    }

    /// Built shards contain the cells, and have the predicted size, for every compression.
    #[test]
    fn built_shards_have_the_predicted_size(chunks in 1_u64..5, bytes in 1_u64..70_000, kind in 0..2) {
        let packing = [Packing::Plain, Packing::Zstd][kind as usize];
        let sharding = Sharding { cut: Cut { packing, chunks, chunk_bytes: bytes }, inner: vec![1] };
        let cells: Vec<u8> = (0..chunks * bytes).map(|i| (i % 251) as u8).collect();
        let made = sharding.made(&cells).unwrap();
        prop_assert_eq!(made.len() as u64, sharding.made_bytes());
        let at = made.len() - index_bytes(chunks) as usize;
        let last = &made[made.len() - 20..made.len() - 4];
        let (start, n) = last.split_at(8);
        let number = |b: &[u8]| u64::from_le_bytes(b.try_into().unwrap());
        prop_assert_eq!(number(start) + number(n), at as u64);
    }
}
