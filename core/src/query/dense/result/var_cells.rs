//! Variable-length cells of a result, copied part by part from the tiles that hold them.

use std::sync::Arc;

use super::buffers::{reserved, room};
use crate::column::Column;
use crate::cpu::{Cpu, PART};
use crate::error::{Error, Result};

/// Variable-length cells, stored contiguously.
#[derive(Debug)]
pub(super) struct VarCells {
    /// The bytes of the cells, followed by spare memory.
    data: Vec<u8>,
    /// The start of each cell and the end of the last one, followed by spare memory.
    offsets: Vec<u64>,
    bytes: usize,
    cells: usize,
}

impl VarCells {
    /// Starts without cells and with capacity for `cells`, in the given memory if possible.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(super) fn new(cells: usize, data: Vec<u8>, offsets: Vec<u64>) -> Result<Self> {
        let mut offsets = room(offsets, cells.saturating_add(1), 1)?;
        if let Some(first) = offsets.first_mut() {
            *first = 0;
        }
        Ok(Self {
            data,
            offsets,
            bytes: 0,
            cells: 0,
        })
    }

    /// Appends cells. Each id consists of a tile number in the upper 32 bits and a cell number in the lower 32 bits. An
    /// id whose tile does not exist means `fill`.
    ///
    /// # Errors
    /// [`Error::NoMemory`].
    pub(super) fn append(&mut self, ids: &[u8], tiles: &[Arc<Column>], fill: &[u8], cpu: Cpu) -> Result<()> {
        let source = CellSource { tiles, fill };
        let ids = ids.as_chunks::<8>().0;
        let ends = self.offsets.get_mut(self.cells + 1..).unwrap_or_default();
        let parts = ids.chunks(PART).zip(ends.chunks_mut(PART)).collect();
        let parts = cpu.try_map_owned(parts, |(ids, ends): (&[[u8; 8]], &mut [u64])| {
            let bytes = source.ends(ids, ends);
            Ok::<_, Error>((ids, ends, bytes))
        })?;
        let total = parts.iter().fold(self.bytes as u64, |n, p| n.saturating_add(p.2));
        let mut base = self.bytes;
        let mut rest = grown(&mut self.data, base, total)?;
        let mut jobs = Vec::with_capacity(parts.len());
        for (ids, ends, bytes) in parts {
            let (out, later) = rest.split_at_mut(bytes as usize);
            rest = later;
            jobs.push((ids, ends, out, base as u64));
            base += bytes as usize;
        }
        cpu.try_map_owned(jobs, |(ids, ends, out, base)| {
            ends.iter_mut().for_each(|end| *end += base);
            source.copy(ids, out);
            Ok::<_, Error>(())
        })?;
        self.bytes = base;
        self.cells += ids.len();
        Ok(())
    }

    /// The bytes of the cells, and their offsets with the end of the last cell.
    pub(super) fn into_parts(mut self) -> (Vec<u8>, Vec<u64>) {
        self.data.truncate(self.bytes);
        self.offsets.truncate(self.cells + 1);
        (self.data, self.offsets)
    }
}

/// The bytes of `data` from `used` to `total`.
fn grown(data: &mut Vec<u8>, used: usize, total: u64) -> Result<&mut [u8]> {
    let end = usize::try_from(total).unwrap_or(usize::MAX);
    if end > data.capacity() {
        let mut larger = reserved(end, 1)?;
        larger.extend_from_slice(data.get(..used).unwrap_or_default());
        *data = larger;
    }
    if end > data.len() {
        data.resize(end, 0);
    }
    Ok(data.get_mut(used..end).unwrap_or_default())
}

/// The tiles that cells are copied from.
struct CellSource<'a> {
    tiles: &'a [Arc<Column>],
    fill: &'a [u8],
}

impl<'a> CellSource<'a> {
    /// Writes the end of each cell, relative to the start of the first, and returns the last end.
    fn ends(&self, ids: &[[u8; 8]], ends: &mut [u64]) -> u64 {
        let (mut end, mut rest) = (0_u64, ends);
        for (id, n) in runs(ids) {
            let (here, later) = rest.split_at_mut(n.min(rest.len()));
            rest = later;
            let Some((_, starts)) = self.tile(id, n) else {
                for out in here {
                    end = end.saturating_add(self.fill.len() as u64);
                    *out = end;
                }
                continue;
            };
            let first = starts.first().copied().unwrap_or(0);
            for (out, stop) in here.iter_mut().zip(starts.iter().skip(1)) {
                *out = end.saturating_add(stop - first);
            }
            end = here.last().copied().unwrap_or(end);
        }
        end
    }

    /// Copies the cells to `out`, which they fill.
    fn copy(&self, ids: &[[u8; 8]], out: &mut [u8]) {
        let mut rest = out;
        for (id, n) in runs(ids) {
            let found = match self.tile(id, n) {
                Some((data, &[first, .., last])) => data.get(first as usize..last as usize).unwrap_or(&[]),
                Some(_) => &[],
                None => self.fill,
            };
            let (to, later) = rest.split_at_mut(found.len().min(rest.len()));
            to.copy_from_slice(&found[..to.len()]);
            rest = later;
        }
    }

    /// The bytes of a tile, and the offsets of `n` of its cells with the end of the last one.
    fn tile(&self, id: u64, n: usize) -> Option<(&'a [u8], &'a [u64])> {
        let tile = usize::try_from(id >> 32).ok().and_then(|t| self.tiles.get(t))?;
        let start = (id & u64::from(u32::MAX)) as usize;
        let starts = tile.offsets.as_deref().unwrap_or(&[]).get(start..=start + n);
        Some((&tile.data, starts.unwrap_or(&[])))
    }
}

/// Splits ids into runs of consecutive cells of a tile, which are copied together: the first id and the number of
/// cells.
fn runs(ids: &[[u8; 8]]) -> impl Iterator<Item = (u64, usize)> {
    let mut rest = ids;
    std::iter::from_fn(move || {
        let first = u64::from_le_bytes(*rest.first()?);
        let follows = |(next, n): &(&[u8; 8], u64)| first.checked_add(*n) == Some(u64::from_le_bytes(**next));
        let n = rest.iter().zip(0..).take_while(follows).count();
        rest = rest.get(n..)?;
        Some((first, n))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Datatype;

    const NO_CELL: u64 = u64::MAX;

    fn tile(cells: &[&str]) -> Arc<Column> {
        Arc::new(Column::from_cells(Datatype::StringAscii, cells))
    }

    fn id(tile: u64, cell: u64) -> u64 {
        (tile << 32) + cell
    }

    fn bytes(ids: &[u64]) -> Vec<u8> {
        ids.iter().flat_map(|i| i.to_le_bytes()).collect()
    }

    #[test]
    fn ids_become_cells() {
        let tiles = [tile(&["a", "bb", ""]), tile(&["ccc", "d"])];
        // In memory that held a longer result.
        let mut cells = VarCells::new(9, vec![b'x'; 100], vec![7; 30]).unwrap();
        let first = [id(0, 0), id(0, 1), id(1, 1), NO_CELL, NO_CELL, id(0, 2), id(1, 0)];
        cells.append(&bytes(&first), &tiles, b"?!", Cpu::Inline).unwrap();
        cells.append(&[], &tiles, b"?!", Cpu::Inline).unwrap();
        let second = [id(0, 1), NO_CELL];
        cells.append(&bytes(&second), &tiles[1..], b"?!", Cpu::Inline).unwrap();
        let (data, offsets) = cells.into_parts();
        assert_eq!(data, b"abbd?!?!cccd?!");
        assert_eq!(offsets, [0, 1, 3, 4, 6, 8, 8, 11, 12, 14]);
    }

    #[test]
    fn parts_are_joined_in_order() {
        let words: Vec<String> = (0..40_000_usize).map(|i| "w".repeat(i % 5) + &i.to_string()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let order: Vec<usize> = (0..words.len()).map(|i| i * 7919 % words.len()).collect();
        let tiles = [tile(&words)];
        let wanted: String = order.iter().map(|&i| words[i]).collect();
        let ids: Vec<u64> = order.iter().map(|&i| i as u64).collect();
        for cpu in [Cpu::Inline, Cpu::default()] {
            let mut cells = VarCells::new(words.len(), Vec::new(), Vec::new()).unwrap();
            for ids in ids.chunks(25_000) {
                cells.append(&bytes(ids), &tiles, b"?", cpu).unwrap();
            }
            let (data, offsets) = cells.into_parts();
            assert!(data == wanted.as_bytes());
            for (i, &word) in order.iter().enumerate() {
                assert_eq!(offsets[i + 1] - offsets[i], words[word].len() as u64);
            }
        }
    }
}
