//! Filter pipelines: lists of filters with their options, as stored in schemas and generic tiles.
//!
//! Filter ids and options follow the specification's page on filter pipelines. The filters themselves are in
//! [`crate::filter`].

use super::cursor::{Decoded, Reader, Writer};
use super::version::Version;
use crate::datatype::{Datatype, Physical};
use crate::limits::FILTERS_MAX;

/// Size of a filter without options: its id and the length 0.
const FILTER_BYTES_MIN: usize = 5;

/// A list of filters, applied front to back when writing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pipeline {
    /// Stored with the list, and always 65536. Readers only check for 0, which means "do not split tiles into chunks".
    pub max_chunk_bytes: MaxChunk,
    /// The filters, in the order of application.
    pub filters: Vec<Filter>,
}

/// The chunk size stored with a pipeline, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MaxChunk(pub u32);

impl Default for MaxChunk {
    fn default() -> Self {
        Self(65536)
    }
}

impl Pipeline {
    /// A pipeline of these filters.
    pub fn new(filters: Vec<Filter>) -> Self {
        Self {
            max_chunk_bytes: MaxChunk::default(),
            filters,
        }
    }

    /// Whether the pipeline is lossless. Float scaling rounds, and WebP images may be lossy.
    pub fn is_exact(&self) -> bool {
        let loses = |f: &Filter| matches!(f, Filter::FloatScale { .. } | Filter::Webp { .. });
        !self.filters.iter().any(loses)
    }

    /// Whether decoding detects damage to the filtered bytes, because a filter stores a checksum. Zstd frames can have
    /// one, but neither libtiledb nor this engine writes it.
    pub fn has_checksum(&self) -> bool {
        let compresses = |f: &Filter| matches!(f, Filter::Gzip { .. } | Filter::Bzip2 { .. });
        let guards = |f: &Filter| matches!(f, Filter::Md5 | Filter::Sha256 | Filter::Aes256Gcm);
        self.filters.iter().any(|f| compresses(f) || guards(f))
    }

    /// Whether integers of this type between `lo` and `hi` are read back unchanged.
    ///
    /// Bit width reduction in most releases of libtiledb corrupts signed integers whose range exceeds the type's
    /// maximum. The range is unknown if another filter transforms the values first.
    pub fn keeps(&self, integers: Physical, lo: i128, hi: i128) -> bool {
        let reduces = |f: &Filter| matches!(f, Filter::BitWidthReduction { .. });
        let near = !integers.is_signed() || hi - lo < 1 << (8 * integers.size() - 1);
        let mut changing = self
            .filters
            .iter()
            .filter(|f| !matches!(f, Filter::None | Filter::Md5 | Filter::Sha256));
        let first_keeps = changing.next().is_none_or(|f| near || !reduces(f));
        self.is_exact() && first_keeps && !changing.any(reduces)
    }

    /// Whether a filter changes the datatype for filters after it.
    pub fn hands_on_types(&self) -> bool {
        let changes = |f: &Filter| match f {
            Filter::FloatScale { .. } | Filter::Xor => true,
            Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => reinterpret.is_some(),
            Filter::None
            | Filter::Gzip { .. }
            | Filter::Zstd { .. }
            | Filter::Lz4 { .. }
            | Filter::Rle { .. }
            | Filter::Bzip2 { .. }
            | Filter::BitWidthReduction { .. }
            | Filter::Bitshuffle
            | Filter::Byteshuffle
            | Filter::PositiveDelta { .. }
            | Filter::Aes256Gcm
            | Filter::Md5
            | Filter::Sha256
            | Filter::Dictionary { .. }
            | Filter::Webp { .. }
            | Filter::Unknown { .. } => false,
        };
        self.filters
            .split_last()
            .is_some_and(|(_, before)| before.iter().any(changes))
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Decodes the pipeline at `r`, in a schema of this version.
    ///
    /// # Errors
    /// The bytes end early, or the options of a filter have the wrong length.
    #[doc(hidden)]
    pub fn decode(r: &mut Reader<'_>, schema_version: Version) -> Decoded<Self> {
        let max_chunk_bytes = MaxChunk(r.u32("maximum chunk size")?);
        let n = r.u32("number of filters")?;
        if n > FILTERS_MAX {
            return Err(r.malformed("number of filters", format!("{n} exceeds the limit of {FILTERS_MAX}")));
        }
        let n = r.count(u64::from(n), FILTER_BYTES_MIN, "filters")?;
        let filters = (0..n)
            .map(|_| Filter::decode(r, schema_version))
            .collect::<Decoded<_>>()?;
        Ok(Self {
            max_chunk_bytes,
            filters,
        })
    }

    /// Encodes the pipeline in the current format version.
    #[doc(hidden)]
    pub fn encode(&self, w: &mut Writer) {
        w.u32(self.max_chunk_bytes.0);
        w.u32(u32::try_from(self.filters.len()).unwrap_or(u32::MAX));
        for filter in &self.filters {
            filter.encode(w);
        }
    }
}

/// The compression level that means "the library's default".
pub const DEFAULT_LEVEL: i32 = -1;

/// One filter with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// No operation. Used where an empty list would mean "inherit".
    None,
    /// zlib stream.
    Gzip {
        /// 0 to 9. Below 0 means the default, above 9 means 9.
        level: i32,
    },
    /// Zstandard frame.
    Zstd {
        /// -7 to 22, in zstd's own scale: the format's default of -1 is one of zstd's fast levels. Below -7 means 3,
        /// above 22 means 22.
        level: i32,
    },
    /// LZ4 block.
    Lz4 {
        /// Stored, but ignored.
        level: i32,
    },
    /// Run-length encoding of whole cells or whole strings.
    Rle {
        /// Stored, but ignored.
        level: i32,
    },
    /// bzip2 stream.
    Bzip2 {
        /// 1 to 9, in units of 100 kB. Below 1 means 1, above 9 means 9.
        level: i32,
    },
    /// Second differences, bit-packed.
    DoubleDelta {
        /// Stored, but ignored.
        level: i32,
        /// The integer type that the bytes are interpreted as; `None` for the type of the field.
        reinterpret: Option<Datatype>,
    },
    /// Integers in windows, stored in as few bytes as the range of a window needs.
    BitWidthReduction {
        /// Size of a window in bytes.
        max_window: u32,
    },
    /// Transposes bits, so that bits of equal significance are adjacent.
    Bitshuffle,
    /// Transposes bytes, so that bytes of equal significance are adjacent.
    Byteshuffle,
    /// First differences of non-decreasing values.
    PositiveDelta {
        /// Size of a window in bytes.
        max_window: u32,
    },
    /// Encryption. Never stored in a schema; appended to every pipeline of an encrypted array.
    Aes256Gcm,
    /// MD5 checksum, 16 bytes.
    Md5,
    /// SHA-256 checksum, 32 bytes.
    Sha256,
    /// Indexes into a dictionary of strings.
    Dictionary {
        /// Stored, but ignored.
        level: i32,
    },
    /// Floats stored as scaled integers. Lossy.
    FloatScale {
        /// Factor that stored integers are multiplied by.
        scale: f64,
        /// Offset that is added after multiplication.
        offset: f64,
        /// Size of the stored integers in bytes: 1, 2, 4 or 8.
        byte_width: u64,
    },
    /// Each value XORed with the previous one.
    Xor,
    /// A tile stored as a WebP image.
    Webp {
        /// 0 to 100, for lossy images.
        quality: f32,
        /// The layout of pixels in the tile.
        format: WebpFormat,
        /// Whether the image is lossless.
        lossless: bool,
        /// Number of rows in a tile.
        y_extent: u16,
        /// Number of bytes in a row of a tile.
        x_extent: u16,
    },
    /// First differences.
    Delta {
        /// Stored, but ignored.
        level: i32,
        /// The integer type that the bytes are interpreted as; `None` for the type of the field.
        reinterpret: Option<Datatype>,
    },
    /// A filter that this release does not know. It is preserved, and only an error when it has to run.
    Unknown {
        /// The id in the file.
        id: u8,
        /// Its options as stored.
        options: Vec<u8>,
    },
}

/// The layout of pixels in tiles under the WebP filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants spell the order of the bytes")]
pub enum WebpFormat {
    Rgb,
    Bgr,
    Rgba,
    Bgra,
}

impl Filter {
    /// The id in the file.
    pub const fn id(&self) -> u8 {
        match self {
            Self::None => 0,
            Self::Gzip { .. } => 1,
            Self::Zstd { .. } => 2,
            Self::Lz4 { .. } => 3,
            Self::Rle { .. } => 4,
            Self::Bzip2 { .. } => 5,
            Self::DoubleDelta { .. } => 6,
            Self::BitWidthReduction { .. } => 7,
            Self::Bitshuffle => 8,
            Self::Byteshuffle => 9,
            Self::PositiveDelta { .. } => 10,
            Self::Aes256Gcm => 11,
            Self::Md5 => 12,
            Self::Sha256 => 13,
            Self::Dictionary { .. } => 14,
            Self::FloatScale { .. } => 15,
            Self::Xor => 16,
            Self::Webp { .. } => 18,
            Self::Delta { .. } => 19,
            Self::Unknown { id, .. } => *id,
        }
    }

    /// The name used in JSON, on the command line and in messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip { .. } => "gzip",
            Self::Zstd { .. } => "zstd",
            Self::Lz4 { .. } => "lz4",
            Self::Rle { .. } => "rle",
            Self::Bzip2 { .. } => "bzip2",
            Self::DoubleDelta { .. } => "double-delta",
            Self::BitWidthReduction { .. } => "bit-width-reduction",
            Self::Bitshuffle => "bitshuffle",
            Self::Byteshuffle => "byteshuffle",
            Self::PositiveDelta { .. } => "positive-delta",
            Self::Aes256Gcm => "aes-256-gcm",
            Self::Md5 => "md5",
            Self::Sha256 => "sha256",
            Self::Dictionary { .. } => "dictionary",
            Self::FloatScale { .. } => "float-scale",
            Self::Xor => "xor",
            Self::Webp { .. } => "webp",
            Self::Delta { .. } => "delta",
            Self::Unknown { .. } => "unknown",
        }
    }

    fn decode(r: &mut Reader<'_>, version: Version) -> Decoded<Self> {
        let id = r.u8("filter")?;
        let n = r.u32("length of filter options")?;
        let base = r.offset();
        let stored = r.take_u64(u64::from(n), "filter options")?;
        let mut options = Reader::new(stored);
        let known = match id {
            0 => Some(Self::None),
            1..=6 | 14 | 19 => Self::decode_compressor(&mut options, id, version).map_err(|e| e.shifted(base))?,
            _ => Self::decode_other(&mut options, id).map_err(|e| e.shifted(base))?,
        };
        let Some(filter) = known else {
            return Ok(Self::Unknown {
                id,
                options: stored.to_vec(),
            });
        };
        options.finish("filter options").map_err(|e| e.shifted(base))?;
        Ok(filter)
    }

    /// Decodes a compressor. The compressor id in the options decides which; the filter id does not.
    fn decode_compressor(r: &mut Reader<'_>, id: u8, version: Version) -> Decoded<Option<Self>> {
        let compressor = r.u8("compressor")?;
        let level = r.i32("compression level")?;
        if compressor > 8 {
            // Keep all options: the layout of future compressors is not known.
            return Ok(None);
        }
        let has_reinterpret = match id {
            6 => version.has_double_delta_reinterpret(),
            19 => version.has_delta_reinterpret(),
            _ => false,
        };
        let reinterpret = match has_reinterpret {
            true => Some(Datatype::from_id(r.u8("reinterpret datatype")?)?).filter(|t| *t != Datatype::Any),
            false => None,
        };
        Ok(Some(match compressor {
            0 => Self::None,
            1 => Self::Gzip { level },
            2 => Self::Zstd { level },
            3 => Self::Lz4 { level },
            4 => Self::Rle { level },
            5 => Self::Bzip2 { level },
            6 => Self::DoubleDelta { level, reinterpret },
            7 => Self::Dictionary { level },
            8 => Self::Delta { level, reinterpret },
            _ => return Ok(None),
        }))
    }

    fn decode_other(r: &mut Reader<'_>, id: u8) -> Decoded<Option<Self>> {
        Ok(Some(match id {
            7 => Self::BitWidthReduction {
                max_window: r.u32("window")?,
            },
            8 => Self::Bitshuffle,
            9 => Self::Byteshuffle,
            10 => Self::PositiveDelta {
                max_window: r.u32("window")?,
            },
            11 => Self::Aes256Gcm,
            12 => Self::Md5,
            13 => Self::Sha256,
            15 => Self::FloatScale {
                scale: r.f64("scale")?,
                offset: r.f64("offset")?,
                byte_width: r.u64("byte width")?,
            },
            16 => Self::Xor,
            18 => {
                let quality = r.f32("quality")?;
                let format = WebpFormat::from_id(r.u8("pixel format")?);
                let lossless = r.u8("lossless flag")? != 0;
                let (y_extent, x_extent) = (r.u16("y extent")?, r.u16("x extent")?);
                r.take(2, "padding")?;
                let Some(format) = format else { return Ok(None) };
                Self::Webp {
                    quality,
                    format,
                    lossless,
                    y_extent,
                    x_extent,
                }
            }
            _ => return Ok(None),
        }))
    }

    fn encode(&self, w: &mut Writer) {
        let mut options = Writer::new();
        let mut compressor = |number: u8, level: i32| {
            options.u8(number).i32(level);
        };
        match self {
            Self::Gzip { level } => compressor(1, *level),
            Self::Zstd { level } => compressor(2, *level),
            Self::Lz4 { level } => compressor(3, *level),
            Self::Rle { level } => compressor(4, *level),
            Self::Bzip2 { level } => compressor(5, *level),
            Self::Dictionary { level } => compressor(7, *level),
            Self::DoubleDelta { level, reinterpret } => {
                compressor(6, *level);
                options.u8(reinterpret.unwrap_or(Datatype::Any).id());
            }
            Self::Delta { level, reinterpret } => {
                compressor(8, *level);
                options.u8(reinterpret.unwrap_or(Datatype::Any).id());
            }
            Self::BitWidthReduction { max_window } | Self::PositiveDelta { max_window } => {
                options.u32(*max_window);
            }
            Self::FloatScale {
                scale,
                offset,
                byte_width,
            } => {
                options.f64(*scale).f64(*offset).u64(*byte_width);
            }
            Self::Webp {
                quality,
                format,
                lossless,
                y_extent,
                x_extent,
            } => {
                options
                    .f32(*quality)
                    .u8(format.id())
                    .bool(*lossless)
                    .u16(*y_extent)
                    .u16(*x_extent)
                    .u16(0);
            }
            Self::Unknown { options: stored, .. } => {
                options.put(stored);
            }
            Self::None
            | Self::Bitshuffle
            | Self::Byteshuffle
            | Self::Aes256Gcm
            | Self::Md5
            | Self::Sha256
            | Self::Xor => {}
        }
        w.u8(self.id()).bytes32(&options.into_bytes());
    }
}

impl WebpFormat {
    const ALL: [Self; 4] = [Self::Rgb, Self::Bgr, Self::Rgba, Self::Bgra];

    fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.id() == id)
    }

    const fn id(self) -> u8 {
        match self {
            Self::Rgb => 1,
            Self::Bgr => 2,
            Self::Rgba => 3,
            Self::Bgra => 4,
        }
    }

    /// Size of a pixel in bytes.
    pub const fn depth(self) -> usize {
        match self {
            Self::Rgb | Self::Bgr => 3,
            Self::Rgba | Self::Bgra => 4,
        }
    }
}

#[cfg(test)]
mod tests;
