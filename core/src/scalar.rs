//! A value, or a closed range of values, of any type.

use std::cmp::Ordering;
use std::fmt;

use crate::calendar;
use crate::datatype::{Datatype, Physical};
use crate::with_type;

/// A value: a number of one of the ten physical types, or the bytes of a string.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the variants are Rust's own type names")]
pub enum Scalar {
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    /// The bytes of a string, without a terminator.
    Bytes(Vec<u8>),
}

/// Evaluates one expression for a numeric [`Scalar`], with `$v` bound to the number, and another for a string, with
/// `$text` bound to its bytes.
macro_rules! with_number {
    ($value:expr, $v:ident => $number:expr, $text:pat => $bytes:expr) => {
        match $value {
            Scalar::I8($v) => $number,
            Scalar::I16($v) => $number,
            Scalar::I32($v) => $number,
            Scalar::I64($v) => $number,
            Scalar::U8($v) => $number,
            Scalar::U16($v) => $number,
            Scalar::U32($v) => $number,
            Scalar::U64($v) => $number,
            Scalar::F32($v) => $number,
            Scalar::F64($v) => $number,
            Scalar::Bytes($text) => $bytes,
        }
    };
}
pub(crate) use with_number;

macro_rules! scalar_from {
    ($($T:ty => $V:ident),*) => {$(
        impl From<$T> for Scalar {
            fn from(value: $T) -> Self { Self::$V(value) }
        }
    )*};
}
scalar_from!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

impl From<&str> for Scalar {
    fn from(value: &str) -> Self {
        Self::Bytes(value.as_bytes().to_vec())
    }
}

/// Formats the value for messages: a plain number, or a string in quotes.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.as_i128(), self.as_f64(), self.as_bytes()) {
            (Some(i), ..) => i.fmt(f),
            // As in Rust's debug format: very large and very small numbers have an exponent.
            (None, Some(v), _) if v != 0.0 && v.is_finite() && !(1e-5..1e16).contains(&v.abs()) => write!(f, "{v:e}"),
            (None, Some(v), _) => v.fmt(f),
            (None, None, text) => write!(f, "'{}'", String::from_utf8_lossy(text.unwrap_or_default())),
        }
    }
}

impl Scalar {
    /// The value with these little-endian bytes; `None` if their number is wrong.
    pub fn from_le_bytes(physical: Physical, bytes: &[u8]) -> Option<Self> {
        with_type!(physical, T => Some(Self::from(T::from_le_bytes(bytes.try_into().ok()?))))
    }

    /// Formats a coordinate of `datatype` for messages. Dates are formatted as dates.
    pub(crate) fn shown(&self, datatype: Datatype) -> String {
        let ticks = self.as_i128().and_then(|t| i64::try_from(t).ok());
        let text = ticks.and_then(|t| calendar::text(t, datatype));
        text.unwrap_or_else(|| self.to_string())
    }

    /// The value as an ISO 8601 date or time; `None` if it is not an integer or `datatype` is neither.
    pub fn date_text(&self, datatype: Datatype) -> Option<String> {
        if let Self::I64(ticks) = self {
            calendar::text(*ticks, datatype)
        } else {
            None
        }
    }

    /// The physical type of a number; `None` for strings.
    pub const fn physical(&self) -> Option<Physical> {
        Some(match self {
            Self::I8(_) => Physical::I8,
            Self::I16(_) => Physical::I16,
            Self::I32(_) => Physical::I32,
            Self::I64(_) => Physical::I64,
            Self::U8(_) => Physical::U8,
            Self::U16(_) => Physical::U16,
            Self::U32(_) => Physical::U32,
            Self::U64(_) => Physical::U64,
            Self::F32(_) => Physical::F32,
            Self::F64(_) => Physical::F64,
            Self::Bytes(_) => return None,
        })
    }

    /// Little-endian bytes of a number, or the bytes of a string.
    pub fn to_le_bytes(&self) -> Vec<u8> {
        with_number!(self, v => v.to_le_bytes().to_vec(), text => text.clone())
    }

    /// The value of an integer of any width; `None` for floats and strings.
    pub const fn as_i128(&self) -> Option<i128> {
        Some(match self {
            Self::I8(v) => *v as i128,
            Self::I16(v) => *v as i128,
            Self::I32(v) => *v as i128,
            Self::I64(v) => *v as i128,
            Self::U8(v) => *v as i128,
            Self::U16(v) => *v as i128,
            Self::U32(v) => *v as i128,
            Self::U64(v) => *v as i128,
            Self::F32(_) | Self::F64(_) | Self::Bytes(_) => return None,
        })
    }

    /// The nearest `f64`; `None` for strings.
    // Rounding is intended.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::F32(v) => Some(f64::from(*v)),
            Self::F64(v) => Some(*v),
            other => other.as_i128().map(|v| v as f64),
        }
    }

    /// The string's bytes; `None` for numbers.
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(v) = self { Some(v) } else { None }
    }

    /// The integer `value` as a scalar of `datatype`; `None` if it does not fit.
    // Integers are rounded for float fields.
    pub fn from_i128(datatype: Datatype, value: i128) -> Option<Self> {
        Some(match datatype.physical() {
            Physical::I8 => Self::I8(value.try_into().ok()?),
            Physical::I16 => Self::I16(value.try_into().ok()?),
            Physical::I32 => Self::I32(value.try_into().ok()?),
            Physical::I64 => Self::I64(value.try_into().ok()?),
            Physical::U8 => Self::U8(value.try_into().ok()?),
            Physical::U16 => Self::U16(value.try_into().ok()?),
            Physical::U32 => Self::U32(value.try_into().ok()?),
            Physical::U64 => Self::U64(value.try_into().ok()?),
            Physical::F32 => Self::F32(value as f32),
            Physical::F64 => Self::F64(value as f64),
        })
    }

    fn lesser<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.order(other).is_le() { self } else { other }
    }

    fn greater<'a>(&'a self, other: &'a Self) -> &'a Self {
        if self.order(other).is_ge() { self } else { other }
    }

    /// Compares two values of the same type: numbers by value with NaN last, strings by their bytes.
    pub fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Bytes(a), Self::Bytes(b)) => a.cmp(b),
            (Self::F32(a), Self::F32(b)) => float_order(f64::from(*a), f64::from(*b)),
            (Self::F64(a), Self::F64(b)) => float_order(*a, *b),
            (a, b) => a.as_i128().cmp(&b.as_i128()),
        }
    }
}

/// Compares floats by value. -0.0 equals 0.0, and NaN is last.
pub(crate) fn float_order(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The JSON string for a float that is not finite: `"NaN"`, `"Infinity"` or `"-Infinity"`, as in Zarr and Protocol
/// Buffers. `None` for finite floats.
pub fn json_word(v: f64) -> Option<&'static str> {
    match v {
        f64::INFINITY => Some("Infinity"),
        f64::NEG_INFINITY => Some("-Infinity"),
        v if v.is_nan() => Some("NaN"),
        _ => None,
    }
}

/// A closed range of values.
#[derive(Debug, Clone, PartialEq)]
pub struct ScalarRange {
    /// The smallest value.
    pub lo: Scalar,
    /// The largest value.
    pub hi: Scalar,
}

impl ScalarRange {
    /// The closed range from `lo` to `hi`.
    pub fn new(lo: impl Into<Scalar>, hi: impl Into<Scalar>) -> Self {
        Self {
            lo: lo.into(),
            hi: hi.into(),
        }
    }

    /// Formats both ends for messages, such as `2020-01-01 to 2020-12-31`.
    pub(crate) fn shown(&self, datatype: Datatype) -> String {
        format!("{} to {}", self.lo.shown(datatype), self.hi.shown(datatype))
    }

    /// Whether `value` is in the range.
    pub fn contains(&self, value: &Scalar) -> bool {
        self.lo.order(value).is_le() && value.order(&self.hi).is_le()
    }

    /// Whether the range is empty.
    pub fn is_empty(&self) -> bool {
        self.lo.order(&self.hi).is_gt()
    }

    /// The values in both ranges. May be empty.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self {
            lo: self.lo.greater(&other.lo).clone(),
            hi: self.hi.lesser(&other.hi).clone(),
        }
    }

    /// The smallest range that contains both.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self {
            lo: self.lo.lesser(&other.lo).clone(),
            hi: self.hi.greater(&other.hi).clone(),
        }
    }
}
