//! Blosc, versions 1 and 2 of its chunks: blocks of shuffled values, each compressed by one of five codecs.
//!
//! ```text
//! header | one i32 offset for each block | blocks
//! block: streams, each an i32 length and compressed bytes; a stream for each byte of a value, or one for all
//! ```
//!
//! No library: the bindings to C-Blosc need unsafe code and, for Snappy, a C++ compiler; the ports to Rust are young.

use anyhow::{Context as _, Result, bail, ensure};

use super::{lz, shuffle};

/// The length of a header.
const HEADER_BYTES: usize = 16;
/// The length of a header of version 2 with filters.
const LONG_HEADER_BYTES: usize = 32;
/// The first format with the header of version 2.
const VERSION_2: u8 = 3;
/// Flags of the header.
const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BITS_SHUFFLED: u8 = 4;
const ONE_STREAM: u8 = 16;
/// The most bytes of a value, and the fewest values of a block, that version 1 splits into streams.
const SPLIT_BYTES_MAX: usize = 16;
const SPLIT_CELLS_MIN: usize = 128;
/// Filters of version 2.
const FILTERS: std::ops::Range<usize> = 16..22;
/// Special values of version 2, from a byte of flags.
const SPECIAL_AT: usize = 31;

/// What the header of a chunk says.
struct Header {
    version: u8,
    flags: u8,
    /// Bytes of a value.
    width: usize,
    /// Bytes of the decoded chunk.
    bytes: usize,
    /// Bytes of a decoded block.
    block_bytes: usize,
    /// Bytes of the encoded chunk.
    stored_bytes: usize,
    /// Where the blocks start.
    length: usize,
    /// The filters that were applied, in order.
    filters: Vec<Shuffle>,
    /// The number of a special value, which all cells have.
    special: u8,
}

#[derive(Clone, Copy, PartialEq)]
enum Shuffle {
    Bytes,
    Bits,
}

/// The bytes of the encoded chunk at the start of `data`, as its header says.
pub(super) fn stored_bytes(data: &[u8]) -> Result<usize> {
    Ok(Header::read(data)?.stored_bytes)
}

/// Decodes a chunk of at most `limit` bytes.
pub(crate) fn decompress(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let header = Header::read(data)?;
    let bytes = header.bytes;
    ensure!(
        bytes <= limit,
        "a Blosc chunk has {bytes} bytes, more than {limit}, its size in the file"
    );
    let rest = data.get(header.length..).context("a Blosc chunk is cut short")?;
    if header.special != 0 {
        return header.special(rest);
    }
    if header.flags & STORED != 0 {
        return Ok(rest.get(..bytes).context("a Blosc chunk is cut short")?.to_vec());
    }
    let mut out = Vec::new();
    let blocks = bytes.div_ceil(header.block_bytes.max(1));
    for block in 0..blocks {
        let start = rest.get(block * 4..).and_then(|r| r.first_chunk::<4>());
        let start = u32::from_le_bytes(*start.context("a Blosc chunk is cut short")?) as usize;
        let input = data.get(start..).context("a block of a Blosc chunk is outside of it")?;
        let wanted = header.block_bytes.min(bytes - out.len());
        let decoded = header.block(input, wanted, wanted < header.block_bytes)?;
        out.extend_from_slice(&header.unfiltered(decoded));
    }
    Ok(out)
}

impl Header {
    fn read(data: &[u8]) -> Result<Self> {
        let head = data
            .first_chunk::<HEADER_BYTES>()
            .context("a Blosc chunk is cut short")?;
        let [version, _, flags, width, bytes @ ..] = head;
        let number = |n: usize| {
            let four = bytes.get(n * 4..).and_then(|b| b.first_chunk::<4>());
            four.map_or(0, |b| u32::from_le_bytes(*b) as usize)
        };
        let mut header = Self {
            version: *version,
            flags: *flags,
            width: usize::from(*width).max(1),
            bytes: number(0),
            block_bytes: number(1),
            stored_bytes: number(2),
            length: HEADER_BYTES,
            filters: Vec::new(),
            special: 0,
        };
        if flags & SHUFFLED != 0 && flags & BITS_SHUFFLED != 0 && *version >= VERSION_2 {
            header.read_long(data)?;
        } else if flags & SHUFFLED != 0 {
            header.filters = vec![Shuffle::Bytes];
        } else if flags & BITS_SHUFFLED != 0 {
            header.filters = vec![Shuffle::Bits];
        }
        ensure!(
            header.bytes == 0 || header.block_bytes > 0 || header.special != 0,
            "a Blosc chunk has blocks of no bytes"
        );
        Ok(header)
    }

    fn read_long(&mut self, data: &[u8]) -> Result<()> {
        let long = data
            .first_chunk::<LONG_HEADER_BYTES>()
            .context("a Blosc chunk is cut short")?;
        for filter in long.get(FILTERS).unwrap_or_default() {
            match filter {
                0 => {}
                1 => self.filters.push(Shuffle::Bytes),
                2 => self.filters.push(Shuffle::Bits),
                // It only cut off digits when the chunk was written.
                4 => {}
                other => bail!("the Blosc filter {other} is not supported"),
            }
        }
        let flags = long.get(SPECIAL_AT).copied().unwrap_or(0);
        ensure!(flags & 1 == 0, "Blosc chunks with a dictionary are not supported");
        self.special = flags >> 4 & 7;
        self.length = LONG_HEADER_BYTES;
        Ok(())
    }

    /// A chunk whose values are all the same. Uninitialised ones are zeros.
    fn special(&self, rest: &[u8]) -> Result<Vec<u8>> {
        let value = match (self.special, self.width) {
            (1 | 4, _) => vec![0],
            (2, 4) => f32::NAN.to_le_bytes().to_vec(),
            (2, 8) => f64::NAN.to_le_bytes().to_vec(),
            (3, width) => rest.get(..width).context("a Blosc chunk is cut short")?.to_vec(),
            (other, _) => bail!("the special value {other} of Blosc is not supported"),
        };
        Ok(value.into_iter().cycle().take(self.bytes).collect())
    }

    /// A decoded block of `wanted` bytes, still shuffled.
    fn block(&self, input: &[u8], wanted: usize, is_short: bool) -> Result<Vec<u8>> {
        let by_size = self.version >= VERSION_2
            || (self.width <= SPLIT_BYTES_MAX && self.block_bytes / self.width >= SPLIT_CELLS_MIN);
        let one = self.flags & ONE_STREAM != 0 || is_short || !by_size;
        let streams = if one { 1 } else { self.width };
        ensure!(
            wanted.is_multiple_of(streams),
            "a block of a Blosc chunk has a wrong size"
        );
        let mut input = input;
        let mut out = Vec::new();
        for _ in 0..streams {
            self.stream(&mut input, wanted / streams, &mut out)?;
        }
        Ok(out)
    }

    fn stream(&self, input: &mut &[u8], wanted: usize, out: &mut Vec<u8>) -> Result<()> {
        let (length, rest) = input.split_first_chunk::<4>().context("a Blosc chunk is cut short")?;
        let length = i32::from_le_bytes(*length);
        *input = rest;
        if length <= 0 && self.version >= VERSION_2 {
            // A run of one byte, which the length holds. A byte of flags follows it if it is not zero.
            *input = rest
                .get(usize::from(length < 0)..)
                .context("a Blosc chunk is cut short")?;
            let value = u8::try_from(-i64::from(length)).context("a run of a Blosc chunk is damaged")?;
            out.resize(out.len() + wanted, value);
            return Ok(());
        }
        let length = usize::try_from(length).context("a stream of a Blosc chunk has a wrong length")?;
        let (data, rest) = rest.split_at_checked(length).context("a Blosc chunk is cut short")?;
        *input = rest;
        if length == wanted {
            out.extend_from_slice(data);
            return Ok(());
        }
        let decoded = match self.flags >> 5 {
            0 => lz::blosclz(data, wanted),
            1 => super::lz4(data, wanted),
            2 => snappy(data, wanted),
            3 => super::zlib(data, wanted),
            4 => super::zstd(data, wanted),
            other => bail!("the codec {other} of Blosc is not supported"),
        }?;
        ensure!(
            decoded.len() == wanted,
            "a stream of a Blosc chunk has {} bytes instead of {wanted}",
            decoded.len()
        );
        out.extend_from_slice(&decoded);
        Ok(())
    }

    fn unfiltered(&self, block: Vec<u8>) -> Vec<u8> {
        self.filters.iter().rev().fold(block, |block, filter| match filter {
            Shuffle::Bytes => shuffle::unshuffled(&block, self.width),
            // Version 1 leaves a block as it is if its values are not a multiple of 8.
            Shuffle::Bits if self.version < VERSION_2 && !(block.len() / self.width).is_multiple_of(8) => block,
            Shuffle::Bits => shuffle::unshuffled_bits(&block, self.width),
        })
    }
}

fn snappy(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let length = snap::raw::decompress_len(data).context("Snappy data is damaged")?;
    ensure!(
        length <= limit,
        "Snappy data is longer than {limit} bytes, its size in the file"
    );
    snap::raw::Decoder::new()
        .decompress_vec(data)
        .context("Snappy data is damaged")
}
