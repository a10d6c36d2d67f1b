//! Copies a box of a tile into the rows of a result that belong to it.
//!
//! A result in row- or column-major order interleaves the rows of tiles that lie side by side. So
//! that tiles can be decoded in parallel without locks, the result is first cut into its rows, and
//! each tile gets its own as mutable slices.

use crate::geometry::{Order, Span};

/// What goes into cells of a result.
pub(crate) trait Put {
    /// Writes `n` cells taken from cell `from`, `from + step`, … of the tile. `out` holds them exactly.
    fn put(&self, from: usize, step: usize, out: &mut [u8]);
}

/// The values of a tile of fixed-size cells.
#[derive(Debug)]
pub(crate) struct Values<'a> {
    pub(crate) data: &'a [u8],
    pub(crate) width: usize,
}

/// The number of the cell itself, added to `base`, as a little-endian `u64`.
#[derive(Debug)]
pub(crate) struct Ids {
    pub(crate) base: u64,
}

/// The same cell everywhere.
#[derive(Debug)]
pub(crate) struct Fill<'a>(pub(crate) &'a [u8]);

impl Put for Values<'_> {
    fn put(&self, from: usize, step: usize, out: &mut [u8]) {
        if step == 1 {
            let start = from * self.width;
            out.copy_from_slice(&self.data[start..start + out.len()]);
            return;
        }
        match self.width {
            1 => strided::<1>(self.data, from, step, out),
            2 => strided::<2>(self.data, from, step, out),
            4 => strided::<4>(self.data, from, step, out),
            8 => strided::<8>(self.data, from, step, out),
            width => {
                for (i, cell) in out.chunks_exact_mut(width).enumerate() {
                    let at = (from + i * step) * width;
                    cell.copy_from_slice(&self.data[at..at + width]);
                }
            }
        }
    }
}

fn strided<const N: usize>(data: &[u8], from: usize, step: usize, out: &mut [u8]) {
    let (cells, out) = (data.as_chunks::<N>().0, out.as_chunks_mut::<N>().0);
    let picked = cells.get(from..).unwrap_or(&[]).iter().step_by(step);
    for (cell, value) in out.iter_mut().zip(picked) {
        *cell = *value;
    }
}

impl Put for Ids {
    fn put(&self, from: usize, step: usize, out: &mut [u8]) {
        let mut id = self.base + from as u64;
        for cell in out.as_chunks_mut::<8>().0 {
            *cell = id.to_le_bytes();
            id += step as u64;
        }
    }
}

impl Put for Fill<'_> {
    fn put(&self, _from: usize, _step: usize, out: &mut [u8]) {
        fill(out, self.0);
    }
}

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

/// A box of a tile, and the order of its cells in the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TileBoxShape {
    /// First cell along each dimension, counted from the tile's.
    pub(crate) at: Vec<u64>,
    /// Cells along each dimension.
    pub(crate) len: Vec<u64>,
    /// Order of the result.
    pub(crate) order: Order,
    /// How many of the fastest dimensions make up one row: one run of the result.
    pub(crate) row_dims: usize,
}

impl TileBoxShape {
    /// Cells in a row.
    pub(crate) fn row_cells(&self) -> u64 {
        self.order
            .fast_to_slow(self.len.len())
            .take(self.row_dims)
            .map(|d| self.len[d])
            .product()
    }

    /// How many rows.
    #[cfg(test)]
    pub(crate) fn rows(&self) -> u64 {
        self.order
            .fast_to_slow(self.len.len())
            .skip(self.row_dims)
            .map(|d| self.len[d])
            .product()
    }

    /// Puts the cells of this box that are inside `inside` (counted from the tile's first cell) into
    /// `rows`, whose cells are `width` bytes. `strides` are the tile's.
    pub(crate) fn paint(&self, put: &impl Put, strides: &[u64], inside: &[Span], rows: &mut [&mut [u8]], width: usize) {
        let n = self.len.len();
        let mut part = Vec::with_capacity(n);
        for (span, (&at, &len)) in inside.iter().zip(self.at.iter().zip(&self.len)) {
            let first = span.first.max(at);
            let last = span.last.min(at + len - 1);
            if first > last {
                return;
            }
            part.push((first - at, last - first + 1));
        }
        let dims: Vec<usize> = self.order.slow_to_fast(n).collect();
        let (outer, inner) = dims.split_at(n - self.row_dims.min(n));
        let from: u64 = (0..n).map(|d| (self.at[d] + part[d].0) * strides[d]).sum();

        let mut row_loops = Vec::with_capacity(outer.len());
        let (mut row, mut step) = (0, 1);
        for &d in outer.iter().rev() {
            row += part[d].0 * step;
            row_loops.push(Loop {
                count: part[d].1,
                from: strides[d],
                to: step,
            });
            step *= self.len[d];
        }
        let mut cell_loops: Vec<Loop> = Vec::with_capacity(inner.len());
        let (mut cell, mut step) = (0, 1);
        for &d in inner.iter().rev() {
            cell += part[d].0 * step;
            let next = Loop {
                count: part[d].1,
                from: strides[d],
                to: step,
            };
            step *= self.len[d];
            match cell_loops.last_mut() {
                _ if next.count == 1 => {}
                Some(last) if last.count * last.from == next.from && last.count * last.to == next.to => {
                    last.count *= next.count
                }
                _ => cell_loops.push(next),
            }
        }
        let (run, rest) = match cell_loops.split_first() {
            Some((run, rest)) if run.to == 1 => (*run, rest),
            _ => (
                Loop {
                    count: 1,
                    from: 1,
                    to: 1,
                },
                &cell_loops[..],
            ),
        };
        walk(&row_loops, from, row, &mut |from, row| {
            let Some(out) = usize::try_from(row).ok().and_then(|row| rows.get_mut(row)) else {
                return;
            };
            walk(rest, from, cell, &mut |from, cell| {
                let start = cell as usize * width;
                put.put(
                    from as usize,
                    run.from as usize,
                    &mut out[start..start + run.count as usize * width],
                );
            });
        });
    }
}

/// A loop that steps in the tile and in the result.
#[derive(Debug, Clone, Copy)]
struct Loop {
    count: u64,
    from: u64,
    to: u64,
}

/// Runs the loops, fastest first, and calls `body` with the places they come to.
fn walk(loops: &[Loop], from: u64, to: u64, body: &mut impl FnMut(u64, u64)) {
    match loops.split_last() {
        None => body(from, to),
        Some((slowest, rest)) => {
            for i in 0..slowest.count {
                walk(rest, from + i * slowest.from, to + i * slowest.to, body);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paints a box of a 4 × 5 tile holding 0, 1, 2, … in `tile` order.
    fn painted(tile: Order, order: Order, row_dims: usize, at: [u64; 2], len: [u64; 2], inside: [Span; 2]) -> Vec<u8> {
        let data: Vec<u8> = (0..20).flat_map(|v| [v, v]).collect();
        let shape = TileBoxShape {
            at: at.to_vec(),
            len: len.to_vec(),
            order,
            row_dims,
        };
        let mut out = vec![99; (len[0] * len[1] * 2) as usize];
        let mut rows: Vec<&mut [u8]> = out.chunks_mut(shape.row_cells() as usize * 2).collect();
        assert_eq!(rows.len() as u64, shape.rows());
        shape.paint(
            &Values { data: &data, width: 2 },
            &tile.strides(&[4, 5]),
            &inside,
            &mut rows,
            2,
        );
        out.chunks(2).map(|c| c[0]).collect()
    }

    #[test]
    fn boxes_arrive_in_either_order() {
        let all = [Span { first: 0, last: 3 }, Span { first: 0, last: 4 }];
        assert_eq!(
            painted(Order::Row, Order::Row, 1, [1, 2], [2, 3], all),
            [7, 8, 9, 12, 13, 14]
        );
        assert_eq!(
            painted(Order::Row, Order::Row, 2, [1, 0], [2, 5], all),
            [5, 6, 7, 8, 9, 10, 11, 12, 13, 14]
        );
        assert_eq!(
            painted(Order::Row, Order::Col, 1, [1, 2], [2, 3], all),
            [7, 12, 8, 13, 9, 14]
        );
        assert_eq!(painted(Order::Col, Order::Row, 2, [0, 0], [2, 2], all), [0, 4, 1, 5]);
        assert_eq!(painted(Order::Col, Order::Col, 1, [1, 1], [2, 2], all), [5, 6, 9, 10]);
        assert_eq!(painted(Order::Row, Order::Row, 2, [0, 3], [4, 1], all), [3, 8, 13, 18]);
    }

    #[test]
    fn only_what_is_inside_is_touched() {
        let inside = [Span { first: 2, last: 9 }, Span { first: 0, last: 3 }];
        assert_eq!(
            painted(Order::Row, Order::Row, 1, [1, 2], [2, 3], inside),
            [99, 99, 99, 12, 13, 99]
        );
        assert_eq!(
            painted(Order::Row, Order::Row, 2, [1, 0], [2, 5], inside),
            [99, 99, 99, 99, 99, 10, 11, 12, 13, 99]
        );
        let outside = [Span { first: 0, last: 0 }, Span { first: 0, last: 4 }];
        assert_eq!(painted(Order::Row, Order::Row, 1, [1, 2], [1, 1], outside), [99]);
    }

    #[test]
    fn fills_repeat_the_cell() {
        let mut out = [0; 7];
        fill(&mut out, &[1, 2, 3]);
        assert_eq!(out, [1, 2, 3, 1, 2, 3, 1]);
        fill(&mut out, &[5, 5]);
        assert_eq!(out, [5; 7]);
        let mut ids = [0; 16];
        Ids { base: 10 }.put(2, 3, &mut ids);
        assert_eq!(bytemuck::pod_collect_to_vec::<u8, u64>(&ids), [12, 15]);
    }
}
