//! Run-length encoding of whole strings: `run | length | text`.

use super::strings::{Header, Strings, Width, cells};
use crate::error::Malformed;
use crate::filter::chunk::ChunkHeaders;
use crate::format::cursor::{Decoded, Reader};

/// Appends the runs of the strings in `data`.
///
/// # Errors
/// The tile is longer than 4 GiB.
pub(in crate::filter) fn encode(
    headers: &mut ChunkHeaders,
    data: &[u8],
    offsets: &[u64],
    out: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let mut runs: Vec<(u64, &[u8])> = Vec::new();
    for text in cells(data, offsets) {
        match runs.last_mut() {
            Some((run, same)) if *same == text => *run += 1,
            _ => runs.push((1, text)),
        }
    }
    let width = Width::of(runs.iter().map(|(run, _)| *run).max().unwrap_or(0));
    let length_width = Width::of(runs.iter().map(|(_, text)| text.len() as u64).max().unwrap_or(0));
    for (run, text) in runs {
        width.put(run, out);
        length_width.put(text.len() as u64, out);
        out.extend_from_slice(text);
    }
    let header = Header::write(
        data.len(),
        out.len(),
        offsets.len().saturating_sub(1),
        width,
        length_width,
    )?;
    headers.put(header.into_bytes());
    Ok(())
}

/// Appends the strings packed in `data`.
///
/// # Errors
/// The runs are damaged, or the strings exceed the limits of `out`.
pub(in crate::filter) fn decode(r: &mut Reader<'_>, data: &[u8], out: &mut Strings) -> Decoded<()> {
    let header = Header::read(r)?;
    let before = (out.bytes.len(), out.offsets.len());
    let mut r = Reader::new(header.packed(data)?);
    while !r.is_done() {
        let run = header.width.get(&mut r, "run of a string")?;
        let length = header.length_width.get(&mut r, "length of a string")?;
        out.push(r.take_u64(length, "string")?, run)?;
    }
    header.check(out, before)
}
