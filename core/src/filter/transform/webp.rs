//! The WebP filter: stores a tile as an image. The rows of the tile are the rows of the image; the columns are the
//! bytes of its pixels.
//!
//! Decodes lossy and lossless images, but encodes only lossless ones.

use std::io::Cursor;

use image_webp::{ColorType, WebPDecoder, WebPEncoder};

use super::parts_header;
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, filled, split, split_mut};
use crate::format::cursor::{Decoded, Reader};
use crate::format::pipeline::WebpFormat;

/// Size of the header before the first chunk of a WebP file.
const RIFF_HEADER_BYTES: usize = 12;

/// The options of the filter.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct Image {
    /// The layout of pixels in the tile.
    pub(in crate::filter) format: WebpFormat,
    /// Whether the image is lossless.
    pub(in crate::filter) lossless: bool,
    /// Number of rows in a tile.
    pub(in crate::filter) rows: u16,
    /// Number of bytes in a row.
    pub(in crate::filter) row_bytes: u16,
}

impl Image {
    /// The number of bytes that [`Image::decode`] will produce.
    pub(in crate::filter) fn plain_bytes(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.row_bytes)
    }

    /// Appends `data` as an image.
    ///
    /// # Errors
    /// The image is lossy, or `data` is not one tile of whole pixels.
    #[inline(never)] // The browser loads it separately.
    pub(in crate::filter) fn encode(
        &self,
        headers: &mut ChunkHeaders,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        if !self.lossless {
            return Err(Malformed::unsupported(
                "webp",
                "only lossless images can be written; copy the cells into a new array whose filter has the lossless option",
            ));
        }
        let depth = self.format.depth();
        if data.len() as u64 != self.plain_bytes() || usize::from(self.row_bytes) % depth != 0 || data.is_empty() {
            let why = format!(
                "{} bytes are not {} rows of {} bytes, in pixels of {depth}",
                data.len(),
                self.rows,
                self.row_bytes
            );
            return Err(Malformed::unsupported("webp", why));
        }
        let mut pixels = data.to_vec();
        self.swap_red_and_blue(&mut pixels);
        let color = if depth == 3 { ColorType::Rgb8 } else { ColorType::Rgba8 };
        let columns = usize::from(self.row_bytes) / depth;
        let encoder = WebPEncoder::new(&mut *out);
        let encoded = encoder.encode(
            &pixels,
            u32::try_from(columns).unwrap_or(0),
            u32::from(self.rows),
            color,
        );
        encoded.map_err(|e| Malformed::unsupported("webp", e.to_string()))?;
        headers.put(parts_header(&[out.len()])?);
        Ok(())
    }

    /// Decodes the images in `data` into `out`.
    ///
    /// # Errors
    /// An image is damaged or has the wrong size.
    #[inline(never)] // The browser loads it separately.
    pub(in crate::filter) fn decode(&self, r: &mut Reader<'_>, mut data: &[u8], mut out: &mut [u8]) -> Decoded<()> {
        let n = r.u32("number of images")?;
        let n = r.count(u64::from(n), 4, "images")?;
        for _ in 0..n {
            let image = split(&mut data, u64::from(r.u32("length of an image")?), "image")?;
            let pixels = split_mut(&mut out, self.plain_bytes(), "image")?;
            self.read(image, pixels)?;
            self.swap_red_and_blue(pixels);
        }
        filled(data, "webp")?;
        filled(out, "webp")
    }

    fn read(&self, image: &[u8], pixels: &mut [u8]) -> Decoded<()> {
        let depth = self.format.depth();
        let size = (
            u32::from(self.row_bytes) / u32::try_from(depth).unwrap_or(1),
            u32::from(self.rows),
        );
        let failed = |e: image_webp::DecodingError| Malformed::new("webp", 0, e.to_string());
        let wrong = |(x, y)| {
            Malformed::new(
                "webp",
                0,
                format!(
                    "the image has {x} by {y} pixels, but the tile has {} by {}",
                    size.0, size.1
                ),
            )
        };
        // Checked before decoding, because the decoder allocates whatever size a frame claims.
        if let Some(other) = frame_sizes(image).into_iter().find(|frame| *frame != size) {
            return Err(wrong(other));
        }
        let mut decoder = WebPDecoder::new(Cursor::new(image)).map_err(failed)?;
        if decoder.dimensions() != size {
            return Err(wrong(decoder.dimensions()));
        }
        if decoder.is_animated() {
            return Err(Malformed::new("webp", 0, "the image is animated"));
        }
        let stored_depth = if decoder.has_alpha() { 4 } else { 3 };
        if stored_depth == depth {
            return decoder.read_image(pixels).map_err(failed);
        }
        let mut stored = vec![0; pixels.len() / depth * stored_depth];
        decoder.read_image(&mut stored).map_err(failed)?;
        for (to, from) in pixels.chunks_exact_mut(depth).zip(stored.chunks_exact(stored_depth)) {
            for (to, from) in to.iter_mut().zip(from.iter().copied().chain([u8::MAX])) {
                *to = from;
            }
        }
        Ok(())
    }

    fn swap_red_and_blue(&self, pixels: &mut [u8]) {
        if matches!(self.format, WebpFormat::Bgr | WebpFormat::Bgra) {
            for pixel in pixels.chunks_exact_mut(self.format.depth()) {
                pixel.swap(0, 2);
            }
        }
    }
}

/// Width and height of every frame in a WebP file, up to the first damaged chunk.
fn frame_sizes(image: &[u8]) -> Vec<(u32, u32)> {
    let mut r = Reader::new(image.get(RIFF_HEADER_BYTES..).unwrap_or(&[]));
    let mut sizes = Vec::new();
    while let (Ok(name), Ok(bytes)) = (r.array::<4>("name"), r.u32("length")) {
        let frame = Reader::new(r.clone().rest());
        sizes.extend(match &name {
            b"VP8 " => lossy_size(frame),
            b"VP8L" => lossless_size(frame),
            _ => None,
        });
        if r.take_u64(u64::from(bytes) + u64::from(bytes % 2), "chunk").is_err() {
            break;
        }
    }
    sizes
}

/// The size in a lossy frame: 3 bytes of tag, 3 of start code, then width and height of 14 bits each with 2 bits of
/// scale.
fn lossy_size(mut r: Reader<'_>) -> Option<(u32, u32)> {
    r.take(6, "frame tag").ok()?;
    let side = |v: u16| u32::from(v & 0x3fff);
    Some((side(r.u16("columns").ok()?), side(r.u16("rows").ok()?)))
}

/// The size in a lossless frame: a signature, then width and height minus one of 14 bits each.
fn lossless_size(mut r: Reader<'_>) -> Option<(u32, u32)> {
    r.u8("signature").ok()?;
    let bits = r.u32("size").ok()?;
    Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
}
