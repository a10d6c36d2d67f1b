//! The codecs of a chunk.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::types::{Kind, Type};
use crate::codecs;

/// The most bytes of a decoded chunk.
pub(super) const CHUNK_BYTES_MAX: usize = 256 << 20;
/// What a step may add to the bytes of a chunk, besides an eighth.
const STEP_BYTES: usize = 1 << 16;
/// The bytes of a checksum.
const CHECKSUM_BYTES: usize = 4;

/// A decoded chunk: its elements in row-major order.
#[derive(Debug)]
pub(super) enum Chunk {
    /// Elements of one size, in the byte order of the machine.
    Fixed(Vec<u8>),
    /// Elements of any length.
    Any(Vec<Vec<u8>>),
}

impl Chunk {
    /// About the bytes that it takes in memory.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Fixed(bytes) => bytes.len(),
            Self::Any(cells) => cells.iter().map(|c| c.len() + size_of::<Vec<u8>>()).sum(),
        }
    }
}

/// How chunks are encoded.
#[derive(Debug, Clone, Default)]
pub(super) struct Pipeline {
    /// For each axis of the stored elements, the axis of the array; `None` if they are the same.
    pub(super) order: Option<Vec<usize>>,
    /// Whether the first byte of a number is the most significant one.
    pub(super) big_endian: bool,
    /// The codecs over bytes, in the order of encoding.
    pub(super) steps: Vec<Step>,
}

/// A codec over bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Gzip,
    Zlib,
    Zstd,
    Lz4,
    Bzip2,
    Blosc,
    Crc32c,
    /// Of values of this many bytes.
    Shuffle(usize),
}

impl Step {
    /// The codec of this name and configuration; `None` if it is no codec over bytes that is known.
    pub(super) fn new(name: &str, configuration: &Value) -> Option<Self> {
        Some(match name.strip_prefix("numcodecs.").unwrap_or(name) {
            "gzip" => Self::Gzip,
            "zlib" => Self::Zlib,
            "zstd" => Self::Zstd,
            "lz4" => Self::Lz4,
            "bz2" => Self::Bzip2,
            "blosc" => Self::Blosc,
            "crc32c" => Self::Crc32c,
            "shuffle" => {
                let width = configuration.get("elementsize").and_then(Value::as_u64).unwrap_or(4);
                Self::Shuffle(usize::try_from(width).ok()?)
            }
            _ => return None,
        })
    }

    fn decode(self, data: &[u8], limit: usize) -> Result<Vec<u8>> {
        match self {
            Self::Gzip => codecs::limited(flate2::read::MultiGzDecoder::new(data), limit, "gzip"),
            Self::Zlib => codecs::zlib(data, limit),
            Self::Zstd => codecs::zstd(data, limit),
            Self::Bzip2 => codecs::limited(bzip2::read::MultiBzDecoder::new(data), limit, "bzip2"),
            Self::Blosc => codecs::blosc::decompress(data, limit),
            Self::Shuffle(width) => Ok(codecs::unshuffled(data, width)),
            Self::Lz4 => {
                let (size, block) = data.split_first_chunk::<4>().context("LZ4 data is cut short")?;
                let size = u32::from_le_bytes(*size) as usize;
                ensure!(
                    size <= limit,
                    "LZ4 data is longer than {limit} bytes, its size in the file"
                );
                codecs::lz4(block, size)
            }
            Self::Crc32c => {
                let end = data
                    .len()
                    .checked_sub(CHECKSUM_BYTES)
                    .context("a checksum is missing")?;
                let (data, sum) = data.split_at(end);
                ensure!(
                    crc32c::crc32c(data).to_le_bytes() == *sum,
                    "the checksum of a chunk is wrong"
                );
                Ok(data.to_vec())
            }
        }
    }
}

/// Decodes bytes through all steps. The result has at most `limit` bytes.
pub(super) fn decoded(steps: &[Step], data: Vec<u8>, limit: usize) -> Result<Vec<u8>> {
    let within = limit.saturating_add(limit / 8).saturating_add(STEP_BYTES);
    let out = steps
        .iter()
        .rev()
        .try_fold(data, |data, step| step.decode(&data, within))?;
    ensure!(out.len() <= limit, "a chunk has {} bytes instead of {limit}", out.len());
    Ok(out)
}

impl Pipeline {
    /// Decodes a chunk of this shape.
    pub(super) fn decode(&self, data: Vec<u8>, shape: &[usize], of: Type) -> Result<Chunk> {
        let cells: usize = shape.iter().product();
        if matches!(of.kind, Kind::LongText | Kind::LongBlob) {
            let cells = sequences(&decoded(&self.steps, data, CHUNK_BYTES_MAX)?, cells)?;
            return Ok(Chunk::Any(match &self.order {
                Some(order) => reordered(shape, order, |from| cells.get(from).cloned().unwrap_or_default()),
                None => cells,
            }));
        }
        let wanted = cells * of.bytes;
        let mut bytes = decoded(&self.steps, data, wanted)?;
        ensure!(
            bytes.len() == wanted,
            "a chunk has {} bytes instead of {wanted}",
            bytes.len()
        );
        if self.big_endian && of.word() > 1 {
            bytes.chunks_exact_mut(of.word()).for_each(<[u8]>::reverse);
        }
        if let Some(order) = &self.order {
            let element = |from: usize| {
                bytes
                    .get(from * of.bytes..)
                    .and_then(|r| r.get(..of.bytes))
                    .unwrap_or_default()
            };
            bytes = reordered(shape, order, element).concat();
        }
        Ok(Chunk::Fixed(bytes))
    }
}

/// Elements in row-major order, from those of a chunk whose axes are stored in this order.
fn reordered<T>(shape: &[usize], order: &[usize], element: impl Fn(usize) -> T) -> Vec<T> {
    // How far apart neighbours along each axis of the array are.
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for axis in order.iter().rev() {
        strides.iter_mut().skip(*axis).take(1).for_each(|s| *s = stride);
        stride *= shape.get(*axis).copied().unwrap_or(1);
    }
    let mut at = vec![0; shape.len()];
    let mut out = Vec::new();
    for _ in 0..shape.iter().product::<usize>() {
        out.push(element(at.iter().zip(&strides).map(|(n, s)| n * s).sum()));
        for (n, length) in at.iter_mut().zip(shape).rev() {
            *n += 1;
            if *n < *length {
                break;
            }
            *n = 0;
        }
    }
    out
}

/// Elements of any length: a count, and the length and bytes of each.
fn sequences(data: &[u8], cells: usize) -> Result<Vec<Vec<u8>>> {
    let mut rest = data;
    let count = length(&mut rest)?;
    ensure!(count == cells, "a chunk has {count} cells instead of {cells}");
    let mut out = Vec::new();
    for _ in 0..cells {
        let bytes = length(&mut rest)?;
        let (cell, after) = rest.split_at_checked(bytes).context("a chunk is cut short")?;
        out.push(cell.to_vec());
        rest = after;
    }
    Ok(out)
}

fn length(data: &mut &[u8]) -> Result<usize> {
    let (length, rest) = data.split_first_chunk::<4>().context("a chunk is cut short")?;
    *data = rest;
    Ok(u32::from_le_bytes(*length) as usize)
}

/// The order of axes of a codec `transpose`.
pub(super) fn transpose(configuration: &Value, axes: usize) -> Result<Vec<usize>> {
    let order = configuration.get("order").and_then(Value::as_array);
    let order = order.context("a codec 'transpose' has no order")?;
    let axis = |n: &Value| n.as_u64().and_then(|n| usize::try_from(n).ok());
    let order: Vec<usize> = order.iter().filter_map(axis).collect();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    if sorted != (0..axes).collect::<Vec<_>>() {
        bail!("the order of a codec 'transpose' is damaged");
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_come_back_in_order() {
        // A chunk of 2 × 3 in column-major order.
        let cells = reordered(&[2, 3], &[1, 0], |from| from);
        assert_eq!(cells, [0, 2, 4, 1, 3, 5]);
        assert_eq!(reordered(&[], &[], |from| from), [0]);
    }

    #[test]
    fn a_wrong_checksum_is_an_error() {
        let mut data = b"abc".to_vec();
        data.extend(crc32c::crc32c(b"abc").to_le_bytes());
        assert_eq!(Step::Crc32c.decode(&data, 3).unwrap(), b"abc");
        data[0] ^= 1;
        assert!(Step::Crc32c.decode(&data, 3).is_err());
    }
}
