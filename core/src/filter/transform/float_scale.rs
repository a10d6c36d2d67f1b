//! Float scaling: stores floats as integers `round((value - offset) / scale)` of 1, 2, 4 or 8 bytes. Lossy.

use super::{all_whole, parts_header};
use crate::datatype::Physical;
use crate::error::Malformed;
use crate::filter::chunk::{ChunkHeaders, filled, split, split_mut, whole};
use crate::filter::word::{Word, with_width};
use crate::format::cursor::{Decoded, Reader};

/// The checked options of the filter.
#[derive(Debug, Clone, Copy)]
pub(in crate::filter) struct Scaling {
    /// Factor that stored integers are multiplied by.
    pub(in crate::filter) scale: f64,
    /// Offset that is added after multiplication.
    pub(in crate::filter) offset: f64,
    /// Type of the stored integers.
    pub(in crate::filter) stored: Physical,
    /// Whether values are `f64` rather than `f32`.
    pub(in crate::filter) double: bool,
}

impl Scaling {
    const fn width(&self) -> usize {
        if self.double { 8 } else { 4 }
    }

    /// The number of bytes that [`Scaling::decode`] produces from `stored_bytes`.
    pub(in crate::filter) const fn plain_bytes(&self, stored_bytes: u64) -> u64 {
        (stored_bytes / self.stored.size() as u64).saturating_mul(self.width() as u64)
    }

    /// Appends the scaled integers of `data`. Values outside their range are clamped.
    ///
    /// # Errors
    /// `data` is not a whole number of values.
    pub(in crate::filter) fn encode(
        &self,
        headers: &mut ChunkHeaders,
        data: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        whole(data.len(), self.width(), "float scale")?;
        let stored_bytes = data.len() / self.width() * self.stored.size();
        headers.put(parts_header(&[stored_bytes])?);
        out.resize(stored_bytes, 0);
        with_width!(signed self.stored.size(), T => self.scale_down::<T>(data, out));
        Ok(())
    }

    /// Restores the values from the integers in `data`.
    ///
    /// # Errors
    /// The parts have the wrong size.
    pub(in crate::filter) fn decode(&self, r: &mut Reader<'_>, mut data: &[u8], mut out: &mut [u8]) -> Decoded<()> {
        let n = r.u32("number of parts")?;
        let n = r.count(u64::from(n), 4, "parts")?;
        for _ in 0..n {
            let from = split(&mut data, u64::from(r.u32("length of a part")?), "part")?;
            all_whole(from.len(), self.stored.size(), "float scale")?;
            let to = split_mut(&mut out, self.plain_bytes(from.len() as u64), "part")?;
            with_width!(signed self.stored.size(), T => self.scale_up::<T>(from, to));
        }
        filled(data, "float scale")?;
        filled(out, "float scale")
    }

    // Like libtiledb, computes in the type of the values.
    fn scale_down<T: Word>(&self, data: &[u8], out: &mut [u8]) {
        let greatest = (1_i128 << (T::BYTES * 8 - 1)) - 1;
        let integer = |rounded: f64| T::narrow((rounded as i128).clamp(-greatest - 1, greatest) as u64);
        let to = out.chunks_exact_mut(T::BYTES);
        if self.double {
            for (from, to) in data.chunks_exact(8).zip(to) {
                let value = f64::from_le_bytes(from.try_into().unwrap_or_default());
                integer(((value - self.offset) / self.scale).round()).store(to);
            }
        } else {
            let (offset, scale) = (self.offset as f32, self.scale as f32);
            for (from, to) in data.chunks_exact(4).zip(to) {
                let value = f32::from_le_bytes(from.try_into().unwrap_or_default());
                integer(f64::from(((value - offset) / scale).round())).store(to);
            }
        }
    }

    // The result is rounded to the nearest float.
    fn scale_up<T: Word>(&self, data: &[u8], out: &mut [u8]) {
        let from = data.chunks_exact(T::BYTES).map(|v| T::load(v).wide() as i64);
        if self.double {
            for (value, to) in from.zip(out.chunks_exact_mut(8)) {
                to.copy_from_slice(&(self.scale * value as f64 + self.offset).to_le_bytes());
            }
        } else {
            for (value, to) in from.zip(out.chunks_exact_mut(4)) {
                let value = (self.scale * f64::from(value as f32) + self.offset) as f32;
                to.copy_from_slice(&value.to_le_bytes());
            }
        }
    }
}
