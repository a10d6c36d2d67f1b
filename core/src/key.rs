//! Sort keys: `u64` numbers that sort like the values they represent.
//!
//! Signed integers have their sign bit flipped. Floats use the usual bit trick, with -0.0 treated as 0.0. Within one
//! physical type a key represents exactly one value, so it can be converted back.
//!
//! Coordinates are never NaN, and [`Keyed::key`] returns `None` for NaN. Bounds read from a file may be NaN:
//! [`Keyed::total_key`] sorts NaN outside both infinities.

use crate::column::typed;
use crate::datatype::Physical;
use crate::scalar::{Scalar, with_number};
use crate::with_type;

const SIGN: u64 = 1 << 63;

/// A type whose values have sort keys.
pub(crate) trait Keyed: bytemuck::Pod {
    /// The key of the value, including NaN.
    fn total_key(self) -> u64;
    /// The key of the value; `None` for NaN, which is unordered.
    fn key(self) -> Option<u64> {
        Some(self.total_key())
    }
    /// The value with this key.
    fn from_key(key: u64) -> Self;
}

macro_rules! signed {
    ($($T:ty),*) => {$(
        impl Keyed for $T {
            fn total_key(self) -> u64 {
                i64::from(self).cast_unsigned() ^ SIGN
            }
            // A key comes from a value of this width.
            #[allow(trivial_numeric_casts, reason = "one of the types is i64 itself")]
            fn from_key(key: u64) -> Self {
                (key ^ SIGN).cast_signed() as Self
            }
        }
    )*};
}
signed!(i8, i16, i32, i64);

macro_rules! unsigned {
    ($($T:ty),*) => {$(
        impl Keyed for $T {
            fn total_key(self) -> u64 {
                u64::from(self)
            }
            // A key comes from a value of this width.
            #[allow(trivial_numeric_casts, reason = "one of the types is u64 itself")]
            fn from_key(key: u64) -> Self {
                key as Self
            }
        }
    )*};
}
unsigned!(u8, u16, u32, u64);

impl Keyed for f32 {
    fn total_key(self) -> u64 {
        // Adding 0.0 turns -0.0 into 0.0 and leaves everything else alone.
        let bits = (self + 0.0).to_bits();
        let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
        u64::from(bits ^ flip)
    }
    fn key(self) -> Option<u64> {
        (!self.is_nan()).then_some(self.total_key())
    }
    // Keys of this type have 32 bits.
    fn from_key(key: u64) -> Self {
        let key = key as u32;
        Self::from_bits(key ^ if key >> 31 == 1 { 1 << 31 } else { u32::MAX })
    }
}

impl Keyed for f64 {
    fn total_key(self) -> u64 {
        let bits = (self + 0.0).to_bits();
        let flip = if bits >> 63 == 1 { u64::MAX } else { SIGN };
        bits ^ flip
    }
    fn key(self) -> Option<u64> {
        (!self.is_nan()).then_some(self.total_key())
    }
    fn from_key(key: u64) -> Self {
        Self::from_bits(key ^ if key >> 63 == 1 { SIGN } else { u64::MAX })
    }
}

/// The key of a number; `None` for strings and NaN.
pub(crate) fn key(value: &Scalar) -> Option<u64> {
    with_number!(value, v => v.key(), _ => None)
}

/// The key of a number, including NaN; `None` for strings.
pub(crate) fn total_key(value: &Scalar) -> Option<u64> {
    with_number!(value, v => Some(v.total_key()), _ => None)
}

/// The number with this key.
pub(crate) fn scalar(physical: Physical, key: u64) -> Scalar {
    with_type!(physical, T => Scalar::from(<T as Keyed>::from_key(key)))
}

/// The keys of little-endian values; `Err(i)` if value `i` is NaN.
///
/// # Errors
/// The index of the first value that has no key.
pub(crate) fn keys(physical: Physical, bytes: &[u8]) -> Result<Vec<u64>, usize> {
    with_type!(physical, T => {
        let values = typed::<T>(bytes);
        // Two passes, so that neither has an early exit in its loop. Integers need no check.
        match values.iter().position(|v| v.key().is_none()) {
            Some(nan) => Err(nan),
            None => Ok(values.iter().map(|v| v.total_key()).collect()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: Keyed + PartialEq + std::fmt::Debug>(ascending: &[T]) {
        let keys: Vec<u64> = ascending.iter().filter_map(|v| v.key()).collect();
        assert!(keys.windows(2).all(|w| w[0] < w[1]), "{ascending:?} -> {keys:?}");
        assert_eq!(keys.iter().map(|&k| T::from_key(k)).collect::<Vec<_>>(), ascending);
    }

    #[test]
    fn keys_sort_like_values_and_convert_back() {
        check(&[i8::MIN, -1, 0, 1, i8::MAX]);
        check(&[i64::MIN, -1, 0, 1, i64::MAX]);
        check(&[0, 1, u64::MAX]);
        check(&[
            f32::NEG_INFINITY,
            f32::MIN,
            -1.5,
            -f32::MIN_POSITIVE,
            0.0,
            1e-40,
            2.5,
            f32::INFINITY,
        ]);
        check(&[f64::NEG_INFINITY, -1.5, 0.0, 5e-324, 2.5, f64::MAX, f64::INFINITY]);
    }

    #[test]
    fn keys_of_nan_are_outside_both_infinities_and_convert_back() {
        let keys = [-f64::NAN, f64::NEG_INFINITY, f64::INFINITY, f64::NAN].map(f64::total_key);
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(f64::from_key(keys[0]).to_bits(), (-f64::NAN).to_bits());
        assert_eq!(f32::from_key(f32::NAN.total_key()).to_bits(), f32::NAN.to_bits());
        assert_eq!(total_key(&Scalar::from(f64::NAN)), Some(keys[3]));
    }

    #[test]
    fn zeros_share_a_key_and_nan_has_none() {
        assert_eq!((-0.0_f64).key(), 0.0_f64.key());
        assert_eq!((-0.0_f32).key(), 0.0_f32.key());
        assert_eq!(keys(Physical::F32, &[0, 0, 0, 0, 0, 0, 0xc0, 0x7f]), Err(1));
    }
}
