//! Decodes hostile bytes: always an error or some cells, never a panic, and always fast.

use std::sync::OnceLock;

use hyperslab::internals::filter::{Nonces, TileFormat, decode_tile, decode_var_tile, encode_tile, encode_var_tile};
use hyperslab::internals::format::cursor::Reader;
use hyperslab::internals::format::generic_tile;
use hyperslab::schema::{Filter, Pipeline, Version, WebpFormat};
use hyperslab::{CellCount, Datatype, Key};
use proptest::prelude::*;

use super::roundtrip::{datatypes, filters, versions};
use super::vectors::{Case, KEY, cases};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

const WEBP: Filter = Filter::Webp {
    quality: 100.0,
    format: WebpFormat::Rgb,
    lossless: true,
    y_extent: 8,
    x_extent: 12,
};
const SCALE: Filter = Filter::FloatScale {
    scale: 0.5,
    offset: 1.0,
    byte_width: 2,
};

static CASES: OnceLock<Vec<Case<'static>>> = OnceLock::new();

fn any_filter() -> impl Strategy<Value = Filter> {
    prop_oneof![12 => filters(), 1 => Just(WEBP), 1 => Just(SCALE)]
}

fn cell_counts() -> impl Strategy<Value = CellCount> {
    prop_oneof![3 => Just(CellCount::ONE), 1 => Just(CellCount::Var), 1 => Just(CellCount::Fixed(3)), 1 => Just(CellCount::Fixed(u32::MAX - 1))]
}

fn decode_all_ways(tile: &[u8], p: &Pipeline, f: &TileFormat<'_>, bytes: u64, cells: u64) {
    let _ = decode_tile(tile, p, f, bytes);
    let _ = decode_var_tile(tile, p, f, bytes, cells);
    let mut out = vec![0; usize::try_from(bytes.min(1 << 20)).unwrap()];
    let _ = super::by_chunks(tile, p, f, &mut out);
}

/// A tile of one chunk with these lengths and bytes.
fn one_chunk(plain: u32, metadata: &[u8], data: &[u8]) -> Vec<u8> {
    let mut tile = 1_u64.to_le_bytes().to_vec();
    for length in [plain, data.len() as u32, metadata.len() as u32] {
        tile.extend(length.to_le_bytes());
    }
    tile.extend(metadata);
    tile.extend(data);
    tile
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn noise(
        filters in prop::collection::vec(any_filter(), 0..4),
        (datatype, cell, version) in (datatypes(), cell_counts(), versions()),
        (metadata, data) in (prop::collection::vec(prop_oneof![3 => 0..4_u32, 1 => any::<u32>(), 1 => 4..100_u32], 0..12), prop::collection::vec(any::<u8>(), 0..200)),
        bytes in prop_oneof![0..300_u32, Just(96), Just(u32::MAX)],
        cells in prop_oneof![0..300_u64, Just(u64::MAX)],
    ) {
        let f = TileFormat { version, writer: version, ..TileFormat::new(datatype, cell) };
        decode_all_ways(&one_chunk(bytes, &words(&metadata), &data), &Pipeline::new(filters.clone()), &f, u64::from(bytes), cells);
        decode_all_ways(&data, &Pipeline::new(filters), &f, u64::from(bytes), cells);
    }

    #[test]
    fn damage(
        filters in prop::collection::vec(any_filter(), 1..4),
        (datatype, cell, version) in (datatypes(), cell_counts(), versions()),
        values in prop::collection::vec(0..50_u8, 96),
        (at, with) in (any::<prop::sample::Index>(), prop_oneof![Just(0_u8), Just(1), Just(0xff), any::<u8>()]),
        cut in prop::option::of(any::<prop::sample::Index>()),
        encrypted in prop::bool::weighted(0.1),
    ) {
        let key = Key([1; 32]);
        let (f, p) = (TileFormat { version, writer: version, key: encrypted.then_some(&key), ..TileFormat::new(datatype, cell) }, Pipeline::new(filters));
        let offsets: Vec<u64> = (0..=96).step_by(8).collect();
        let tile = if cell.is_var() { encode_var_tile(&values, &offsets, &p, &f, &Nonces::new([0; 32])) } else { encode_tile(&values, &p, &f, &Nonces::new([0; 32])) };
        // Some filters refuse some values, so there is nothing to damage.
        let Ok(mut tile) = tile else { return Ok(()) };
        let at = at.index(tile.len());
        tile[at] = with;
        if let Some(cut) = cut {
            tile.truncate(cut.index(tile.len()));
        }
        decode_all_ways(&tile, &p, &f, 96, 12);
    }

    #[test]
    fn damage_to_tiles_of_libtiledb(
        case in any::<prop::sample::Index>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let cases = CASES.get_or_init(cases);
        let case = case.get(cases);
        let key = Key(*KEY);
        let mut tile = case.tile.clone();
        for (at, with) in changes {
            let at = at.index(tile.len());
            tile[at] = with;
        }
        let f = case.format((case.how == "key").then_some(&key));
        let cells = case.offsets.len().saturating_sub(1) as u64;
        decode_all_ways(&tile, &case.pipeline, &f, case.data.len() as u64, cells);
    }

    #[test]
    fn generic_tiles(at in any::<prop::sample::Index>(), with in any::<u8>(), noise in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut tile = generic_tile::encode(&[3; 1000], None, &Nonces::none()).unwrap();
        let at = at.index(tile.len());
        tile[at] = with;
        let _ = generic_tile::decode(&tile, None);
        let _ = generic_tile::decode(&noise, None);
        let _ = Pipeline::decode(&mut Reader::new(&noise), Version::CURRENT);
    }
}

#[track_caller]
fn refused(filter: Filter, f: &TileFormat<'_>, tile: &[u8], bytes: u64, cells: u64, expect: &str) {
    let p = Pipeline::new(vec![filter]);
    let e = decode_var_tile(tile, &p, f, bytes, cells).unwrap_err();
    assert!(e.to_string().contains(expect), "{e}");
}

#[test]
fn decompression_bombs_are_refused() {
    let f = |datatype, cell| TileFormat::new(datatype, cell);
    let bytes = f(Datatype::Uint8, CellCount::ONE);
    let big = u32::MAX;
    let header = words(&[0, 1, big, 3]);
    // Lengths that the packed bytes cannot decode to.
    let rle = Filter::Rle { level: -1 };
    refused(
        rle.clone(),
        &bytes,
        &one_chunk(big, &header, &[0, 0xff, 0xff]),
        u64::from(big),
        0,
        "cannot decode to",
    );
    refused(
        Filter::Zstd { level: 1 },
        &bytes,
        &one_chunk(big, &header, &[0; 3]),
        u64::from(big),
        0,
        "cannot decode to",
    );
    refused(
        Filter::None,
        &bytes,
        &one_chunk(big, &[], &[0; 3]),
        u64::from(big),
        0,
        "but its header says 4294967295",
    );
    // Packed metadata of 4 GiB.
    let header = words(&[1, 1, big, 3, 4, 3]);
    refused(
        Filter::Gzip { level: 1 },
        &bytes,
        &one_chunk(4, &header, &[0; 6]),
        4,
        0,
        "unpacks to more than",
    );
    // Endless runs of empty strings, and more text than the tile has.
    let strings = f(Datatype::StringAscii, CellCount::Var);
    let mut header = words(&[0, 1, 0, 16, 8]);
    header.extend([8, 8]);
    let mut run = u64::MAX.to_be_bytes().to_vec();
    run.extend([0; 8]);
    refused(
        rle.clone(),
        &strings,
        &one_chunk(0, &header, &run),
        0,
        5,
        "more than 5 strings",
    );
    let mut run = vec![0, 0, 0, 0, 0, 0, 0, 5];
    run.extend([0, 0, 0, 0, 0, 0, 0, 1, b'x']);
    header[12] = 17;
    refused(rle, &strings, &one_chunk(4, &header, &run), 4, 5, "more than 4 bytes");
}

#[test]
fn an_inner_filter_cannot_unpack_more_than_its_input_allows() {
    // zstd(zstd(64 MiB of zeros)) in a chunk with a claimed size of 64 bytes.
    let f = TileFormat::new(Datatype::Uint8, CellCount::ONE);
    let zstd = Pipeline::new(vec![Filter::Zstd { level: 1 }]);
    let one = Pipeline {
        max_chunk_bytes: hyperslab::schema::MaxChunk(0),
        ..zstd
    };
    let inner = encode_tile(&vec![0; 64 << 20], &one, &f, &Nonces::none()).unwrap();
    let (packed, metadata) = (&inner[36..], &inner[20..36]);
    let mut tile = one_chunk(64, metadata, packed);
    let twice = Pipeline::new(vec![Filter::Byteshuffle, Filter::Zstd { level: 1 }]);
    let e = decode_tile(&tile, &twice, &f, 64).unwrap_err();
    assert!(e.to_string().contains("67108864"), "{e}");
    // The same bytes in a chunk of the right size.
    tile = one_chunk(64 << 20, metadata, packed);
    assert_eq!(decode_tile(&tile, &one, &f, 64 << 20).unwrap().len(), 64 << 20);
}

#[test]
fn an_image_of_another_size_is_refused_before_decoding() {
    let f = TileFormat::new(Datatype::Uint8, CellCount::ONE);
    let small = encode_tile(&[7; 96], &Pipeline::new(vec![WEBP]), &f, &Nonces::none()).unwrap();
    let mut tile = small.clone();
    // The 14-bit width of the lossless frame, after the chunk's header, `RIFF`, `WEBP` and `VP8L`.
    let at = small.windows(4).position(|w| w == b"VP8L").unwrap() + 9;
    tile[at..at + 2].copy_from_slice(&[0xff, 0xff]);
    let e = decode_tile(&tile, &Pipeline::new(vec![WEBP]), &f, 96).unwrap_err();
    assert!(e.to_string().contains("but the tile has 4 by 8"), "{e}");
}

#[test]
fn a_zlib_stream_needs_a_valid_header_and_checksum() {
    let cells = [1, 4, 9, 18, 18, 19, 22, 30, 31];
    let sound = [
        0x78, 0x9c, 0x63, 0x64, 0xe1, 0x14, 0x12, 0x12, 0x16, 0x93, 0x93, 0x07, 0x00, 0x02, 0x20, 0x00, 0x99,
    ];
    let read = |stream: &[u8]| {
        let tile = one_chunk(9, &words(&[0, 1, 9, stream.len() as u32]), stream);
        let p = Pipeline::new(vec![Filter::Gzip { level: -1 }]);
        decode_tile(&tile, &p, &TileFormat::new(Datatype::Uint8, CellCount::ONE), 9)
    };
    assert_eq!(read(&sound).unwrap(), cells);
    assert_eq!(
        read(&[&sound[..], &[7, 7]].concat()).unwrap(),
        cells,
        "bytes after the stream"
    );
    let changed = |at: usize, to: &[u8]| {
        let mut stream = sound.to_vec();
        stream[at..at + to.len()].copy_from_slice(to);
        read(&stream)
    };
    assert!(changed(16, &[0x98]).is_err(), "the sum");
    assert!(changed(0, &[0x78, 0x20]).is_err(), "a dictionary");
    assert!(changed(0, &[0x77, 0x9c]).is_err(), "another method");
    assert!(changed(1, &[0x9d]).is_err(), "the header checksum");
    for shorter in 0..sound.len() {
        assert!(read(&sound[..shorter]).is_err(), "{shorter} bytes");
    }
}
