//! Frames of Blosc 2, as the HDF5 filter stores a chunk: chunks of Blosc, an index of them, and the order of blocks.
//!
//! ```text
//! header, with numbers in big-endian byte order | chunks | index: an i64 offset for each chunk, as a chunk
//! ```

use anyhow::{Context as _, Result, ensure};

use super::blosc;

/// The start of a frame.
const MAGIC: &[u8] = b"b2frame\0";
/// Where the header has the magic, its own length, and sizes in bytes.
const MAGIC_AT: usize = 2;
const HEADER_AT: usize = 11;
const BYTES_AT: usize = 30;
const STORED_AT: usize = 39;
const WIDTH_AT: usize = 48;
const CHUNK_AT: usize = 58;
/// The entry of the header that gives the shape of the blocks: its name, then an i32 offset within the header.
const SHAPES: &[u8] = b"\xa4b2nd\xd2";
/// Bytes in front of the entry's list.
const ENTRY_BYTES: usize = 5;
/// The most axes of a block.
const AXES_MAX: usize = 16;

/// Decodes a frame of at most `limit` bytes.
pub(crate) fn decompress(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    ensure!(
        data.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC)),
        "this is not a frame of Blosc 2"
    );
    let start = usize::try_from(number::<4>(data, HEADER_AT)?)?;
    let bytes = usize::try_from(number::<8>(data, BYTES_AT)?)?;
    let stored = usize::try_from(number::<8>(data, STORED_AT)?)?;
    let chunk_bytes = usize::try_from(number::<4>(data, CHUNK_AT)?)?;
    ensure!(
        chunk_bytes > 0 || bytes == 0,
        "a frame of Blosc 2 has chunks of no bytes"
    );
    let count = bytes.div_ceil(chunk_bytes.max(1));
    let (header, chunks) = data
        .split_at_checked(start)
        .context("a frame of Blosc 2 is cut short")?;
    let index = chunks.get(stored..).context("a frame of Blosc 2 is cut short")?;
    let index = match count {
        0 => Vec::new(),
        _ => blosc::decompress(index, count.checked_mul(8).context("a frame of Blosc 2 is damaged")?)?,
    };
    let shapes = Shapes::read(header)?;
    // Blocks at the end of a chunk reach beyond it, so a frame may have more bytes than its cells.
    let most = if shapes.is_some() { bytes } else { limit };
    let mut out = Vec::new();
    for offset in index.as_chunks::<8>().0 {
        let offset = i64::from_le_bytes(*offset);
        if offset < 0 {
            ensure!(
                offset >> 56 & 7 == 1,
                "a special chunk of a frame of Blosc 2 is not supported"
            );
            ensure!(
                chunk_bytes <= limit.saturating_sub(out.len()),
                "a frame of Blosc 2 is longer than {limit} bytes"
            );
            out.resize(out.len() + chunk_bytes, 0);
            continue;
        }
        let chunk = chunks
            .get(usize::try_from(offset)?..)
            .context("a frame of Blosc 2 is cut short")?;
        ensure!(
            blosc::stored_bytes(chunk)? <= chunk.len(),
            "a frame of Blosc 2 is cut short"
        );
        out.extend_from_slice(&blosc::decompress(chunk, most.saturating_sub(out.len()))?);
    }
    match shapes {
        Some(shapes) => shapes.ordered(&out, usize::try_from(number::<4>(data, WIDTH_AT)?)?, limit),
        None => Ok(out),
    }
}

/// A number in big-endian byte order.
fn number<const N: usize>(data: &[u8], at: usize) -> Result<i64> {
    let bytes = data.get(at..).and_then(|rest| rest.first_chunk::<N>());
    let bytes = bytes.context("a frame of Blosc 2 is cut short")?;
    Ok(bytes.iter().fold(0, |n, byte| n << 8 | i64::from(*byte)))
}

/// The shape of a chunk, and that of its blocks.
struct Shapes {
    chunk: Vec<usize>,
    block: Vec<usize>,
}

impl Shapes {
    /// The shapes in a header; `None` if the cells are in order.
    fn read(header: &[u8]) -> Result<Option<Self>> {
        let Some(at) = header.windows(SHAPES.len()).position(|w| w == SHAPES) else {
            return Ok(None);
        };
        let entry = usize::try_from(number::<4>(header, at + SHAPES.len())?)?;
        let list = entry.checked_add(ENTRY_BYTES).and_then(|at| header.get(at..));
        // A list: its length, a version, the number of axes, and three lists of lengths.
        let list = list.context("the shapes of a frame of Blosc 2 are missing")?;
        let axes = list.get(2).map_or(0, |n| usize::from(*n));
        ensure!((1..=AXES_MAX).contains(&axes), "a frame of Blosc 2 has {axes} axes");
        let lengths = |start: usize| -> Result<Vec<usize>> {
            let length = |n| Ok(usize::try_from(number::<4>(list, start + 2 + 5 * n)?)?);
            (0..axes).map(length).collect()
        };
        let chunks = 3 + 1 + 9 * axes;
        let (chunk, block) = (lengths(chunks)?, lengths(chunks + 1 + 5 * axes)?);
        ensure!(
            block.iter().all(|n| *n > 0),
            "a block of a frame of Blosc 2 has an axis of length 0"
        );
        Ok(Some(Self { chunk, block }))
    }

    /// The cells of a chunk in row-major order.
    fn ordered(&self, blocks: &[u8], width: usize, limit: usize) -> Result<Vec<u8>> {
        let product = |n: &[usize]| n.iter().try_fold(width, |a, b| a.checked_mul(*b));
        let bytes = product(&self.chunk).filter(|n| *n <= limit);
        let mut out = vec![0; bytes.context("a frame of Blosc 2 is longer than its size in the file")?];
        let block_bytes = product(&self.block)
            .filter(|n| *n > 0)
            .context("a frame of Blosc 2 is damaged")?;
        let axes = self.chunk.len();
        let counts: Vec<usize> = self
            .chunk
            .iter()
            .zip(&self.block)
            .map(|(c, b)| c.div_ceil(*b))
            .collect();
        let run = self.block.last().copied().unwrap_or(1);
        for (number, block) in blocks.chunks_exact(block_bytes).enumerate() {
            let origin: Vec<usize> = position(number, &counts)
                .iter()
                .zip(&self.block)
                .map(|(n, b)| n * b)
                .collect();
            for (row, cells) in block.chunks_exact(run * width).enumerate() {
                let within = position(row * run, &self.block);
                let at: Vec<usize> = origin.iter().zip(&within).map(|(a, b)| a + b).collect();
                let last = at.last().copied().unwrap_or(0);
                let outside = at.iter().zip(&self.chunk).any(|(n, length)| n >= length);
                if outside {
                    continue;
                }
                let length = self.chunk.get(axes - 1).map_or(0, |n| (n - last).min(run)) * width;
                let start = at.iter().zip(&self.chunk).fold(0, |n, (at, length)| n * length + at) * width;
                let target = out
                    .get_mut(start..start + length)
                    .context("a frame of Blosc 2 is damaged")?;
                target.copy_from_slice(cells.get(..length).context("a frame of Blosc 2 is damaged")?);
            }
        }
        Ok(out)
    }
}

/// The coordinates of the cell with this number, in row-major order.
fn position(mut number: usize, lengths: &[usize]) -> Vec<usize> {
    let mut out = vec![0; lengths.len()];
    for (at, length) in out.iter_mut().zip(lengths).rev() {
        *at = number % (*length).max(1);
        number /= (*length).max(1);
    }
    out
}
