//! PNG images of one attribute over two dimensions. The first dimension runs downwards.
//!
//! The pixels are not compressed, so the width and height determine the size of the file. bool, uint8 and uint16 are
//! shown unchanged. Cells of 2, 3 or 4 uint8 values are gray with alpha, RGB and RGBA. Other numbers are scaled to
//! 16-bit gray: 1 is the minimum, 65535 the maximum, and 0 marks unwritten cells, nulls and NaN. With a color map they are
//! RGBA, and these cells are transparent.

use super::{Colors, Encode, Frame, unpacked, wrong_columns};
use crate::column::Column;
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::{Error, Result};
use crate::format::field::Field;
use crate::scalar::Scalar;
use crate::view::selection::display_name;

/// The largest image, in bytes of pixels. The pixels are one PNG chunk, whose length has 31 bits.
const PIXELS_MAX: u64 = 1 << 30;
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The conversion of values to pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    /// 1-bit gray.
    Bit,
    /// Unchanged bytes, with this many per pixel.
    Bytes(u8),
    /// Unchanged 16-bit gray.
    Words,
    /// Values scaled to 16-bit gray.
    Stretched,
    /// Values scaled to a color map, as RGBA.
    Colored,
}

/// Buffers the values of an image.
#[derive(Debug)]
pub(super) struct Picture {
    width: u64,
    height: u64,
    depth: Depth,
    colors: Colors,
    fill: Vec<u8>,
    physical: Physical,
    /// The values so far.
    values: Vec<u8>,
    /// 0 for a missing value; empty if there are no nulls so far.
    valid: Vec<u8>,
}

impl Picture {
    pub(super) fn new(frame: &Frame) -> Result<Self> {
        if !frame.dense {
            return Err(Error::invalid("a sparse array has no pixels; use .npy, .csv or .json"));
        }
        let [field] = frame.fields.as_slice() else {
            let names: Vec<_> = frame.fields.iter().map(|f| f.name.as_str()).collect();
            return Err(Error::invalid(format!(
                "an image shows one attribute; name one of {}",
                names.join(", ")
            )));
        };
        let (height, width) = match *frame.shape.as_slice() {
            [height, width] => (height, width),
            [width] => (1, width),
            _ => {
                let axes = frame.shape.len();
                return Err(Error::invalid(format!(
                    "an image has two axes, but this slice has {axes}; select a single coordinate along the others, as in 3,:,:"
                )));
            }
        };
        let picture = Self {
            width,
            height,
            depth: depth(field, frame.colors)?,
            colors: frame.colors,
            fill: if field.is_dimension() {
                Vec::new()
            } else {
                field.fill.clone()
            },
            physical: field.datatype.physical(),
            values: Vec::new(),
            valid: Vec::new(),
        };
        let bytes = picture.raw_bytes();
        if bytes > PIXELS_MAX {
            return Err(Error::LimitExceeded {
                what: "bytes of pixels (select fewer cells)".into(),
                found: bytes,
                limit: PIXELS_MAX,
            });
        }
        if width == 0 || height == 0 {
            return Err(Error::invalid("an image needs at least one pixel; select more cells"));
        }
        Ok(picture)
    }

    /// Bytes of a row of pixels.
    const fn row_bytes(&self) -> u64 {
        match self.depth {
            Depth::Bit => self.width.div_ceil(8),
            Depth::Bytes(n) => self.width.saturating_mul(n as u64),
            Depth::Words | Depth::Stretched => self.width.saturating_mul(2),
            Depth::Colored => self.width.saturating_mul(4),
        }
    }

    /// Bytes of all rows, including a filter byte per row.
    const fn raw_bytes(&self) -> u64 {
        self.height.saturating_mul(self.row_bytes().saturating_add(1))
    }

    const fn stream_bytes(&self) -> u64 {
        unpacked::zlib_bytes(self.raw_bytes())
    }

    /// The rows of pixels, without filter bytes.
    fn pixels(&self) -> Vec<u8> {
        let null = |i: usize| self.valid.get(i) == Some(&0);
        match self.depth {
            Depth::Bit => {
                let width = usize::try_from(self.width).unwrap_or(usize::MAX).max(1);
                let lit = |(i, v): (usize, &u8)| u8::from(*v != 0 && !null(i));
                let bits: Vec<u8> = self.values.iter().enumerate().map(lit).collect();
                let byte = |bits: &[u8]| bits.iter().enumerate().fold(0, |b, (i, bit)| b | (bit << (7 - i)));
                bits.chunks(width).flat_map(|row| row.chunks(8).map(byte)).collect()
            }
            Depth::Bytes(n) => {
                let cells = self.values.chunks_exact(usize::from(n)).enumerate();
                cells
                    .flat_map(|(i, cell)| cell.iter().map(move |v| if null(i) { 0 } else { *v }))
                    .collect()
            }
            Depth::Words => {
                let cells = self.values.chunks_exact(2).enumerate();
                cells
                    .flat_map(|(i, cell)| cell.iter().rev().map(move |v| if null(i) { 0 } else { *v }))
                    .collect()
            }
            Depth::Stretched => self
                .shares()
                .flat_map(|share| share.map_or(0, |share| 1 + gray_of(share)).to_be_bytes())
                .collect(),
            Depth::Colored => self.shares().flat_map(|share| self.color(share)).collect(),
        }
    }

    /// The place of each value between the ends of the range, from 0 to 1; `None` for missing cells.
    fn shares(&self) -> impl Iterator<Item = Option<f64>> {
        let fill = Scalar::from_le_bytes(self.physical, &self.fill);
        let value = move |(i, bytes): (usize, &[u8])| {
            let value = Scalar::from_le_bytes(self.physical, bytes).filter(|v| Some(v) != fill.as_ref());
            value
                .and_then(|v| v.as_f64())
                .filter(|v| v.is_finite() && self.valid.get(i) != Some(&0))
        };
        let cells = self.values.chunks_exact(self.physical.size()).enumerate().map(value);
        let (lo, hi) = self.colors.range.unwrap_or_else(|| {
            let ends = |(lo, hi): (f64, f64), v: f64| (lo.min(v), hi.max(v));
            cells.clone().flatten().fold((f64::INFINITY, f64::NEG_INFINITY), ends)
        });
        // Halved, because the full range may overflow to infinity.
        let half = (hi / 2.0 - lo / 2.0).max(f64::MIN_POSITIVE);
        cells.map(move |v| v.map(|v| ((v / 2.0 - lo / 2.0) / half).clamp(0.0, 1.0)))
    }

    /// The RGBA pixel of a share.
    fn color(&self, share: Option<f64>) -> [u8; 4] {
        let (Some(share), Some(map)) = (share, self.colors.map) else {
            return [0; 4];
        };
        let [red, green, blue] = map.at(share);
        [red, green, blue, u8::MAX]
    }
}

impl Encode for Picture {
    fn size(&self) -> Option<u64> {
        Some(SIGNATURE.len() as u64 + (12 + 13) + (12 + self.stream_bytes()) + 12)
    }

    fn is_buffered(&self) -> bool {
        true
    }

    /// Bytes of the values so far.
    fn kept_bytes(&self) -> u64 {
        (self.values.len() + self.valid.len()) as u64
    }

    fn cells(&mut self, columns: Vec<Column>) -> Result<Vec<u8>> {
        let [column] = columns.as_slice() else {
            return Err(wrong_columns());
        };
        if column.datatype.physical() != self.physical || column.offsets.is_some() {
            return Err(wrong_columns());
        }
        self.values.extend_from_slice(&column.data);
        if let Some(valid) = &column.validity {
            self.valid.extend_from_slice(valid);
        }
        Ok(Vec::new())
    }

    fn finish(&mut self) -> Result<Vec<u8>> {
        let pixels = self.pixels();
        let row = usize::try_from(self.row_bytes()).map_err(|_| wrong_columns())?;
        let mut raw = Vec::with_capacity(pixels.len() + pixels.len() / row.max(1));
        for line in pixels.chunks(row.max(1)) {
            raw.push(0);
            raw.extend_from_slice(line);
        }
        if raw.len() as u64 != self.raw_bytes() {
            return Err(wrong_columns());
        }
        let (bits, colour) = match self.depth {
            Depth::Bit => (1, 0),
            Depth::Bytes(2) => (8, 4),
            Depth::Bytes(3) => (8, 2),
            Depth::Bytes(4) => (8, 6),
            Depth::Bytes(_) => (8, 0),
            Depth::Words | Depth::Stretched => (16, 0),
            Depth::Colored => (8, 6),
        };
        let mut header = Vec::new();
        for length in [self.width, self.height] {
            header.extend(u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
        }
        header.extend([bits, colour, 0, 0, 0]);
        let mut out = SIGNATURE.to_vec();
        chunk(&mut out, *b"IHDR", &header);
        chunk(&mut out, *b"IDAT", &unpacked::zlib(&raw));
        chunk(&mut out, *b"IEND", &[]);
        Ok(out)
    }
}

// `share` is between 0 and 1.
fn gray_of(share: f64) -> u16 {
    (share * 65534.0).round() as u16
}

fn depth(field: &Field, colors: Colors) -> Result<Depth> {
    let refuse = |why: &str| {
        Err(Error::invalid(format!(
            "'{}' cannot be shown as an image: {why}",
            display_name(&field.name)
        )))
    };
    match (field.datatype, field.cell) {
        (_, CellCount::Var) => refuse("its cells have variable length; use .csv or .json"),
        (t, _) if t.is_bytes() => refuse("its values are not numbers; use .csv or .json"),
        (_, CellCount::ONE) if colors.map.is_some() => Ok(Depth::Colored),
        (_, CellCount::ONE) if colors.range.is_some() => Ok(Depth::Stretched),
        _ if colors != Colors::default() => refuse("a color map and a range need one value per cell"),
        (Datatype::Bool, CellCount::ONE) => Ok(Depth::Bit),
        (Datatype::Uint8, CellCount::Fixed(n @ 1..=4)) => Ok(Depth::Bytes(n.to_le_bytes()[0])),
        (Datatype::Uint16, CellCount::ONE) => Ok(Depth::Words),
        (_, CellCount::ONE) => Ok(Depth::Stretched),
        (_, CellCount::Fixed(_)) => {
            refuse("it has several values per cell; only 2 to 4 uint8 values can be shown as colors")
        }
    }
}

fn chunk(out: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    let mut crc = libdeflater::Crc::new();
    crc.update(&kind);
    crc.update(data);
    out.extend(u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend(kind);
    out.extend_from_slice(data);
    out.extend(crc.sum().to_be_bytes());
}
