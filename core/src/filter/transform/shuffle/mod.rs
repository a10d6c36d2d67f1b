//! The kernels of byte shuffle and bit shuffle, and their inverses.
//!
//! There are two sets with identical results: one for processors with 16-byte vectors, and one with 64-bit arithmetic
//! for all others.

/// Calls the kernel for values of this width, or copies the data for other widths.
macro_rules! by_width {
    ($width:expr, [$($made:literal),+], $kernel:ident, $data:expr, $out:expr) => {
        match $width {
            $($made => $kernel::<$made>($data, $out),)+
            _ => $out.copy_from_slice($data),
        }
    };
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod lanes;
#[cfg(any(
    test,
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))
))]
mod squares;
#[cfg(any(
    test,
    not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))
))]
mod transpose;

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
pub(super) use lanes::{bits, bytes, unbits, unbytes};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32")))]
pub(super) use squares::{bits, bytes, unbits, unbytes};

/// Size of the blocks in which bits are shuffled, in bytes.
pub(super) const BLOCK: usize = 8192;

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod tests;
