//! Measures encoding and decoding of each filter on one core, and its lower bound. The lower bound is the compression
//! library alone on the same chunks, or a copy of the bytes for filters without a library.

use std::hint::black_box;

use anyhow::{Context as _, Result, ensure};
use hyperslab::internals::filter::{Nonces, TileFormat, decode_tile, encode_tile};
use hyperslab::schema::{Filter, Pipeline};
use hyperslab::{CellCount, Datatype, Key};
use serde_json::json;

use super::Job;
use super::bare::Bare;
use super::data;
use super::measure::{LIMIT, Metric, Unit, measure};

const TILE_BYTES: usize = 1 << 20;
const TILES: usize = 16;
/// Bytes of a chunk if the pipeline does not set it.
const CHUNK_BYTES: usize = 64 << 10;

/// The variant is the name of a filter.
pub(super) fn filters(job: &Job) -> Result<bool> {
    let Some(filter) = filter(&job.variant) else {
        return Ok(false);
    };
    let column = data::columns(&job.data, "sparse", &["X".to_owned()])?;
    let mut values: Vec<u8> = column.into_iter().next().context("no column")?;
    values.truncate(TILE_BYTES * TILES);
    if job.variant == "positive_delta" {
        let mut sorted: Vec<i64> = bytemuck::pod_collect_to_vec(&values);
        sorted.sort_unstable();
        values = bytemuck::cast_slice(&sorted).to_vec();
    }
    let scaled = job.variant == "float_scale";
    if scaled {
        let whole: Vec<i64> = bytemuck::pod_collect_to_vec(&values);
        values = bytemuck::cast_slice(&whole.iter().map(|v| *v as f64).collect::<Vec<_>>()).to_vec();
    }
    let tiles: Vec<&[u8]> = values.chunks(TILE_BYTES).collect();
    let key = Key([7; 32]);
    let encrypted = job.variant == "aes_256_gcm";
    let f = TileFormat {
        key: encrypted.then_some(&key),
        ..TileFormat::new(if scaled { Datatype::Float64 } else { Datatype::Int64 }, CellCount::ONE)
    };
    let (p, nonces) = (Pipeline::new(vec![filter.clone()]), Nonces::new([9; 32]));
    let nonces = if encrypted { nonces } else { Nonces::none() };
    let encoded = tiles
        .iter()
        .map(|t| encode_tile(t, &p, &f, &nonces))
        .collect::<Result<Vec<_>, _>>()?;
    for (tile, bytes) in tiles.iter().zip(&encoded) {
        ensure!(
            decode_tile(bytes, &p, &f, tile.len() as u64)? == *tile,
            "the tile comes back changed"
        );
    }
    let stored: usize = encoded.iter().map(Vec::len).sum();
    let metric = |peer, name| Metric {
        peer,
        ..Metric::new(
            name,
            Unit::Milliseconds,
            tiles.len(),
            json!({"bytes": TILE_BYTES, "stored": stored}),
        )
    };
    let ready = || Ok(());
    measure(job, &metric("hyperslab", "encode"), None, ready, |()| {
        tiles
            .iter()
            .try_for_each(|t| encode_tile(t, &p, &f, &nonces).map(drop))
            .map_err(Into::into)
    })?;
    measure(job, &metric("hyperslab", "decode"), Some(true), ready, |()| {
        let decode = |(tile, bytes): (&&[u8], &Vec<u8>)| decode_tile(bytes, &p, &f, tile.len() as u64).map(drop);
        tiles.iter().zip(&encoded).try_for_each(decode).map_err(Into::into)
    })?;

    let mut bare = Bare::of(&filter)?;
    let chunks: Vec<&[u8]> = values.chunks(CHUNK_BYTES).collect();
    let packed = chunks.iter().map(|c| bare.encode(c)).collect::<Result<Vec<_>>>()?;
    measure(job, &metric(LIMIT, "encode"), None, ready, |()| {
        chunks
            .iter()
            .try_for_each(|c| bare.encode(c).map(|bytes| drop(black_box(bytes))))
    })?;
    let mut out = vec![0; CHUNK_BYTES];
    measure(job, &metric(LIMIT, "decode"), None, ready, |()| {
        chunks.iter().zip(&packed).try_for_each(|(chunk, bytes)| {
            bare.decode(bytes, &mut out[..chunk.len()])?;
            black_box(&out);
            Ok(())
        })
    })?;
    Ok(true)
}

fn filter(name: &str) -> Option<Filter> {
    let (level, reinterpret, max_window) = (-1, None, 256);
    let byte_width = 8;
    Some(match name {
        "gzip-6" => Filter::Gzip { level: 6 },
        "zstd-3" => Filter::Zstd { level: 3 },
        "lz4" => Filter::Lz4 { level },
        "bzip2-9" => Filter::Bzip2 { level: 9 },
        "rle" => Filter::Rle { level },
        "double_delta" => Filter::DoubleDelta { level, reinterpret },
        "delta" => Filter::Delta { level, reinterpret },
        "bit_width_reduction" => Filter::BitWidthReduction { max_window },
        "positive_delta" => Filter::PositiveDelta { max_window },
        "bitshuffle" => Filter::Bitshuffle,
        "byteshuffle" => Filter::Byteshuffle,
        "xor" => Filter::Xor,
        "float_scale" => Filter::FloatScale {
            scale: 1.0,
            offset: 0.0,
            byte_width,
        },
        "md5" => Filter::Md5,
        "sha256" => Filter::Sha256,
        // Every pipeline of an encrypted array ends with encryption.
        "aes_256_gcm" => Filter::None,
        _ => return None,
    })
}
