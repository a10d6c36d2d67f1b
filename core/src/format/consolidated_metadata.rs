//! Consolidated fragment metadata (`.meta`): the footers of many fragments in one generic tile.
//!
//! ```text
//! count u32 | per fragment: name str64, offset of its footer in the payload u64 | footers
//! ```

use std::ops::Range;

use super::cursor::{Decoded, Reader, Writer};
use crate::error::Malformed;
use crate::sort::sort_by_number;

/// The footer of one fragment in the payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsolidatedFooter<'a> {
    /// The fragment's folder. An absolute URI before version 9.
    pub name: &'a str,
    /// Byte range of the footer in the payload. Footers have no length field, so the range ends where the next footer
    /// starts.
    pub range: Range<usize>,
}

/// Decodes the list at the start of the payload.
///
/// # Errors
/// The payload is damaged, or a footer is outside it.
pub fn decode(payload: &[u8]) -> Decoded<Vec<ConsolidatedFooter<'_>>> {
    let mut r = Reader::new(payload);
    let n = r.u32("consolidated footer count")?;
    let n = r.count(u64::from(n), 16, "consolidated footers")?;
    let mut found = Vec::with_capacity(n);
    for _ in 0..n {
        let name = r.string64("fragment name")?;
        let at = r.offset();
        let start = r.u64("footer offset")?;
        let start = usize::try_from(start)
            .ok()
            .filter(|&s| s <= payload.len())
            .ok_or_else(|| {
                Malformed::new(
                    "footer offset",
                    at,
                    format!("{start} is beyond the {} bytes of the payload", payload.len()),
                )
            })?;
        found.push((name, start));
    }
    let mut starts: Vec<usize> = found.iter().map(|f| f.1).collect();
    sort_by_number(&mut starts, |s| *s as u64);
    let end = |start: usize| {
        let next = starts.partition_point(|&s| s <= start);
        starts.get(next).copied().unwrap_or(payload.len())
    };
    Ok(found
        .into_iter()
        .map(|(name, start)| ConsolidatedFooter {
            name,
            range: start..end(start),
        })
        .collect())
}

/// Encodes the payload from the name and footer of each fragment.
pub fn encode<'a>(footers: &[(&'a str, &'a [u8])]) -> Vec<u8> {
    let mut w = Writer::new();
    w.u32(u32::try_from(footers.len()).unwrap_or(u32::MAX));
    let mut at = 4 + footers.iter().map(|(name, _)| name.len() as u64 + 16).sum::<u64>();
    for (name, footer) in footers {
        w.bytes64(name.as_bytes()).u64(at);
        at += footer.len() as u64;
    }
    for (_, footer) in footers {
        w.put(footer);
    }
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footers_round_trip() {
        let payload = encode(&[("a", b"first"), ("bc", b"second")]);
        let back = decode(&payload).unwrap();
        let back: Vec<_> = back.iter().map(|f| (f.name, &payload[f.range.clone()])).collect();
        assert_eq!(back, [("a", &b"first"[..]), ("bc", b"second")]);
    }

    #[test]
    fn an_offset_beyond_the_payload_is_an_error() {
        let bytes = [&1_u32.to_le_bytes()[..], &0_u64.to_le_bytes(), &99_u64.to_le_bytes()].concat();
        assert_eq!(
            decode(&bytes).unwrap_err().to_string(),
            "footer offset at byte 12: 99 is beyond the 20 bytes of the payload"
        );
    }
}
