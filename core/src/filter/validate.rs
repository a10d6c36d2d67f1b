//! Checks which filters may be used where, when an array is created. Reading is more lenient: it accepts everything
//! that libtiledb ever wrote.

use super::plan::output;
use crate::datatype::{CellCount, Datatype};
use crate::error::{Error, Result};
use crate::format::pipeline::{Filter, Pipeline};

/// The contents of a pipeline's tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the variants are the lists of a schema")]
pub enum PipelineTarget {
    Attribute,
    Dimension,
    Offsets,
    Validity,
}

impl PipelineTarget {
    const fn name(self) -> &'static str {
        match self {
            Self::Attribute => "an attribute",
            Self::Dimension => "a dimension",
            Self::Offsets => "offsets",
            Self::Validity => "validity",
        }
    }
}

/// Checks whether an array may be created with this pipeline. `datatype` is the type of the field, `uint64` for offsets
/// and `uint8` for validity. For a dimension, pass the filters that it is stored with.
///
/// # Errors
/// [`crate::Error::InvalidArgument`] names the filter and says what it needs.
pub fn check(p: &Pipeline, datatype: Datatype, cell: CellCount, role: PipelineTarget) -> Result<()> {
    let strings = cell.is_var() && matches!(datatype, Datatype::StringAscii | Datatype::StringUtf8);
    let coded = strings && matches!(p.filters.first(), Some(Filter::Rle { .. } | Filter::Dictionary { .. }));
    let mut seen = datatype;
    for (i, filter) in p.filters.iter().enumerate() {
        let place = FilterPosition {
            seen,
            role,
            strings,
            coded,
            is_first: i == 0,
        };
        place
            .check(filter)
            .map_err(|why| Error::invalid(format!("the {} filter {why}", filter.name())))?;
        seen = output(filter, seen);
    }
    Ok(())
}

/// The position of a filter in a pipeline.
struct FilterPosition {
    /// Type of the values that it sees.
    seen: Datatype,
    role: PipelineTarget,
    /// Whether the field holds variable-length strings, which can be encoded with their offsets.
    strings: bool,
    /// Whether the first filter encodes them with their offsets.
    coded: bool,
    is_first: bool,
}

impl FilterPosition {
    fn check(&self, filter: &Filter) -> Result<(), String> {
        match filter {
            Filter::Rle { .. } => self.rle(),
            Filter::Dictionary { .. } => self.dictionary(),
            Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => {
                self.delta(filter.name(), *reinterpret)
            }
            Filter::BitWidthReduction { .. } | Filter::PositiveDelta { .. } => self.reduction(),
            Filter::FloatScale {
                scale,
                offset,
                byte_width,
            } => self.float_scale(*scale, *offset, *byte_width),
            Filter::Webp { format, x_extent, .. } => self.webp(format.depth(), *x_extent),
            Filter::Aes256Gcm => {
                Err("is added automatically to every pipeline of an encrypted array, and cannot be named".to_owned())
            }
            Filter::Unknown { id, .. } => Err(format!("{id} is not known to this release")),
            // Levels that are too high mean the highest level. They are stored unchanged, because libtiledb creates
            // such arrays.
            Filter::Gzip { .. } | Filter::Bzip2 { .. } | Filter::Zstd { .. } | Filter::Lz4 { .. } => Ok(()),
            Filter::None | Filter::Bitshuffle | Filter::Byteshuffle => Ok(()),
            Filter::Md5 | Filter::Sha256 | Filter::Xor => Ok(()),
        }
    }

    fn rle(&self) -> Result<(), String> {
        // Encoded strings that another filter has transformed are no longer strings.
        let packs = self.coded && !self.seen.is_string();
        if self.strings && !self.is_first && !packs {
            return Err(
                "must come first on variable-length strings, because it encodes them together with their offsets"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn dictionary(&self) -> Result<(), String> {
        if !self.strings || matches!(self.role, PipelineTarget::Offsets | PipelineTarget::Validity) {
            return Err(format!(
                "encodes only variable-length ASCII or UTF-8 strings, not {} of {}",
                self.role.name(),
                self.seen
            ));
        }
        if !self.is_first {
            return Err("must come first, because it encodes strings together with their offsets".to_owned());
        }
        Ok(())
    }

    fn delta(&self, name: &str, reinterpret: Option<Datatype>) -> Result<(), String> {
        let taken = reinterpret.unwrap_or(self.seen);
        if taken.is_float() {
            let integer = if taken.size() == 4 { "int32" } else { "int64" };
            return Err(format!(
                "works on integers, not on {taken}; reinterpret the values as integers with {name}:{integer}"
            ));
        }
        if !self.seen.size().is_multiple_of(taken.size()) {
            return Err(format!(
                "cannot reinterpret values of {} as {taken}: their size is not a multiple",
                self.seen
            ));
        }
        Ok(())
    }

    fn reduction(&self) -> Result<(), String> {
        let t = self.seen;
        if t.is_integer()
            || t.is_datetime()
            || t.is_time()
            || matches!(
                t,
                Datatype::Bool | Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt
            )
        {
            return Ok(());
        }
        Err(format!("works on integers, dates and times, not on {t}"))
    }

    fn float_scale(&self, scale: f64, offset: f64, byte_width: u64) -> Result<(), String> {
        if !matches!(self.seen.size(), 4 | 8) || matches!(self.role, PipelineTarget::Offsets | PipelineTarget::Validity)
        {
            return Err(format!(
                "works on values of 4 or 8 bytes, not on {} of {}",
                self.role.name(),
                self.seen
            ));
        }
        if !matches!(byte_width, 1 | 2 | 4 | 8) {
            return Err(format!("stores integers of 1, 2, 4 or 8 bytes, not {byte_width}"));
        }
        if !scale.is_normal() || !offset.is_finite() {
            return Err(format!(
                "needs ordinary numbers as scale and offset, not {scale} and {offset}"
            ));
        }
        Ok(())
    }

    fn webp(&self, depth: usize, row_bytes: u16) -> Result<(), String> {
        if self.role != PipelineTarget::Attribute || self.seen != Datatype::Uint8 {
            return Err(format!(
                "works on attributes of uint8, not on {} of {}",
                self.role.name(),
                self.seen
            ));
        }
        if usize::from(row_bytes) % depth != 0 {
            return Err(format!(
                "has pixels of {depth} bytes, which do not fill rows of {row_bytes} bytes"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(filters: Vec<Filter>, datatype: Datatype, cell: CellCount, role: PipelineTarget, expect: &str) {
        let message =
            check(&Pipeline::new(filters), datatype, cell, role).map_or_else(|e| e.to_string(), |()| String::new());
        assert!(
            message.contains(expect) && (expect.is_empty() == message.is_empty()),
            "{message:?} does not contain {expect:?}"
        );
    }

    #[test]
    fn errors_say_what_filters_need() {
        use Datatype::{Blob, Float32, Int32, StringAscii, StringUtf8, Uint8, Uint64};
        let (one, var, a) = (CellCount::ONE, CellCount::Var, PipelineTarget::Attribute);
        let (rle, dictionary) = (Filter::Rle { level: -1 }, Filter::Dictionary { level: -1 });
        let zstd = Filter::Zstd { level: -1 };
        let delta = |reinterpret| Filter::DoubleDelta { level: -1, reinterpret };
        check_one(vec![zstd.clone(), rle.clone()], Int32, one, a, "");
        check_one(
            vec![zstd.clone(), rle.clone()],
            StringAscii,
            var,
            a,
            "the rle filter must come first",
        );
        check_one(
            vec![zstd.clone(), dictionary.clone()],
            StringUtf8,
            var,
            a,
            "must come first",
        );
        check_one(vec![dictionary.clone(), zstd], StringUtf8, var, a, "");
        check_one(
            vec![dictionary.clone()],
            StringAscii,
            CellCount::Fixed(4),
            a,
            "variable-length",
        );
        check_one(
            vec![dictionary],
            Uint64,
            one,
            PipelineTarget::Offsets,
            "not offsets of uint64",
        );
        check_one(vec![delta(None)], Float32, one, a, "works on integers");
        check_one(vec![delta(Some(Int32))], Float32, one, a, "");
        check_one(vec![delta(Some(Uint64))], Float32, one, a, "not a multiple");
        check_one(vec![Filter::Xor, delta(None)], Float32, one, a, "");
        check_one(
            vec![Filter::BitWidthReduction { max_window: 256 }],
            Float32,
            one,
            a,
            "integers, dates and times",
        );
        check_one(vec![Filter::PositiveDelta { max_window: 256 }], Blob, var, a, "");
        check_one(
            vec![Filter::FloatScale {
                scale: 0.0,
                offset: 0.0,
                byte_width: 1,
            }],
            Float32,
            one,
            a,
            "ordinary numbers",
        );
        check_one(
            vec![Filter::FloatScale {
                scale: 1.0,
                offset: 0.0,
                byte_width: 3,
            }],
            Float32,
            one,
            a,
            "not 3",
        );
        for level in [i32::MIN, 10, i32::MAX] {
            let filters = [Filter::Gzip { level }, Filter::Bzip2 { level }, Filter::Zstd { level }];
            check_one(filters.to_vec(), Uint8, one, a, "");
        }
        check_one(vec![Filter::Aes256Gcm], Uint8, one, a, "cannot be named");
        check_one(
            vec![Filter::Unknown {
                id: 17,
                options: vec![],
            }],
            Uint8,
            one,
            a,
            "17 is not known",
        );
    }
}
