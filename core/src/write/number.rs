//! Minima, maxima and sums of numbers.
//!
//! NaN is ignored in minima and maxima unless all values are NaN. Sums saturate at the limits of their type.

/// A type with statistics.
pub(super) trait Number: bytemuck::Pod + PartialOrd {
    /// The type of sums.
    type Sum: Number<Sum = Self::Sum>;
    const LEAST: Self;
    const GREATEST: Self;
    /// The minimum and maximum of `so_far` and the values that are not null.
    fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)>;
    /// Adds the values that are not null. Returns `false` if the sum saturated.
    fn add(sum: &mut Self::Sum, values: &[Self], validity: Option<&[u8]>) -> bool;
    /// The bits of the sum, as stored.
    fn bits(sum: Self::Sum) -> u64;
    /// The sum with these stored bits. Only for the three types of sums.
    fn from_bits(bits: u64) -> Self;
}

fn valid<'a, T: Copy>(values: &'a [T], validity: &'a [u8]) -> impl Iterator<Item = T> + 'a {
    values.iter().zip(validity).filter(|(_, v)| **v != 0).map(|(v, _)| *v)
}

macro_rules! integers {
    ($($T:ty => $S:ty),*) => {$(
        #[allow(clippy::unnecessary_cast, reason = "one body for all widths")]
        // The casts keep the bits, not the value.
        impl Number for $T {
            type Sum = $S;
            const LEAST: Self = <$T>::MIN;
            const GREATEST: Self = <$T>::MAX;

            fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)> {
                let none = (<$T>::MAX, <$T>::MIN);
                let widen = |(min, max): (Self, Self), v: Self| (min.min(v), max.max(v));
                let found = match validity {
                    None => values.iter().fold(none, |e, &v| widen(e, v)),
                    Some(validity) => valid(values, validity).fold(none, widen),
                };
                let found = (found.0 <= found.1).then_some(found);
                match (so_far, found) {
                    (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                    (a, b) => a.or(b),
                }
            }

            fn add(sum: &mut $S, values: &[Self], validity: Option<&[u8]>) -> bool {
                // Narrow values cannot overflow within a block, so the inner loop needs no checks.
                if let (None, true) = (validity, size_of::<$T>() < 8) {
                    for block in values.chunks(1 << 16) {
                        let part: $S = block.iter().map(|&v| v as $S).sum();
                        match sum.checked_add(part) {
                            Some(s) => *sum = s,
                            None => return add_each(sum, block.iter().map(|&v| v as $S)),
                        }
                    }
                    return true;
                }
                match validity {
                    None => add_each(sum, values.iter().map(|&v| v as $S)),
                    Some(validity) => add_each(sum, valid(values, validity).map(|v| v as $S)),
                }
            }

            fn bits(sum: $S) -> u64 {
                sum as u64
            }

            fn from_bits(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}
integers!(i8 => i64, i16 => i64, i32 => i64, i64 => i64, u8 => u64, u16 => u64, u32 => u64, u64 => u64);

/// A sum that saturates at the limits of its type.
trait Saturating: Copy {
    fn checked(self, other: Self) -> Option<Self>;
    fn saturated(self, other: Self) -> Self;
}

macro_rules! saturating {
    ($($T:ty),*) => {$(
        impl Saturating for $T {
            fn checked(self, other: Self) -> Option<Self> { self.checked_add(other) }
            fn saturated(self, other: Self) -> Self { self.saturating_add(other) }
        }
    )*};
}
saturating!(i64, u64);

impl Saturating for f64 {
    fn checked(self, other: Self) -> Option<Self> {
        let over = (self < 0.0) == (other < 0.0) && self.abs() > Self::MAX - other.abs();
        (!over).then_some(self + other)
    }
    fn saturated(self, _: Self) -> Self {
        if self < 0.0 { Self::MIN } else { Self::MAX }
    }
}

fn add_each<S: Saturating>(sum: &mut S, values: impl Iterator<Item = S>) -> bool {
    for v in values {
        match sum.checked(v) {
            Some(s) => *sum = s,
            None => {
                *sum = sum.saturated(v);
                return false;
            }
        }
    }
    true
}

macro_rules! floats {
    ($($T:ty),*) => {$(
        impl Number for $T {
            type Sum = f64;
            const LEAST: Self = <$T>::MIN;
            const GREATEST: Self = <$T>::MAX;

            fn ends(so_far: Option<(Self, Self)>, values: &[Self], validity: Option<&[u8]>) -> Option<(Self, Self)> {
                // If values are equal (0.0 and -0.0), the last one counts, as in libtiledb.
                let widen = |e: Option<(Self, Self)>, v: Self| match e {
                    Some((min, max)) if !min.is_nan() => {
                        Some((if min < v || v.is_nan() { min } else { v }, if max > v || v.is_nan() { max } else { v }))
                    }
                    _ => Some((v, v)),
                };
                match validity {
                    None => values.iter().copied().fold(so_far, widen),
                    Some(validity) => valid(values, validity).fold(so_far, widen),
                }
            }

            fn add(sum: &mut f64, values: &[Self], validity: Option<&[u8]>) -> bool {
                let plain = match validity {
                    None => values.iter().fold(*sum, |s, &v| s + f64::from(v)),
                    Some(validity) => valid(values, validity).fold(*sum, |s, v| s + f64::from(v)),
                };
                // A partial sum that overflowed would have made this one infinite or NaN. Those are added again with
                // checks.
                if plain.abs() < f64::MAX / 2.0 {
                    *sum = plain;
                    return true;
                }
                match validity {
                    None => add_each(sum, values.iter().map(|&v| f64::from(v))),
                    Some(validity) => add_each(sum, valid(values, validity).map(f64::from)),
                }
            }

            fn bits(sum: f64) -> u64 {
                sum.to_bits()
            }

            fn from_bits(bits: u64) -> Self {
                f64::from_bits(bits) as Self
            }
        }
    )*};
}
floats!(f32, f64);
