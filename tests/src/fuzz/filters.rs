//! Each filter: hostile tiles decode to an error or to the requested number of bytes, and encoded tiles decode to the
//! same bytes.

use hyperslab::internals::filter::{
    ChunkDecoder, Nonces, TileFormat, decode_tile, decode_var_tile, encode_tile, encode_var_tile,
};
use hyperslab::internals::format::tile::chunks;
use hyperslab::schema::{Filter, Pipeline, Version, WebpFormat};
use hyperslab::{CellCount, Datatype, Key, Malformed};

use super::samples::version;
use super::{Allowance, Target, choices};

/// The choices made by an input: options, type, cell count, version, the pipeline around the filter, and the bytes and
/// cells of the tile.
type Choices = [u8; 10];

const TYPES: [Datatype; 14] = [
    Datatype::Uint8,
    Datatype::Int8,
    Datatype::Uint16,
    Datatype::Int16,
    Datatype::Uint32,
    Datatype::Int32,
    Datatype::Uint64,
    Datatype::Int64,
    Datatype::Float32,
    Datatype::Float64,
    Datatype::Char,
    Datatype::StringAscii,
    Datatype::StringUtf8,
    Datatype::DatetimeMs,
];

/// Bytes that a codec may hold for any tile: the windows and tables of zstd and bzip2.
const CODEC_BYTES: usize = 24 << 20;

const NAMES: [&str; 18] = [
    "gzip",
    "zstd",
    "lz4",
    "rle",
    "bzip2",
    "double-delta",
    "bit-width-reduction",
    "bitshuffle",
    "byteshuffle",
    "positive-delta",
    "aes-256-gcm",
    "md5",
    "sha256",
    "dictionary",
    "float-scale",
    "xor",
    "webp",
    "delta",
];

pub(super) fn targets() -> Vec<Target> {
    let decode = |name: &'static str| {
        Target::new(format!("decode-{name}"), decode_seeds(name), move |input: &[u8]| {
            hostile(name, input)
        })
    };
    let round = |name: &'static str| {
        Target::new(format!("encode-{name}"), plain_seeds(), move |input: &[u8]| {
            round_trip(name, input)
        })
    };
    NAMES.map(decode).into_iter().chain(NAMES.map(round)).collect()
}

fn filter(name: &str, a: u8, b: u8) -> Filter {
    let level = i32::from(a % 12) - 1;
    let reinterpret = (b % 2 == 1).then(|| TYPES[usize::from(a) % 8]);
    let max_window = [0, 1, 7, 16, 256, 1024, u32::MAX][usize::from(a) % 7];
    let all = [
        Filter::Gzip { level },
        Filter::Zstd { level },
        Filter::Lz4 { level },
        Filter::Rle { level },
        Filter::Bzip2 { level },
        Filter::DoubleDelta { level, reinterpret },
        Filter::BitWidthReduction { max_window },
        Filter::Bitshuffle,
        Filter::Byteshuffle,
        Filter::PositiveDelta { max_window },
        Filter::Aes256Gcm,
        Filter::Md5,
        Filter::Sha256,
        Filter::Dictionary { level },
        Filter::FloatScale {
            scale: f64::from(a) - 8.0,
            offset: f64::from(b),
            byte_width: 1 << (a % 5),
        },
        Filter::Xor,
        Filter::Webp {
            quality: f32::from(b % 101),
            format: [WebpFormat::Rgb, WebpFormat::Bgr, WebpFormat::Rgba, WebpFormat::Bgra][usize::from(a) % 4],
            lossless: true,
            y_extent: u16::from(a),
            x_extent: u16::from(b) * 12,
        },
        Filter::Delta { level, reinterpret },
    ];
    let [gzip, ..] = &all;
    all.iter().find(|f| f.name() == name).unwrap_or(gzip).clone()
}

/// The filter alone, or with others before or after it.
fn pipeline(filter: Filter, around: u8) -> Pipeline {
    let filters = match around % 6 {
        1 => vec![Filter::Byteshuffle, filter],
        2 => vec![filter, Filter::Zstd { level: 1 }],
        3 => vec![filter, Filter::Md5],
        4 => vec![
            Filter::BitWidthReduction { max_window: 64 },
            filter,
            Filter::Rle { level: -1 },
        ],
        _ => vec![filter],
    };
    Pipeline::new(filters)
}

fn cell_count(choice: u8) -> CellCount {
    match choice {
        0..=99 => CellCount::ONE,
        100..=199 => CellCount::Var,
        n => CellCount::Fixed(u32::from(n) - 198),
    }
}

/// Encryption takes its key from the tile format, not from the pipeline.
fn set_up<'k>(name: &str, c: &Choices, key: &'k Key) -> (Pipeline, TileFormat<'k>) {
    let is_encrypted = name == "aes-256-gcm";
    let f = TileFormat {
        datatype: TYPES[usize::from(c[2]) % TYPES.len()],
        cell: cell_count(c[3]),
        version: version(c[4]),
        writer: version(c[4]),
        key: is_encrypted.then_some(key),
    };
    let filter = if is_encrypted {
        Filter::None
    } else {
        filter(name, c[0], c[1])
    };
    (pipeline(filter, c[5]), f)
}

fn hostile(name: &str, input: &[u8]) -> Allowance {
    let Some((c, tile)) = choices::<10>(input) else {
        return Allowance::of(0);
    };
    let key = Key([1; 32]);
    let (p, f) = set_up(name, &c, &key);
    let bytes = u64::from(u16::from_le_bytes([c[6], c[7]]));
    let cells = u64::from(u16::from_le_bytes([c[8], c[9]]));
    if let Ok(out) = decode_tile(tile, &p, &f, bytes) {
        assert_eq!(out.len() as u64, bytes);
        let mut again = vec![0; out.len()];
        by_chunks(tile, &p, &f, &mut again).unwrap();
        assert!(out == again, "both ways of decoding");
    }
    if let Ok((out, offsets)) = decode_var_tile(tile, &p, &f, bytes, cells) {
        assert_eq!(out.len() as u64, bytes);
        assert!(offsets.is_none_or(|o| o.len() as u64 == cells && o.is_sorted()));
    }
    Allowance {
        bytes: input.len() + bytes as usize + 8 * cells as usize,
        fixed: CODEC_BYTES,
    }
}

/// The cells of a tile, chunk by chunk.
fn by_chunks(tile: &[u8], p: &Pipeline, f: &TileFormat<'_>, out: &mut [u8]) -> Result<(), Malformed> {
    let decoder = ChunkDecoder::new(p, f)?;
    let mut rest = out;
    for chunk in chunks(tile)? {
        let bytes = usize::try_from(chunk.plain_bytes).unwrap();
        let (now, later) = std::mem::take(&mut rest).split_at_mut(bytes);
        decoder.decode(&chunk, now)?;
        rest = later;
    }
    Ok(())
}

fn round_trip(name: &str, input: &[u8]) -> Allowance {
    let allowance = Allowance {
        bytes: input.len(),
        fixed: CODEC_BYTES,
    };
    let Some((mut c, data)) = choices::<10>(input) else {
        return allowance;
    };
    let key = Key([1; 32]);
    if name == "webp" && c[1] > 0 {
        // An image needs all of its rows.
        let row = usize::from(c[1]) * 12;
        c[0] = u8::try_from(data.len() / row).unwrap_or(255);
    }
    let (p, f) = set_up(name, &c, &key);
    let f = TileFormat {
        version: Version::CURRENT,
        ..f
    };
    let cell_bytes = f.cell.cell_bytes(f.datatype).unwrap_or(f.datatype.size());
    let mut whole = data.len() / cell_bytes * cell_bytes;
    if let Some(Filter::Webp { y_extent, x_extent, .. }) = p.filters.first() {
        whole = usize::from(*y_extent) * usize::from(*x_extent);
    }
    let Some(data) = data.get(..whole) else {
        return allowance;
    };
    let nonces = Nonces::new([7; 32]);
    let lossy = matches!(filter(name, c[0], c[1]), Filter::FloatScale { .. });
    if f.cell.is_var() {
        let step = usize::from(c[6]).max(1) * f.datatype.size();
        let mut offsets: Vec<u64> = (0..data.len()).step_by(step).map(|o| o as u64).collect();
        offsets.push(data.len() as u64);
        let Ok(tile) = encode_var_tile(data, &offsets, &p, &f, &nonces) else {
            return allowance;
        };
        let cells = offsets.len() as u64 - 1;
        let (out, coded) = decode_var_tile(&tile, &p, &f, data.len() as u64, cells).unwrap();
        assert!(lossy || out == data, "other cells came back");
        assert!(coded.is_none_or(|o| o == offsets[..offsets.len() - 1]));
    } else if let Ok(tile) = encode_tile(data, &p, &f, &nonces) {
        let out = decode_tile(&tile, &p, &f, data.len() as u64).unwrap();
        assert!(lossy || out == data, "other cells came back");
    }
    allowance
}

/// Values that filters can shrink.
fn plain() -> Vec<u8> {
    let numbers = (0..24_u64).flat_map(|i| (i * i / 3 + 5).to_le_bytes());
    numbers.chain(*b"aaaabbbbaaaabbbb").chain([7; 32]).collect()
}

fn plain_seeds() -> Vec<Vec<u8>> {
    let seed = |t: u8, cell: u8| [&[8, 1, t, cell, 21, 0, 4, 0, 0, 0][..], &plain()].concat();
    (0..14).flat_map(|t| [seed(t, 0), seed(t, 100), seed(t, 200)]).collect()
}

fn decode_seeds(name: &str) -> Vec<Vec<u8>> {
    let key = Key([1; 32]);
    let mut all = Vec::new();
    for t in 0..TYPES.len() {
        for cell in [0, 100, 200] {
            let data = plain();
            let cells = data.len() / 16;
            let mut c: Choices = [8, 1, t as u8, cell, 21, 0, data.len() as u8, 0, cells as u8, 0];
            if name == "webp" {
                // Two rows of six pixels, of fifteen.
                (c[0], c[1]) = (20, 1);
            }
            let (p, f) = set_up(name, &c, &key);
            let offsets: Vec<u64> = (0..=cells).map(|i| i as u64 * 16).collect();
            let nonces = Nonces::new([7; 32]);
            let tile = match f.cell.is_var() {
                true => encode_var_tile(&data, &offsets, &p, &f, &nonces),
                false => encode_tile(&data, &p, &f, &nonces),
            };
            all.extend(tile.map(|tile| [&c[..], &tile].concat()));
        }
    }
    // A filter without options still consumes the choices.
    all.push(vec![8, 1, 8, 0, 21, 0, 240, 0, 15, 0]);
    all
}
