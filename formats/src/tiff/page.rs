//! One image of a TIFF file: its size, its type and its chunks, which are strips or tiles.

use anyhow::{Context as _, Result, bail, ensure};
use hyperslab::Datatype;

use super::directory::{Directory, TiffFile, tag};

/// Strips without compression are read in pieces of about this many bytes.
const PIECE_BYTES: u64 = 4 << 20;
/// A strip or a tile may always take this many bytes.
const CHUNK_BYTES_MIN: u64 = 256 << 20;
/// Compression of no kind.
pub(super) const NONE: u64 = 1;

/// One image.
#[derive(Debug, Clone)]
pub(super) struct Page {
    pub(super) directory: Directory,
    pub(super) width: u64,
    pub(super) height: u64,
    pub(super) samples: u64,
    /// Bits of a sample in the file.
    pub(super) bits: u64,
    /// The type of its cells.
    pub(super) datatype: Datatype,
    pub(super) compression: u64,
    pub(super) photometric: u64,
    /// Whether each sample has chunks of its own.
    pub(super) planar: bool,
    pub(super) tiled: bool,
    pub(super) chunk_width: u64,
    pub(super) chunk_height: u64,
    /// Rows of a strip or a tile in the file. Strips without compression are read in smaller chunks.
    pub(super) stored_height: u64,
    /// Bits of the tag `NewSubfileType`: 1 for a smaller copy, 4 for a mask.
    pub(super) subfile: u64,
}

impl Page {
    /// Reads the tags of an image. `memory_bytes` is the most that a strip or a tile may take.
    pub(super) fn read(file: &mut TiffFile, directory: Directory, memory_bytes: u64) -> Result<Self> {
        let at = directory.at;
        let page = Self::of(file, directory, memory_bytes.max(CHUNK_BYTES_MIN));
        page.with_context(|| format!("the image whose directory is at byte {at} cannot be read"))
    }

    fn of(file: &mut TiffFile, directory: Directory, limit: u64) -> Result<Self> {
        let d = &directory;
        let width = file.integer(d, tag::WIDTH)?.context("it has no width")?;
        let height = file.integer(d, tag::HEIGHT)?.context("it has no height")?;
        ensure!(width > 0 && height > 0, "it has {width} × {height} pixels");
        ensure!(
            width.max(height) <= u64::from(u32::MAX),
            "it has {width} × {height} pixels"
        );
        let samples = file.integer(d, tag::SAMPLES)?.unwrap_or(1);
        ensure!((1..=65535).contains(&samples), "it has {samples} samples a pixel");
        let all_bits = file.integers(d, tag::BITS)?;
        let bits = all_bits.first().copied().unwrap_or(1);
        let formats = file.integers(d, tag::SAMPLE_FORMAT)?;
        let format = formats.first().copied().unwrap_or(1);
        let same = all_bits.iter().all(|b| *b == bits) && formats.iter().all(|f| *f == format);
        ensure!(
            same,
            "its samples have different types; split them into files first, for example with gdal_translate"
        );
        let compression = file.integer(d, tag::COMPRESSION)?.unwrap_or(NONE);
        let tiled = d.has(tag::TILE_OFFSETS);
        let (chunk_width, stored_height) = if tiled {
            let width = file.integer(d, tag::TILE_WIDTH)?.context("its tiles have no width")?;
            (
                width,
                file.integer(d, tag::TILE_HEIGHT)?.context("its tiles have no height")?,
            )
        } else {
            (
                width,
                file.integer(d, tag::ROWS_PER_STRIP)?.unwrap_or(height).min(height),
            )
        };
        let sides = 1..=u64::from(u32::MAX);
        ensure!(
            sides.contains(&chunk_width) && sides.contains(&stored_height),
            "its tiles or strips have {chunk_width} × {stored_height} pixels"
        );
        let mut page = Self {
            width,
            height,
            samples,
            bits,
            datatype: datatype(bits, format)?,
            compression,
            photometric: file.integer(d, tag::PHOTOMETRIC)?.unwrap_or(1),
            planar: file.integer(d, tag::PLANAR)? == Some(2) && samples > 1,
            tiled,
            chunk_width,
            chunk_height: stored_height,
            stored_height,
            subfile: file.integer(d, tag::SUBFILE_TYPE)?.unwrap_or(0),
            directory,
        };
        if page.is_plain() {
            let rows = PIECE_BYTES / page.row_bytes().max(1);
            page.chunk_height = rows.clamp(1, stored_height);
        }
        page.check_chunks(file, limit)?;
        Ok(page)
    }

    /// Whether rows can be read from the file without a decoder.
    pub(super) fn is_plain(&self) -> bool {
        self.compression == NONE && !self.tiled && self.bits.is_multiple_of(8) && self.photometric != 6
    }

    /// Bytes of a row of a chunk in the file.
    pub(super) fn row_bytes(&self) -> u64 {
        (self.chunk_width * self.chunk_samples() * self.bits).div_ceil(8)
    }

    /// The samples of a pixel in a chunk.
    pub(super) fn chunk_samples(&self) -> u64 {
        if self.planar { 1 } else { self.samples }
    }

    /// Strips or tiles of the file along the width and the height.
    pub(super) fn stored_grid(&self) -> [u64; 2] {
        [
            self.width.div_ceil(self.chunk_width),
            self.height.div_ceil(self.stored_height),
        ]
    }

    /// Offsets and lengths of the strips or tiles.
    pub(super) fn stored_chunks(&self, file: &mut TiffFile) -> Result<(Vec<u64>, Vec<u64>)> {
        let (offsets, bytes) = if self.tiled {
            (tag::TILE_OFFSETS, tag::TILE_BYTES)
        } else {
            (tag::STRIP_OFFSETS, tag::STRIP_BYTES)
        };
        Ok((
            file.integers(&self.directory, offsets)?,
            file.integers(&self.directory, bytes)?,
        ))
    }

    /// Checks that there are as many chunks as the size asks for, that the file has their bytes, and that they fit in
    /// `limit` bytes of memory.
    fn check_chunks(&self, file: &mut TiffFile, limit: u64) -> Result<()> {
        let (offsets, bytes) = self.stored_chunks(file)?;
        let [across, down] = self.stored_grid();
        let planes = if self.planar { self.samples } else { 1 };
        let expected = across.saturating_mul(down).saturating_mul(planes);
        ensure!(
            offsets.len() as u64 == expected && bytes.len() as u64 == expected,
            "it has {} offsets and {} lengths for {expected} strips or tiles",
            offsets.len(),
            bytes.len()
        );
        let end = offsets.iter().zip(&bytes).map(|(at, n)| at.saturating_add(*n)).max();
        let end = end.unwrap_or(0);
        ensure!(
            end <= file.bytes,
            "the file is cut off: it has {} bytes, but its image ends at byte {end}",
            file.bytes
        );
        let plain = self.is_plain();
        for (number, stored) in bytes.iter().enumerate().filter(|(_, n)| plain && **n > 0) {
            let rows = self
                .stored_height
                .min(self.height - number as u64 % down * self.stored_height);
            let needed = rows.saturating_mul(self.row_bytes());
            ensure!(*stored >= needed, "its strip {number} has {stored} of {needed} bytes");
        }
        let chunk_bytes = self.stored_height.saturating_mul(self.row_bytes());
        ensure!(
            chunk_bytes <= limit || (plain && !bytes.contains(&0)),
            "its strips or tiles take {chunk_bytes} bytes each; give more --memory"
        );
        Ok(())
    }
}

fn datatype(bits: u64, format: u64) -> Result<Datatype> {
    Ok(match (format, bits) {
        (1 | 4, 1 | 2 | 4 | 8) => Datatype::Uint8,
        (1 | 4, 16) => Datatype::Uint16,
        (1 | 4, 32) => Datatype::Uint32,
        (1 | 4, 64) => Datatype::Uint64,
        (2, 8) => Datatype::Int8,
        (2, 16) => Datatype::Int16,
        (2, 32) => Datatype::Int32,
        (2, 64) => Datatype::Int64,
        (3, 16 | 32) => Datatype::Float32,
        (3, 64) => Datatype::Float64,
        (5 | 6, _) => bail!("its samples are complex numbers, which are not supported"),
        _ => bail!("its samples have {bits} bits, which is not supported; convert it with gdal_translate -ot"),
    })
}
