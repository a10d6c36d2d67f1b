//! The delete commits that a consolidated fragment has already applied.
//!
//! ```text
//! count u64 | names str64, such as "__commits/__3_3_…_22.del"
//! ```

use crate::format::cursor::{Decoded, Reader, Writer};

/// Decodes the section's payload.
///
/// # Errors
/// The payload is damaged.
pub fn decode(payload: &[u8]) -> Decoded<Vec<String>> {
    let mut r = Reader::new(payload);
    let n = r.u64("processed condition count")?;
    let n = r.count(n, 8, "processed conditions")?;
    let names = (0..n)
        .map(|_| Ok(r.string64("processed condition")?.to_owned()))
        .collect::<Decoded<_>>()?;
    r.finish("processed conditions")?;
    Ok(names)
}

/// Encodes the section's payload from the names, oldest first.
pub fn encode<S: AsRef<str>>(names: &[S]) -> Vec<u8> {
    let mut w = Writer::new();
    w.u64(names.len() as u64);
    for name in names {
        w.bytes64(name.as_ref().as_bytes());
    }
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_counts_are_checked() {
        assert_eq!(decode(&encode(&["a", "bc"])).unwrap(), ["a", "bc"]);
        assert!(decode(&9_u64.to_le_bytes()).is_err());
    }
}
