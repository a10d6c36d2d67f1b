//! Fills cells that were never written.

/// Fills `out` with copies of `cell`.
pub(crate) fn fill(out: &mut [u8], cell: &[u8]) {
    if let Some((&first, true)) = cell
        .first()
        .map(|f| (f, cell.iter().all(|b| b == cell.first().unwrap_or(&0))))
    {
        out.fill(first);
        return;
    }
    let n = cell.len().min(out.len());
    if n == 0 {
        return;
    }
    out[..n].copy_from_slice(&cell[..n]);
    let mut done = n;
    while done < out.len() {
        let more = done.min(out.len() - done);
        out.copy_within(..more, done);
        done += more;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_repeats_the_cell() {
        let mut out = [0; 7];
        fill(&mut out, &[1, 2, 3]);
        assert_eq!(out, [1, 2, 3, 1, 2, 3, 1]);
        fill(&mut out, &[5, 5]);
        assert_eq!(out, [5; 7]);
    }
}
