//! Tests every filter on every supported type: decodes captured tiles, and checks that our encoder produces the same
//! bytes.

use hyperslab::internals::filter::{
    Nonces, TileFormat, codes_strings, decode_tile, decode_var_tile, encode_tile, encode_var_tile,
};
use hyperslab::internals::format::cursor::Reader;
use hyperslab::schema::{Filter, Pipeline, Version};
use hyperslab::{CellCount, Datatype, Key};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

pub(crate) const KEY: &[u8; 32] = b"0123456789abcdeF0123456789abcdeF";

/// A line of the table of captured tiles.
pub(crate) struct Case<'a> {
    name: &'a str,
    pub(crate) how: &'a str,
    datatype: Datatype,
    cell: CellCount,
    pub(crate) pipeline: Pipeline,
    pub(crate) data: Vec<u8>,
    pub(crate) offsets: Vec<u64>,
    pub(crate) tile: Vec<u8>,
}

impl<'a> Case<'a> {
    fn parse(line: &'a str) -> Self {
        let columns: Vec<&str> = line.split('|').collect();
        let [name, how, datatype, cell, pipeline, data, offsets, tile] = columns[..] else {
            panic!("{line}")
        };
        Self {
            name,
            how,
            datatype: Datatype::from_id(datatype.parse().unwrap()).unwrap(),
            cell: match cell.parse().unwrap() {
                0 => CellCount::Var,
                n => CellCount::Fixed(n),
            },
            pipeline: Pipeline::decode(&mut Reader::new(&bytes(pipeline)), Version::CURRENT).unwrap(),
            data: bytes(data),
            offsets: offsets.split(',').filter_map(|o| o.parse().ok()).collect(),
            tile: bytes(tile),
        }
    }

    pub(crate) fn format<'k>(&self, key: Option<&'k Key>) -> TileFormat<'k> {
        TileFormat {
            key,
            ..TileFormat::new(self.datatype, self.cell)
        }
    }

    fn decode(&self, tile: &[u8], f: &TileFormat<'_>) -> Vec<u8> {
        let (p, n) = (&self.pipeline, self.data.len() as u64);
        if self.offsets.is_empty() {
            let cells = decode_tile(tile, p, f, n).unwrap_or_else(|e| panic!("{}: {e}", self.name));
            let mut into = vec![0xaa; cells.len()];
            super::by_chunks(tile, p, f, &mut into).unwrap();
            assert_eq!(into, cells, "{}: the decoders disagree", self.name);
            return cells;
        }
        let count = self.offsets.len() as u64 - 1;
        let (cells, offsets) = decode_var_tile(tile, p, f, n, count).unwrap_or_else(|e| panic!("{}: {e}", self.name));
        assert_eq!(
            offsets.is_some(),
            codes_strings(p, f),
            "{}: the tile holds offsets",
            self.name
        );
        if let Some(offsets) = offsets {
            assert_eq!(
                offsets,
                self.offsets[..self.offsets.len() - 1],
                "{}: offsets",
                self.name
            );
        }
        cells
    }

    fn encode(&self, f: &TileFormat<'_>, nonces: &Nonces) -> Vec<u8> {
        let tile = match self.offsets.is_empty() {
            true => encode_tile(&self.data, &self.pipeline, f, nonces),
            false => encode_var_tile(&self.data, &self.offsets, &self.pipeline, f, nonces),
        };
        tile.unwrap_or_else(|e| panic!("{}: {e}", self.name))
    }
}

fn bytes(text: &str) -> Vec<u8> {
    if let Some((byte, times)) = text.split_once('*') {
        return bytes(byte).repeat(times.parse().unwrap());
    }
    let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
    let digits: Vec<u8> = text.bytes().filter_map(digit).collect();
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

pub(crate) fn cases() -> Vec<Case<'static>> {
    include_str!("libtiledb.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(Case::parse)
        .collect()
}

#[test]
fn tiles_of_libtiledb_decode_to_its_cells() {
    let key = Key(*KEY);
    let cases = cases();
    assert!(cases.len() > 200, "the table is too short");
    for case in cases {
        let f = case.format((case.how == "key").then_some(&key));
        assert_eq!(case.decode(&case.tile, &f), case.data, "{}", case.name);
    }
}

#[test]
fn our_tiles_match_libtiledb() {
    for case in cases().into_iter().filter(|c| c.how == "same") {
        assert_eq!(
            case.encode(&case.format(None), &Nonces::none()),
            case.tile,
            "{}",
            case.name
        );
    }
}

#[test]
fn tiles_that_differ_from_libtiledb_round_trip() {
    let key = Key(*KEY);
    for case in cases().into_iter().filter(|c| matches!(c.how, "read" | "key")) {
        let f = case.format((case.how == "key").then_some(&key));
        let tile = case.encode(&f, &Nonces::new([5; 32]));
        assert_eq!(case.decode(&tile, &f), case.data, "{}", case.name);
    }
}

#[test]
fn a_changed_byte_is_detected_by_a_checksum_or_a_key() {
    let key = Key(*KEY);
    for case in cases()
        .into_iter()
        .filter(|c| c.how == "key" || c.name.starts_with("md5/") || c.name.starts_with("sha/"))
    {
        let f = case.format((case.how == "key").then_some(&key));
        let mut tile = case.tile.clone();
        *tile.last_mut().unwrap() ^= 1;
        assert!(
            decode_tile(&tile, &case.pipeline, &f, case.data.len() as u64).is_err(),
            "{}",
            case.name
        );
    }
}

/// 2.9.5 writes a tile of one empty string like this, with an empty chunk.
#[test]
fn encoded_empty_strings_may_take_no_bytes() {
    let f = TileFormat::new(Datatype::StringAscii, CellCount::Var);
    let p = Pipeline::new(vec![Filter::Dictionary { level: -1 }]);
    let tile = [1_u64.to_le_bytes().as_slice(), &[0; 12]].concat();
    assert_eq!(
        decode_var_tile(&tile, &p, &f, 0, 3).unwrap(),
        (vec![], Some(vec![0; 3]))
    );
    assert!(decode_var_tile(&tile, &p, &f, 1, 3).is_err());
}

/// libtiledb since 2.8 writes them like this; 2.10 to 2.16 crash on tiles without chunks.
#[test]
fn empty_cells_are_an_empty_chunk() {
    let tile = |version: u32, filters: Vec<Filter>| {
        let mut f = TileFormat::new(Datatype::Int16, CellCount::Var);
        f.version = Version::new(version).unwrap();
        let (p, starts) = (Pipeline::new(filters), [0; 4]);
        let tile = encode_var_tile(&[], &starts, &p, &f, &Nonces::none()).unwrap();
        assert_eq!(decode_var_tile(&tile, &p, &f, 0, 3).unwrap().0, Vec::<u8>::new());
        tile
    };
    let (none, one) = (vec![0; 8], [1_u64.to_le_bytes().as_slice(), &[0; 12]].concat());
    assert_eq!(tile(22, vec![]), one);
    assert_eq!(tile(12, vec![Filter::Byteshuffle])[..8], one[..8]);
    assert_eq!(tile(22, vec![Filter::Zstd { level: 3 }])[..8], one[..8]);
    assert_eq!(tile(11, vec![]), none);
    for filter in [Filter::Bzip2 { level: 1 }, Filter::Rle { level: -1 }, Filter::Xor] {
        assert_eq!(tile(22, vec![filter])[..8], one[..8]);
    }
    // libtiledb cannot read its own empty chunk with gzip.
    assert_eq!(tile(22, vec![Filter::Gzip { level: 6 }]), none);
}
