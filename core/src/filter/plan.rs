//! A pipeline prepared for one kind of tile, with the options and the input type of every filter checked. This file has
//! all matches over filters; the filters themselves are in their own files.

use super::chunk::{ChunkHeaders, ChunkMetadata};
use super::compress::Codec;
use super::integrity::aes_gcm;
use super::integrity::checksum::Checksum;
use super::transform::float_scale::Scaling;
use super::transform::webp::Image;
use super::transform::{bit_width, bitshuffle, byteshuffle, positive_delta, xor};
use super::{Key, Nonces, TileFormat, rare};
use crate::datatype::{CellCount, Datatype, Physical};
use crate::error::Malformed;
use crate::format::cursor::{Decoded, Reader};
use crate::format::pipeline::{Filter, Pipeline};
use crate::format::version::Version;

/// The longest side of an image in pixels, a limit of 14 bits.
const WEBP_SIDE_MAX: u16 = 16383;

/// How strings are encoded together with their offsets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringCoding {
    Rle,
    Dictionary,
}

/// A filter that is ready to run.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step<'a> {
    Checksum(Checksum),
    Codec(Codec),
    Byteshuffle(usize),
    Bitshuffle(usize),
    BitWidth(Physical, u32),
    PositiveDelta(Physical, u32),
    FloatScale(Scaling),
    Xor(Physical),
    Webp(Image),
    Aes(&'a Key),
}

/// A pipeline that is ready to run: the string encoding, if there is one, then the steps in order.
#[derive(Debug)]
pub(super) struct ReadyPipeline<'a> {
    pub(super) strings: Option<StringCoding>,
    pub(super) steps: Vec<Step<'a>>,
}

impl<'a> ReadyPipeline<'a> {
    /// The plan of `p` for tiles with format `f`, including encryption.
    ///
    /// # Errors
    /// A filter is unknown or does not support its input type, or encryption has no key.
    pub(super) fn new(p: &Pipeline, f: &TileFormat<'a>) -> Decoded<Self> {
        rare::check(p, f)?;
        let strings = string_coding(p, f);
        let mut steps = Vec::with_capacity(p.filters.len() + 1);
        let mut datatype = f.datatype;
        let codes =
            |filter: &Filter| strings.is_some() && matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. });
        let coded_first = p.filters.first().is_some_and(codes);
        for (i, filter) in p.filters.iter().enumerate() {
            if coded_first && i == 0 {
                continue;
            }
            // Encoded strings that another filter has transformed are no longer strings.
            if codes(filter) && (!coded_first || datatype.is_string()) {
                return Err(Malformed::unsupported(
                    filter.name(),
                    "must come first to encode strings",
                ));
            }
            steps.extend(step(filter, datatype, f)?);
            if f.writer.has_types_of_filters() {
                datatype = output(filter, datatype);
            }
        }
        if let Some(key) = f.key.filter(|_| !matches!(p.filters.last(), Some(Filter::Aes256Gcm))) {
            steps.push(Step::Aes(key));
        }
        Ok(Self { strings, steps })
    }

    /// The most bytes, data and metadata together, that the first `steps` steps can produce from `plain` bytes.
    pub(super) fn most_filtered(&self, steps: usize, plain: u64) -> u64 {
        self.steps
            .iter()
            .take(steps)
            .fold(plain, |n, step| step.most_filtered(n))
    }
}

/// The values in `data` as the float scale filters of `p` store them. Other filters do not change values.
///
/// # Errors
/// A filter does not support the type of the values.
pub(crate) fn rounded(data: Vec<u8>, p: &Pipeline, f: &TileFormat<'_>) -> Result<Vec<u8>, Malformed> {
    let scales = p
        .filters
        .iter()
        .filter(|filter| matches!(filter, Filter::FloatScale { .. }));
    let mut scalings = Vec::new();
    for filter in scales {
        if let Some(Step::FloatScale(scaling)) = step(filter, f.datatype, f)? {
            scalings.push(scaling);
        }
    }
    rounded_by(&scalings, data)
}

fn rounded_by(scalings: &[Scaling], data: Vec<u8>) -> Result<Vec<u8>, Malformed> {
    let Some((first, later)) = scalings.split_first() else {
        return Ok(data);
    };
    let (mut headers, mut stored, mut out) = (ChunkHeaders::default(), Vec::new(), data);
    first.encode(&mut headers, &out, &mut stored)?;
    let stored = rounded_by(later, stored)?;
    let header = headers.take().concat();
    first.decode(&mut Reader::new(&header), &stored, &mut out)?;
    Ok(out)
}

/// How `p` encodes strings together with their offsets, if it does.
pub(super) fn string_coding(p: &Pipeline, f: &TileFormat<'_>) -> Option<StringCoding> {
    let utf8 = f.datatype == Datatype::StringUtf8 && f.version.has_utf8_coding();
    let ascii = f.datatype == Datatype::StringAscii;
    let coding = |filter: &Filter| match filter {
        Filter::Rle { .. } => (utf8 || ascii && f.version.has_string_rle()).then_some(StringCoding::Rle),
        Filter::Dictionary { .. } => {
            (utf8 || ascii && f.version.has_string_dictionary()).then_some(StringCoding::Dictionary)
        }
        Filter::None
        | Filter::Gzip { .. }
        | Filter::Zstd { .. }
        | Filter::Lz4 { .. }
        | Filter::Bzip2 { .. }
        | Filter::DoubleDelta { .. }
        | Filter::BitWidthReduction { .. }
        | Filter::Bitshuffle
        | Filter::Byteshuffle
        | Filter::PositiveDelta { .. }
        | Filter::Aes256Gcm
        | Filter::Md5
        | Filter::Sha256
        | Filter::FloatScale { .. }
        | Filter::Xor
        | Filter::Webp { .. }
        | Filter::Delta { .. }
        | Filter::Unknown { .. } => None,
    };
    p.filters.iter().filter(|_| f.cell.is_var()).find_map(coding)
}

/// The output type of a filter for an input of `datatype`.
pub(super) fn output(filter: &Filter, datatype: Datatype) -> Datatype {
    let integer = |width| match width {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        _ => Datatype::Int64,
    };
    match filter {
        Filter::Xor => integer(datatype.size() as u64),
        Filter::FloatScale { byte_width, .. } => integer(*byte_width),
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => reinterpret.unwrap_or(datatype),
        Filter::Aes256Gcm => Datatype::Blob,
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
        | Filter::Md5
        | Filter::Sha256
        | Filter::Dictionary { .. }
        | Filter::Webp { .. }
        | Filter::Unknown { .. } => datatype,
    }
}

/// The step of a filter for an input of `datatype`; `None` if the filter does nothing.
fn step<'a>(filter: &Filter, datatype: Datatype, f: &TileFormat<'a>) -> Decoded<Option<Step<'a>>> {
    let kind = datatype.physical();
    let refuse = |why: String| Err(Malformed::unsupported(filter.name(), why));
    Ok(Some(match filter {
        Filter::None => return Ok(None),
        Filter::Gzip { level } => Step::Codec(Codec::Gzip { level: *level }),
        Filter::Zstd { level } => Step::Codec(Codec::Zstd { level: *level }),
        Filter::Lz4 { .. } => Step::Codec(Codec::Lz4),
        Filter::Bzip2 { level } => Step::Codec(Codec::Bzip2 { level: *level }),
        Filter::Rle { .. } => Step::Codec(Codec::Rle {
            cell_bytes: cell_bytes(f),
        }),
        Filter::Delta { reinterpret, .. } => {
            Step::Codec(Codec::Delta(delta_kind(filter, reinterpret.unwrap_or(datatype))?))
        }
        Filter::DoubleDelta { reinterpret, .. } => {
            Step::Codec(Codec::DoubleDelta(delta_kind(filter, reinterpret.unwrap_or(datatype))?))
        }
        Filter::Dictionary { .. } => return refuse(format!("encodes only variable-length strings, not {datatype}")),
        Filter::Bitshuffle => Step::Bitshuffle(kind.size()),
        Filter::Byteshuffle => Step::Byteshuffle(kind.size()),
        Filter::BitWidthReduction { max_window } => match reduced(datatype, f.version) {
            true if kind.size() > 1 => Step::BitWidth(kind, *max_window),
            _ => return Ok(None),
        },
        Filter::PositiveDelta { max_window } => match reduced(datatype, f.version) {
            true => Step::PositiveDelta(kind, *max_window),
            false => return Ok(None),
        },
        Filter::Aes256Gcm => match f.key {
            Some(key) => Step::Aes(key),
            None => return Err(Malformed::key("encryption", "a key is needed")),
        },
        Filter::Md5 => Step::Checksum(Checksum::Md5),
        Filter::Sha256 => Step::Checksum(Checksum::Sha256),
        Filter::FloatScale {
            scale,
            offset,
            byte_width,
        } => {
            let stored = match byte_width {
                1 => Physical::I8,
                2 => Physical::I16,
                4 => Physical::I32,
                8 => Physical::I64,
                n => return refuse(format!("integers have 1, 2, 4 or 8 bytes, not {n}")),
            };
            if kind.size() < 4 {
                return refuse(format!("works on values of 4 or 8 bytes, not on {datatype}"));
            }
            Step::FloatScale(Scaling {
                scale: *scale,
                offset: *offset,
                stored,
                double: kind.size() == 8,
            })
        }
        Filter::Xor => Step::Xor(kind),
        Filter::Webp {
            format,
            lossless,
            y_extent,
            x_extent,
            ..
        } => {
            if *y_extent > WEBP_SIDE_MAX || usize::from(*x_extent) / format.depth() > usize::from(WEBP_SIDE_MAX) {
                return refuse(format!("an image has at most {WEBP_SIDE_MAX} pixels per side"));
            }
            Step::Webp(Image {
                format: *format,
                lossless: *lossless,
                rows: *y_extent,
                row_bytes: *x_extent,
            })
        }
        Filter::Unknown { id, .. } => return refuse(format!("filter {id} is not known to this release")),
    }))
}

/// Size of the unit that run-length encoding repeats: a cell, or a single value if cells have variable length.
fn cell_bytes(f: &TileFormat<'_>) -> usize {
    let values = match f.cell {
        CellCount::Fixed(n) => usize::try_from(n).unwrap_or(usize::MAX).max(1),
        CellCount::Var => 1,
    };
    values.saturating_mul(f.datatype.size())
}

/// The integer type that the delta filters use for values of `datatype`.
fn delta_kind(filter: &Filter, datatype: Datatype) -> Decoded<Physical> {
    if datatype.is_float() {
        return Err(Malformed::unsupported(
            filter.name(),
            format!("works on integers, not on {datatype}; set a reinterpret type"),
        ));
    }
    // Wide characters are treated as bytes too.
    Ok(if datatype.is_string() && datatype != Datatype::Char {
        Physical::U8
    } else {
        datatype.physical()
    })
}

/// Whether bit width reduction and positive delta act on this type. They pass other types through.
fn reduced(datatype: Datatype, version: Version) -> bool {
    let bytes = matches!(
        datatype,
        Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt | Datatype::Bool
    );
    let date = datatype.is_temporal();
    datatype.is_integer() || bytes || date && version.has_date_reduction()
}

impl Step<'_> {
    /// Whether the filter changes the data. Checksums do not.
    pub(super) const fn moves(&self) -> bool {
        !matches!(self, Self::Checksum(_))
    }

    /// Applies the filter: adds its header to `headers`, and appends the output to `out`, which must be empty. Appends
    /// nothing if the filter does not change the data.
    ///
    /// # Errors
    /// The filter does not support this data.
    pub(super) fn apply(
        &self,
        nonces: &Nonces,
        headers: &mut ChunkHeaders,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        match self {
            Self::Checksum(checksum) => checksum.note(headers, data),
            Self::Codec(codec) => codec.encode(headers, data, out),
            Self::Byteshuffle(width) => byteshuffle::encode(*width, headers, data, out),
            Self::Bitshuffle(width) => bitshuffle::encode(*width, headers, data, out),
            Self::BitWidth(kind, window) => bit_width::encode(*kind, *window, headers, data, out),
            Self::PositiveDelta(kind, window) => positive_delta::encode(*kind, *window, headers, data, out),
            Self::FloatScale(scaling) => scaling.encode(headers, data, out),
            Self::Xor(kind) => xor::encode(*kind, headers, data, out),
            Self::Webp(image) => image.encode(headers, data, out),
            Self::Aes(key) => aes_gcm::encode(key, nonces, headers, data, out),
        }
    }

    /// Undoes a filter that does not change the data, by checking `data` against the filter's header.
    ///
    /// # Errors
    /// The checksum does not match.
    pub(super) fn verify(&self, meta: &mut ChunkMetadata<'_>, data: &[u8]) -> Decoded<()> {
        match self {
            Self::Checksum(checksum) => checksum.verify(meta, data),
            Self::Codec(_)
            | Self::Byteshuffle(_)
            | Self::Bitshuffle(_)
            | Self::BitWidth(..)
            | Self::PositiveDelta(..)
            | Self::FloatScale(_)
            | Self::Xor(_)
            | Self::Webp(_)
            | Self::Aes(_) => Ok(()),
        }
    }

    /// The number of bytes that [`Step::undo`] will produce from `data`.
    ///
    /// # Errors
    /// The header is damaged.
    pub(super) fn plain_bytes(&self, meta: &ChunkMetadata<'_>, data: &[u8]) -> Decoded<u64> {
        let mut r = Reader::new(meta.rest());
        match self {
            Self::Codec(_) => Codec::plain_bytes(&mut r),
            Self::BitWidth(..) => bit_width::plain_bytes(&mut r),
            Self::FloatScale(scaling) => Ok(scaling.plain_bytes(data.len() as u64)),
            Self::Webp(image) => Ok(image.plain_bytes()),
            Self::Aes(_) => aes_gcm::plain_bytes(&mut r),
            Self::Checksum(_) | Self::Byteshuffle(_) | Self::Bitshuffle(_) | Self::PositiveDelta(..) | Self::Xor(_) => {
                Ok(data.len() as u64)
            }
        }
    }

    /// Undoes the filter: reads its header and decodes `data` into `out`. The decoded metadata may have up to
    /// `metadata_bytes_max` bytes.
    ///
    /// # Errors
    /// The chunk is damaged or has another length.
    pub(super) fn undo(
        &self,
        meta: &mut ChunkMetadata<'_>,
        data: &[u8],
        out: &mut [u8],
        metadata_bytes_max: u64,
    ) -> Decoded<()> {
        match self {
            Self::Checksum(checksum) => checksum.verify(meta, data)?,
            Self::Codec(codec) => *meta = codec.decode(meta, data, out, metadata_bytes_max)?,
            Self::Byteshuffle(width) => meta.read(|r| byteshuffle::decode(*width, r, data, out))?,
            Self::Bitshuffle(width) => meta.read(|r| bitshuffle::decode(*width, r, data, out))?,
            Self::BitWidth(kind, _) => meta.read(|r| bit_width::decode(*kind, r, data, out))?,
            Self::PositiveDelta(kind, _) => meta.read(|r| positive_delta::decode(*kind, r, data, out))?,
            Self::FloatScale(scaling) => meta.read(|r| scaling.decode(r, data, out))?,
            Self::Xor(kind) => meta.read(|r| xor::decode(*kind, r, data, out))?,
            Self::Webp(image) => meta.read(|r| image.decode(r, data, out))?,
            Self::Aes(key) => *meta = aes_gcm::decode(key, meta, data, out)?,
        }
        Ok(())
    }

    /// The most bytes that [`Step::undo`] can produce from `n` bytes.
    pub(super) fn most_plain(&self, n: u64) -> u64 {
        match self {
            Self::Codec(codec) => n.saturating_mul(codec.ratio()),
            Self::BitWidth(..) | Self::FloatScale(_) => n.saturating_mul(8),
            Self::Webp(image) => image.plain_bytes(),
            Self::Checksum(_)
            | Self::Byteshuffle(_)
            | Self::Bitshuffle(_)
            | Self::PositiveDelta(..)
            | Self::Xor(_)
            | Self::Aes(_) => n,
        }
    }

    /// The most bytes, data and metadata together, that the filter can produce from `n` bytes.
    const fn most_filtered(&self, n: u64) -> u64 {
        match self {
            Self::Codec(codec) => codec.most_packed(n),
            // A window may be as short as one value.
            Self::BitWidth(..) | Self::PositiveDelta(..) => n.saturating_mul(6).saturating_add(64),
            Self::FloatScale(_) => n.saturating_mul(2).saturating_add(64),
            Self::Webp(_) => n.saturating_mul(2).saturating_add(4096),
            Self::Checksum(_) | Self::Byteshuffle(_) | Self::Bitshuffle(_) | Self::Xor(_) | Self::Aes(_) => {
                n.saturating_add(1024)
            }
        }
    }
}
