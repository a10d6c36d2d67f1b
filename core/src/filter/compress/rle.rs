//! Run-length encoding of whole cells: `cell | run length u16, big-endian`. Runs have 1 to 65535 cells.

use crate::error::Malformed;
use crate::format::cursor::Decoded;

const RUN_BYTES: usize = 2;

/// Appends the runs of `data`.
pub(super) fn pack(cell_bytes: usize, data: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    if !data.len().is_multiple_of(cell_bytes) {
        let why = format!(
            "{} bytes are not a whole number of {cell_bytes}-byte cells; in a new array, put this filter first",
            data.len()
        );
        return Err(Malformed::unsupported("rle", why));
    }
    let mut rest = data;
    while let Some(cell) = rest.get(..cell_bytes) {
        let run = run_length(cell, rest, usize::from(u16::MAX));
        out.extend_from_slice(cell);
        out.extend_from_slice(&u16::try_from(run).unwrap_or(u16::MAX).to_be_bytes());
        rest = rest.get(run * cell_bytes..).unwrap_or(&[]);
    }
    Ok(())
}

/// Number of cells at the start of `rest` that equal `cell`, up to `most`.
fn run_length(cell: &[u8], rest: &[u8], most: usize) -> usize {
    let cells = rest.chunks_exact(cell.len()).take(most);
    match *cell {
        [a] => rest.iter().take(most).take_while(|b| **b == a).count(),
        [a, b] => cells.take_while(|c| **c == [a, b]).count(),
        [a, b, c, d] => cells.take_while(|x| **x == [a, b, c, d]).count(),
        [a, b, c, d, e, f, g, h] => cells.take_while(|x| **x == [a, b, c, d, e, f, g, h]).count(),
        _ => cells.take_while(|c| *c == cell).count(),
    }
}

/// Expands the runs in `data` into `out`.
pub(super) fn unpack(cell_bytes: usize, data: &[u8], out: &mut [u8]) -> Decoded<()> {
    let record_bytes = cell_bytes.saturating_add(RUN_BYTES);
    let records = data.chunks_exact(record_bytes);
    if !records.remainder().is_empty() {
        return Err(Malformed::new(
            "rle",
            0,
            format!(
                "{} bytes are not a whole number of {}-byte runs",
                data.len(),
                record_bytes
            ),
        ));
    }
    let (expected, mut rest) = (out.len(), out);
    for record in records {
        let Some((cell, run)) = record.split_last_chunk::<RUN_BYTES>() else {
            continue;
        };
        let bytes = usize::from(u16::from_be_bytes(*run)).saturating_mul(cell_bytes);
        let Some((to, later)) = std::mem::take(&mut rest).split_at_mut_checked(bytes) else {
            return Err(Malformed::new(
                "rle",
                0,
                format!("unpacks to more than {expected} bytes"),
            ));
        };
        repeat(cell, to);
        rest = later;
    }
    if rest.is_empty() {
        return Ok(());
    }
    Err(Malformed::new(
        "rle",
        0,
        format!("unpacks to {} bytes less than expected", rest.len()),
    ))
}

/// Fills `to`, a whole number of cells, with `cell`.
fn repeat(cell: &[u8], to: &mut [u8]) {
    if let [byte] = cell {
        return to.fill(*byte);
    }
    let Some(first) = to.get_mut(..cell.len()) else { return };
    first.copy_from_slice(cell);
    let mut filled = cell.len();
    while filled < to.len() {
        let more = filled.min(to.len() - filled);
        to.copy_within(..more, filled);
        filled += more;
    }
}
