//! Filter pipelines: the list of filters with their options, as stored in schemas and generic tiles.
//!
//! Ids and options follow the format's page on filter pipelines. What a filter *does* is in
//! [`crate::filter`].

use super::cursor::{Decoded, Reader, Writer};
use super::version::Version;
use crate::datatype::Datatype;

/// A list of filters, applied front to back when writing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pipeline {
    /// Stored with the list and always 65536; only 0 has a meaning, "do not cut tiles into chunks".
    pub max_chunk_bytes: MaxChunk,
    /// The filters, first applied first.
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
        Self { max_chunk_bytes: MaxChunk::default(), filters }
    }

    /// Whether there are no filters.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// The pipeline at `r`, in a schema of this version.
    ///
    /// # Errors
    /// The bytes end early, or options are not of the length their filter has.
    pub fn decode(_r: &mut Reader<'_>, _schema_version: Version) -> Decoded<Self> {
        unimplemented!()
    }

    /// Appends the pipeline as the current version stores it.
    pub fn encode(&self, _w: &mut Writer) {
        unimplemented!()
    }
}

/// The compression level that means "the library's default".
pub const DEFAULT_LEVEL: i32 = -1;

/// One filter with its options.
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// Does nothing; needed where an empty list would mean "inherit".
    None,
    /// zlib streams.
    Gzip {
        /// 0 to 9, or -1 for the default.
        level: i32,
    },
    /// Zstandard frames.
    Zstd {
        /// -7 to 22; -1 stands for the default, 3.
        level: i32,
    },
    /// LZ4 blocks.
    Lz4 {
        /// Stored, and ignored.
        level: i32,
    },
    /// Run lengths of whole cells, or of whole strings.
    Rle {
        /// Stored, and ignored.
        level: i32,
    },
    /// bzip2 streams.
    Bzip2 {
        /// 1 to 9; anything else is the default.
        level: i32,
    },
    /// Second differences, bit-packed.
    DoubleDelta {
        /// Stored, and ignored.
        level: i32,
        /// The integer type the bytes are taken as; `None` for the field's own.
        reinterpret: Option<Datatype>,
    },
    /// Windows of integers stored in as few bytes as their range needs.
    BitWidthReduction {
        /// Bytes in a window.
        max_window: u32,
    },
    /// Bits of equal weight side by side.
    Bitshuffle,
    /// Bytes of equal weight side by side.
    Byteshuffle,
    /// First differences of values that never fall.
    PositiveDelta {
        /// Bytes in a window.
        max_window: u32,
    },
    /// Encryption. Never in a stored schema: added at the end of every pipeline of an encrypted array.
    Aes256Gcm,
    /// A checksum of 16 bytes.
    Md5,
    /// A checksum of 32 bytes.
    Sha256,
    /// Ids into a dictionary of strings.
    Dictionary {
        /// Stored, and ignored.
        level: i32,
    },
    /// Floats as scaled integers. Lossy.
    FloatScale {
        /// A stored integer is multiplied by this.
        scale: f64,
        /// And this is added.
        offset: f64,
        /// Bytes of the stored integer: 1, 2, 4 or 8.
        byte_width: u64,
    },
    /// Each value exclusive-or the one before.
    Xor,
    /// A tile as a WebP image.
    Webp {
        /// 0 to 100, for lossy images.
        quality: f32,
        /// How pixels lie in the tile.
        format: WebpFormat,
        /// Whether the image is exact.
        lossless: bool,
        /// Rows of a tile.
        y_extent: u16,
        /// Columns of a tile, in bytes.
        x_extent: u16,
    },
    /// First differences.
    Delta {
        /// Stored, and ignored.
        level: i32,
        /// The integer type the bytes are taken as; `None` for the field's own.
        reinterpret: Option<Datatype>,
    },
    /// A filter this release does not know: kept as it is, and an error only when it is run.
    Unknown {
        /// Its number on disk.
        id: u8,
        /// Its options as stored.
        options: Vec<u8>,
    },
}

/// How pixels lie in a tile under the WebP filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants spell the order of the bytes")]
pub enum WebpFormat {
    Rgb,
    Bgr,
    Rgba,
    Bgra,
}
