//! Decodes strips and tiles to samples.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use half::f16;
use tiff::decoder::{Decoder, Limits};

use super::directory::{TiffFile, tag};
use super::page::Page;

/// YCbCr.
const YCBCR: u64 = 6;
/// JPEG as it is stored today.
const JPEG: u64 = 7;

/// A decoded strip or tile. It may have more columns and rows than the image.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The samples of each pixel, row by row, of the page's datatype. `None` if the file has no bytes for the chunk.
    pub(super) data: Option<Vec<u8>>,
}

/// Reads the chunks of one page.
pub(super) struct ChunkReader {
    page: Page,
    big_endian: bool,
    offsets: Vec<u64>,
    lengths: Vec<u64>,
    raw: TiffFile,
    /// Whether tiles keep their padding.
    padded: bool,
    decoder: Option<Decoder<View>>,
}

impl ChunkReader {
    /// A reader of the chunks of a page of the file.
    pub(super) fn open(path: &Path, page: &Page) -> Result<Self> {
        let mut raw = TiffFile::open(path)?;
        let (offsets, lengths) = page.stored_chunks(&mut raw)?;
        let decoder = if page.is_plain() {
            None
        } else {
            raw.check_values(&page.directory)?;
            let view = View::new(path, &raw, page)?;
            // The page has checked sizes already.
            Some(Decoder::new(view)?.with_limits(Limits::unlimited()))
        };
        Ok(Self {
            page: page.clone(),
            padded: padded(page).is_some(),
            big_endian: raw.big_endian,
            offsets,
            lengths,
            raw,
            decoder,
        })
    }

    /// Reads the chunk in this column and row of chunks, of this sample if samples have chunks of their own.
    pub(super) fn read(&mut self, column: u64, row: u64, sample: u64) -> Result<Chunk> {
        let page = &self.page;
        let first = row * page.chunk_height;
        let [across, down] = page.stored_grid();
        // Pieces of a strip do not reach into the next strip.
        let number = sample * across * down + (first / page.stored_height) * across + column;
        let number = usize::try_from(number)?;
        let at = self.offsets.get(number).copied().context("there is no such chunk")?;
        let made = self.chunk(column, first, number);
        made.with_context(|| {
            let kind = if self.page.tiled { "tile" } else { "strip" };
            format!("the {kind} {number} at byte {at} cannot be decoded")
        })
    }

    fn chunk(&mut self, column: u64, first: u64, number: usize) -> Result<Chunk> {
        let page = &self.page;
        let (width, height) = if self.padded {
            (page.chunk_width, page.chunk_height)
        } else {
            let width = page.chunk_width.min(page.width - column * page.chunk_width);
            (width, page.chunk_height.min(page.height - first))
        };
        let (width, height) = (usize::try_from(width)?, usize::try_from(height)?);
        if self.lengths.get(number) == Some(&0) {
            return Ok(Chunk {
                width,
                height,
                data: None,
            });
        }
        let data = match &mut self.decoder {
            None => self.plain(first, height as u64, number)?,
            Some(decoder) => {
                let number = u32::try_from(number)?;
                let layout = decoder.image_chunk_buffer_layout(number)?;
                let mut data = vec![0; layout.len];
                decoder.read_chunk_bytes(number, &mut data)?;
                data
            }
        };
        let data = self.samples(data, width, height)?;
        Ok(Chunk {
            width,
            height,
            data: Some(data),
        })
    }

    /// Rows of a strip without compression.
    fn plain(&mut self, first: u64, height: u64, number: usize) -> Result<Vec<u8>> {
        let row_bytes = self.page.row_bytes();
        let skip = first % self.page.stored_height * row_bytes;
        let stored = self.lengths.get(number).copied().unwrap_or(0);
        ensure!(skip + height * row_bytes <= stored, "it has only {stored} bytes");
        let at = self.offsets.get(number).copied().unwrap_or(0);
        let mut data = self.raw.read(at + skip, height * row_bytes)?;
        if self.big_endian {
            let size = usize::try_from(self.page.bits / 8)?;
            data.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        Ok(data)
    }

    /// Turns decoded bytes into samples of the page's datatype.
    fn samples(&self, mut data: Vec<u8>, width: usize, height: usize) -> Result<Vec<u8>> {
        let page = &self.page;
        let samples = width * usize::try_from(page.chunk_samples())?;
        let row_bytes = (samples * usize::try_from(page.bits)?).div_ceil(8);
        ensure!(data.len() >= row_bytes * height, "it has only {} bytes", data.len());
        data.truncate(row_bytes * height);
        if page.bits < 8 {
            data = unpacked(&data, row_bytes, samples, page.bits as u32);
        } else if page.bits == 16 && page.datatype.is_float() {
            let halves = data.as_chunks::<2>().0.iter();
            data = halves
                .flat_map(|h| f16::from_le_bytes(*h).to_f32().to_le_bytes())
                .collect();
        } else if page.photometric == YCBCR {
            ensure!(
                page.compression == JPEG && page.samples == 3 && !page.planar,
                "its colors are YCbCr without JPEG"
            );
            data.as_chunks_mut::<3>().0.iter_mut().for_each(to_rgb);
        }
        Ok(data)
    }
}

/// Samples of less than 8 bits, as bytes.
fn unpacked(data: &[u8], row_bytes: usize, samples: usize, bits: u32) -> Vec<u8> {
    let per_byte = 8 / bits as usize;
    let mask = (1_u16 << bits) as u8 - 1;
    let rows = data.chunks_exact(row_bytes);
    rows.flat_map(|row| (0..samples).map(move |i| row[i / per_byte] >> (8 - bits * (i % per_byte + 1) as u32) & mask))
        .collect()
}

/// Converts a pixel from YCbCr to RGB, as JFIF defines it.
fn to_rgb(pixel: &mut [u8; 3]) {
    let [y, cb, cr] = pixel.map(f32::from);
    let (cb, cr) = (cb - 128.0, cr - 128.0);
    let rgb = [y + 1.402 * cr, y - 0.344_136 * cb - 0.714_136 * cr, y + 1.772 * cb];
    *pixel = rgb.map(|v| v.round().clamp(0.0, 255.0) as u8);
}

/// The file as the decoder sees it: with one image, whose samples are not interpreted as colors. Otherwise the decoder
/// would refuse palettes, drop samples besides colors, and invert images in which zero is white. The image seems to have
/// whole tiles, which are then decoded in one go: read row by row, LZW streams may end in an error (`tiff` 0.11.3).
struct View {
    file: BufReader<File>,
    at: u64,
    /// Offsets and the bytes that replace those of the file.
    patches: Vec<(u64, Vec<u8>)>,
}

impl View {
    fn new(path: &Path, raw: &TiffFile, page: &Page) -> Result<Self> {
        let (at, bytes) = if raw.big { (8, 8) } else { (4, 4) };
        let mut view = Self {
            file: BufReader::new(File::open(path)?),
            at: 0,
            patches: Vec::new(),
        };
        let little = !raw.big_endian;
        view.patch(at, bytes, page.directory.at, little);
        if let Some((at, bytes)) = page.directory.place(tag::PHOTOMETRIC) {
            view.patch(at, bytes, 1, little);
        }
        if let Some([width, height]) = padded(page) {
            for (tag, length) in [(tag::WIDTH, width), (tag::HEIGHT, height)] {
                let (at, bytes) = page.directory.place(tag).context("the image has no size")?;
                view.patch(at, bytes, length, little);
            }
        }
        Ok(view)
    }

    fn patch(&mut self, at: u64, bytes: u64, value: u64, little: bool) {
        let mut raw = value.to_le_bytes()[..bytes as usize].to_vec();
        if !little {
            raw.reverse();
        }
        self.patches.push((at, raw));
    }
}

/// The size of the image with whole tiles, if the file's tags can hold it.
fn padded(page: &Page) -> Option<[u64; 2]> {
    let [across, down] = page.stored_grid();
    let size = [
        across.checked_mul(page.chunk_width)?,
        down.checked_mul(page.stored_height)?,
    ];
    let fits = |(tag, length): (u16, u64)| {
        let bytes = page.directory.place(tag).map_or(0, |(_, bytes)| bytes);
        bytes >= 8 || length < 1 << (8 * bytes) && length <= u64::from(u32::MAX)
    };
    let all = [(tag::WIDTH, size[0]), (tag::HEIGHT, size[1])].into_iter().all(fits);
    (page.tiled && all).then_some(size)
}

impl Read for View {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read(out)?;
        for (at, bytes) in &self.patches {
            for (place, byte) in (*at..).zip(bytes) {
                let index = place.checked_sub(self.at).and_then(|i| usize::try_from(i).ok());
                if let Some(out) = index.and_then(|i| out[..n].get_mut(i)) {
                    *out = *byte;
                }
            }
        }
        self.at += n as u64;
        Ok(n)
    }
}

impl Seek for View {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if let SeekFrom::Start(at) = to {
            // Keeps what is in the buffer.
            let by = i64::try_from(i128::from(at) - i128::from(self.at));
            by.map_err(|_| io::ErrorKind::InvalidInput)
                .and_then(|by| self.file.seek_relative(by).map_err(|e| e.kind()))?;
            self.at = at;
        } else {
            self.at = self.file.seek(to)?;
        }
        Ok(self.at)
    }
}
