//! Integers of the widths that filters use, with access to unaligned bytes.

/// A little-endian integer.
pub(super) trait Word: Copy + Ord {
    /// Size in bytes.
    const BYTES: usize;

    /// Reads exactly [`Word::BYTES`] bytes; 0 for any other number of bytes.
    fn load(bytes: &[u8]) -> Self;

    /// Writes exactly [`Word::BYTES`] bytes.
    fn store(self, bytes: &mut [u8]);

    /// Wrapping addition.
    fn plus(self, other: Self) -> Self;

    /// Wrapping subtraction.
    fn minus(self, other: Self) -> Self;

    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;

    /// The exact value.
    fn wide(self) -> i128;

    /// The low bits of `value`.
    fn narrow(value: u64) -> Self;
}

macro_rules! words {
    ($($T:ty),*) => {$(
        impl Word for $T {
            const BYTES: usize = size_of::<$T>();

            #[inline]
            fn load(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.try_into().unwrap_or_default())
            }

            #[inline]
            fn store(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }

            #[inline]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }

            #[inline]
            fn wide(self) -> i128 {
                i128::from(self)
            }

            #[inline]
            // Truncation is intended.
            fn narrow(value: u64) -> Self {
                value as Self
            }
        }
    )*};
}
words!(i8, i16, i32, i64, u8, u16, u32, u64);

/// Evaluates an expression with `$T` bound to the integer type of a [`crate::Physical`]. Floats are treated as signed
/// integers of the same width.
macro_rules! with_word {
    ($physical:expr, $T:ident => $body:expr) => {
        match $physical {
            $crate::Physical::I8 => {
                type $T = i8;
                $body
            }
            $crate::Physical::I16 => {
                type $T = i16;
                $body
            }
            $crate::Physical::I32 | $crate::Physical::F32 => {
                type $T = i32;
                $body
            }
            $crate::Physical::I64 | $crate::Physical::F64 => {
                type $T = i64;
                $body
            }
            $crate::Physical::U8 => {
                type $T = u8;
                $body
            }
            $crate::Physical::U16 => {
                type $T = u16;
                $body
            }
            $crate::Physical::U32 => {
                type $T = u32;
                $body
            }
            $crate::Physical::U64 => {
                type $T = u64;
                $body
            }
        }
    };
}
pub(super) use with_word;

/// Evaluates an expression with `$T` bound to the unsigned or signed integer of 1, 2, 4 or 8 bytes.
///
/// For arithmetic modulo the width, which does not depend on the sign, and for code that needs only one of them.
/// Generates half as much code as [`with_word`].
macro_rules! with_width {
    (unsigned $width:expr, $T:ident => $body:expr) => {
        $crate::filter::word::with_width!($width, [u8 u16 u32 u64], $T => $body)
    };
    (signed $width:expr, $T:ident => $body:expr) => {
        $crate::filter::word::with_width!($width, [i8 i16 i32 i64], $T => $body)
    };
    ($width:expr, [$one:ident $two:ident $four:ident $eight:ident], $T:ident => $body:expr) => {
        match $width {
            1 => {
                type $T = $one;
                $body
            }
            2 => {
                type $T = $two;
                $body
            }
            4 => {
                type $T = $four;
                $body
            }
            _ => {
                type $T = $eight;
                $body
            }
        }
    };
}
pub(super) use with_width;
