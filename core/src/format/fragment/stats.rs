//! Statistics of tiles and of the fragment: minima, maxima, sums and null counts.
//!
//! ```text
//! minima, maxima   size of fixed u64 | size of var u64 | fixed | var
//!                  fixed: one cell per tile, or if cells have variable length, u64 offsets into var
//! fragment         per slot: min str64 | max str64 | sum 8 bytes | null count u64
//! ```
//!
//! Sums and null counts of tiles are plain lists: see [`super::tile_index`].

use crate::format::cursor::{Decoded, Reader, Writer};

/// The minimum (or maximum) of each tile of a field; empty if the field has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TileValues {
    /// One cell per tile, or the offset of each tile's value in `var`.
    pub fixed: Vec<u8>,
    /// The values of a variable-length field, concatenated.
    pub var: Vec<u8>,
}

/// Statistics of one field over a whole fragment; empty and 0 if the field has none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldStats {
    /// The smallest value.
    pub min: Vec<u8>,
    /// The largest value.
    pub max: Vec<u8>,
    /// The sum, as the bits of an `i64`, `u64` or `f64` depending on the field's type.
    pub sum: u64,
    /// Number of null cells.
    pub null_count: u64,
}

impl TileValues {
    /// Values of a fixed-size field, one per tile.
    pub fn fixed(values: Vec<u8>) -> Self {
        Self {
            fixed: values,
            var: Vec::new(),
        }
    }

    /// Values of a variable-length field, one per tile.
    pub fn var<V: AsRef<[u8]>>(values: impl IntoIterator<Item = V>) -> Self {
        let mut new = Self::default();
        for value in values {
            new.fixed.extend_from_slice(&(new.var.len() as u64).to_le_bytes());
            new.var.extend_from_slice(value.as_ref());
        }
        new
    }

    /// Whether the field has no such statistics.
    pub fn is_empty(&self) -> bool {
        self.fixed.is_empty()
    }

    /// The value of tile `i`. `cell_bytes` is the size of a cell, or `None` for variable length.
    pub fn get(&self, i: usize, cell_bytes: Option<usize>) -> Option<&[u8]> {
        let Some(n) = cell_bytes else {
            let start = usize::try_from(self.start(i)?).ok()?;
            let end = self
                .start(i + 1)
                .map_or(Some(self.var.len()), |end| usize::try_from(end).ok())?;
            return self.var.get(start..end);
        };
        self.fixed.get(i.checked_mul(n)?..i.checked_add(1)?.checked_mul(n)?)
    }

    fn start(&self, i: usize) -> Option<u64> {
        let bytes = self.fixed.get(i.checked_mul(8)?..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }

    /// Decodes a section of minima or maxima.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode(payload: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(payload);
        let fixed = r.u64("tile minima or maxima size")?;
        let var = r.u64("variable-length minima or maxima size")?;
        let fixed = r.take_u64(fixed, "tile minima or maxima")?.to_vec();
        let var = r.take_u64(var, "variable-length minima or maxima")?.to_vec();
        r.finish("tile minima or maxima")?;
        Ok(Self { fixed, var })
    }

    /// Encodes the section's payload.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::new();
        w.u64(self.fixed.len() as u64)
            .u64(self.var.len() as u64)
            .put(&self.fixed)
            .put(&self.var);
        w.into_bytes()
    }
}

impl FieldStats {
    /// Decodes the section of fragment statistics, with one entry per slot.
    ///
    /// # Errors
    /// The payload is damaged.
    pub fn decode_all(payload: &[u8], slots: usize) -> Decoded<Vec<Self>> {
        let mut r = Reader::new(payload);
        let n = r.count(slots as u64, 32, "fragment statistics")?;
        let mut all = Vec::with_capacity(n);
        for _ in 0..n {
            let min = r.bytes64("fragment minimum")?.to_vec();
            let max = r.bytes64("fragment maximum")?.to_vec();
            let sum = r.u64("fragment sum")?;
            let null_count = r.u64("fragment null count")?;
            all.push(Self {
                min,
                max,
                sum,
                null_count,
            });
        }
        r.finish("fragment statistics")?;
        Ok(all)
    }

    /// Encodes the section's payload.
    pub fn encode_all<'a>(all: impl IntoIterator<Item = &'a Self>) -> Vec<u8> {
        let mut w = Writer::new();
        for stats in all {
            w.bytes64(&stats.min)
                .bytes64(&stats.max)
                .u64(stats.sum)
                .u64(stats.null_count);
        }
        w.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_and_variable_values_are_found_by_tile() {
        let fixed = TileValues::fixed(vec![1, 2, 3, 4]);
        assert_eq!(
            (fixed.get(1, Some(2)), fixed.get(2, Some(2))),
            (Some(&[3, 4][..]), None)
        );
        let var = TileValues::var(["ab", "", "c"]);
        assert_eq!(var.get(0, None), Some(&b"ab"[..]));
        assert_eq!(var.get(1, None), Some(&b""[..]));
        assert_eq!(var.get(2, None), Some(&b"c"[..]));
        assert_eq!(TileValues::decode(&var.encode()).unwrap(), var);
    }

    #[test]
    fn both_sizes_precede_the_values() {
        let bytes = TileValues::var(["ab"]).encode();
        assert_eq!(
            bytes,
            [&8_u64.to_le_bytes()[..], &2_u64.to_le_bytes(), &[0; 8], b"ab"].concat()
        );
    }

    #[test]
    fn fragment_statistics_round_trip() {
        let all = [
            FieldStats {
                min: vec![1],
                max: vec![2],
                sum: 3,
                null_count: 4,
            },
            FieldStats::default(),
        ];
        assert_eq!(FieldStats::decode_all(&FieldStats::encode_all(&all), 2).unwrap(), all);
        assert!(FieldStats::decode_all(&FieldStats::encode_all(&all), 3).is_err());
    }

    #[test]
    fn an_offset_beyond_the_values_gives_none() {
        let broken = TileValues {
            fixed: vec![0xff; 8],
            var: vec![1],
        };
        assert_eq!(broken.get(0, None), None);
    }
}
