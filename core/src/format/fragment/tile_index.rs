//! Lists of one number per tile: offsets in data files, sizes of variable-length tiles, sums, null counts.
//!
//! ```text
//! count u64 | values u64
//! ```

use crate::format::cursor::{Decoded, Reader, Writer};

/// Decodes a section's payload.
///
/// # Errors
/// The payload is damaged.
pub fn decode(payload: &[u8]) -> Decoded<Vec<u64>> {
    let mut r = Reader::new(payload);
    let n = r.u64("tile count")?;
    let values = r.u64s(n, "tile index")?.collect();
    r.finish("tile index")?;
    Ok(values)
}

/// Encodes a section's payload.
pub fn encode(values: &[u64]) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(values.len() as u64).u64s(values);
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_round_trip_and_counts_are_checked() {
        assert_eq!(decode(&encode(&[0, 7])).unwrap(), [0, 7]);
        let e = decode(&[0xff; 12]).unwrap_err();
        assert_eq!(
            e.to_string(),
            "tile index at byte 8: 18446744073709551615 items cannot fit in the 4 bytes left"
        );
    }
}
