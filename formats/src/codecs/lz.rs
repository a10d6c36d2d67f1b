//! LZF and BloscLZ: literal bytes, and copies of bytes a short way back.
//!
//! No library: the crate `lzf` is deprecated, and BloscLZ comes only with C-Blosc.

use anyhow::{Context as _, Result, ensure};

/// The longest distance that BloscLZ stores in 13 bits.
const BLOSC_NEAR: usize = 8191;

/// Decodes LZF, the filter of h5py.
///
/// ```text
/// 000nnnnn           n + 1 literal bytes
/// nnnddddd dddddddd  copy n + 2 bytes from d + 1 bytes back; if n is 7, a byte before the second adds to it
/// ```
pub(crate) fn lzf(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut input = Input(data);
    let mut out = Output::new(limit);
    while !input.0.is_empty() {
        let control = input.byte()?;
        if control < 32 {
            out.literal(input.bytes(control + 1)?)?;
            continue;
        }
        let mut length = control >> 5;
        if length == 7 {
            length += input.byte()?;
        }
        let back = (control & 31) << 8 | input.byte()?;
        out.copy(back + 1, length + 2)?;
    }
    Ok(out.bytes)
}

/// Decodes BloscLZ.
///
/// ```text
/// 000nnnnn               n + 1 literal bytes; the first control byte is always one of these
/// nnnddddd … dddddddd    copy n + 2 bytes from d + 1 bytes back; if n is 7, bytes add to it until one is not 255
/// nnn11111 … 11111111 d d   the same from d + 8192 bytes back
/// ```
pub(super) fn blosclz(data: &[u8], limit: usize) -> Result<Vec<u8>> {
    let mut input = Input(data);
    let mut out = Output::new(limit);
    let mut control = input.byte()? & 31;
    loop {
        if control < 32 {
            out.literal(input.bytes(control + 1)?)?;
        } else {
            let mut length = control >> 5;
            if length == 7 {
                loop {
                    let more = input.byte()?;
                    length += more;
                    if more != 255 {
                        break;
                    }
                }
            }
            let mut back = (control & 31) << 8 | input.byte()?;
            if back == BLOSC_NEAR {
                back += input.byte()? << 8;
                back += input.byte()?;
            }
            out.copy(back + 1, length + 2)?;
        }
        if input.0.is_empty() {
            return Ok(out.bytes);
        }
        control = input.byte()?;
    }
}

/// The bytes that are still to decode.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> Result<usize> {
        let (first, rest) = self.0.split_first().context("compressed data is cut short")?;
        self.0 = rest;
        Ok(usize::from(*first))
    }

    fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).context("compressed data is cut short")?;
        self.0 = rest;
        Ok(bytes)
    }
}

/// The decoded bytes.
struct Output {
    bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
        }
    }

    fn literal(&mut self, bytes: &[u8]) -> Result<()> {
        self.room(bytes.len())?;
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Repeats what was written `back` bytes ago, which may include what this copy writes.
    fn copy(&mut self, back: usize, count: usize) -> Result<()> {
        self.room(count)?;
        let start = self.bytes.len().checked_sub(back);
        let start = start.context("compressed data refers to bytes before its start")?;
        let mut left = count;
        while left > 0 {
            let end = self.bytes.len().min(start + left);
            self.bytes.extend_from_within(start..end);
            left -= end - start;
        }
        Ok(())
    }

    fn room(&self, count: usize) -> Result<()> {
        let limit = self.limit;
        ensure!(
            count <= limit.saturating_sub(self.bytes.len()),
            "compressed data is longer than {limit} bytes"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_may_overlap() {
        // "ab", then 7 bytes from 2 back.
        assert_eq!(lzf(&[1, b'a', b'b', 5 << 5, 1], 9).unwrap(), b"ababababa");
        assert_eq!(blosclz(&[1, b'a', b'b', 5 << 5, 1], 9).unwrap(), b"ababababa");
        // 7 + 255 + 2 + 2 bytes.
        let long = blosclz(&[0, b'x', 7 << 5, 255, 2, 0], 1000).unwrap();
        assert_eq!(long, vec![b'x'; 267]);
        assert_eq!(lzf(&[0, b'x', 7 << 5, 255, 0], 1000).unwrap(), vec![b'x'; 265]);
    }

    #[test]
    fn damage_is_an_error() {
        for bad in [&[5, 1][..], &[0, b'x', 32, 4], &[0, b'x', 7 << 5]] {
            assert!(lzf(bad, 100).is_err() && blosclz(bad, 100).is_err(), "{bad:?}");
        }
        assert!(lzf(&[1, b'a', b'b', 5 << 5, 1], 8).is_err());
    }
}
