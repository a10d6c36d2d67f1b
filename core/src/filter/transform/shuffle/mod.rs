//! The kernels of the two shuffles: bytes, or bits, of equal weight side by side, and back.
//!
//! There are two sets of them, which give the same: one for processors with registers of 16 bytes,
//! and one in 64-bit arithmetic for all others.

/// Calls the kernel made for values of this width; other bytes stay as they are.
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

/// Bytes whose bits are shuffled among themselves.
pub(super) const BLOCK: usize = 8192;

#[cfg(test)]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "wasm32"))]
mod tests;
