//! Shuffle kernels with 16-byte vectors.
//!
//! All bytes are moved by one operation: interleaving the first half of a group of vectors with the second half. It
//! rotates the index bits of the bytes by one. A few rounds bring bytes of equal significance together, or back. Bits
//! are exchanged between vectors like in a matrix transposition.

use wide::{u8x16, u64x2};

/// Size of a vector in bytes.
const LANE: usize = 16;
/// Size of eight vectors for each byte of a value, for the widest values.
const COLUMN_MAX: usize = 8 * 8 * LANE;

/// Shuffles the bytes of whole values and copies the remainder. Both slices must have the same length.
pub(in crate::filter::transform) fn bytes(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [2, 4, 8], to_rows, data, out);
}

/// Undoes [`bytes`].
pub(in crate::filter::transform) fn unbytes(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [2, 4, 8], to_values, data, out);
}

/// Shuffles the bits of values in a block. The number of values must be a multiple of 8.
pub(in crate::filter::transform) fn bits(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [1, 2, 4, 8], to_bit_rows, data, out);
}

/// Undoes [`bits`].
pub(in crate::filter::transform) fn unbits(width: usize, data: &[u8], out: &mut [u8]) {
    by_width!(width, [1, 2, 4, 8], from_bit_rows, data, out);
}

fn to_rows<const W: usize>(data: &[u8], out: &mut [u8])
where
    [u8x16; W]: Lanes,
{
    let n = data.len() / W;
    let (values, tail) = data.split_at(n * W);
    let (rows, out_tail) = out.split_at_mut(n * W);
    out_tail.copy_from_slice(tail);
    let groups = values.chunks_exact(LANE * W);
    let rest = groups.remainder();
    for (i, group) in groups.enumerate() {
        for (b, row) in deinterleaved(<[u8x16; W]>::load(group)).into_iter().enumerate() {
            store(row, rows, b * n + i * LANE);
        }
    }
    let done = n - rest.len() / W;
    for (i, value) in rest.as_chunks::<W>().0.iter().enumerate() {
        for (row, byte) in rows.chunks_exact_mut(n.max(1)).zip(value) {
            if let Some(to) = row.get_mut(done + i) {
                *to = *byte;
            }
        }
    }
}

fn to_values<const W: usize>(data: &[u8], out: &mut [u8])
where
    [u8x16; W]: Lanes,
{
    let n = data.len() / W;
    let (rows, tail) = data.split_at(n * W);
    let (values, out_tail) = out.split_at_mut(n * W);
    out_tail.copy_from_slice(tail);
    let mut groups = values.chunks_exact_mut(LANE * W);
    for (i, group) in groups.by_ref().enumerate() {
        let mut x = [u8x16::ZERO; W];
        for (b, x) in x.iter_mut().enumerate() {
            *x = load(rows, b * n + i * LANE);
        }
        interleaved(x).store(group);
    }
    let rest = groups.into_remainder();
    let done = n - rest.len() / W;
    for (i, value) in rest.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        for (to, row) in value.iter_mut().zip(rows.chunks_exact(n.max(1))) {
            *to = row.get(done + i).copied().unwrap_or_default();
        }
    }
}

fn to_bit_rows<const W: usize>(data: &[u8], out: &mut [u8])
where
    [u8x16; W]: Lanes,
{
    let row = data.len() / W / 8;
    let columns = data.chunks_exact(LANE * 8 * W);
    let rest = columns.remainder();
    for (i, column) in columns.enumerate() {
        split_column::<W>(column, out, row, i * LANE);
    }
    if rest.is_empty() {
        return;
    }
    let (mut column, mut rows) = ([0; COLUMN_MAX], [0; COLUMN_MAX]);
    column.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    split_column::<W>(&column, &mut rows, LANE, 0);
    let over = rest.len() / W / 8;
    for (to, from) in out.chunks_exact_mut(row).zip(rows.chunks_exact(LANE)) {
        let from = from.iter().take(over);
        to.iter_mut()
            .skip(row - over)
            .zip(from)
            .for_each(|(to, from)| *to = *from);
    }
}

fn from_bit_rows<const W: usize>(data: &[u8], out: &mut [u8])
where
    [u8x16; W]: Lanes,
{
    let row = data.len() / W / 8;
    let mut columns = out.chunks_exact_mut(LANE * 8 * W);
    for (i, column) in columns.by_ref().enumerate() {
        join_column::<W>(data, row, i * LANE, column);
    }
    let rest = columns.into_remainder();
    if rest.is_empty() {
        return;
    }
    let (mut rows, mut column) = ([0; COLUMN_MAX], [0; COLUMN_MAX]);
    let over = rest.len() / W / 8;
    for (to, from) in rows.chunks_exact_mut(LANE).zip(data.chunks_exact(row)) {
        let from = from.iter().skip(row - over);
        to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
    }
    join_column::<W>(&rows, LANE, 0, &mut column);
    rest.iter_mut().zip(column).for_each(|(to, from)| *to = from);
}

/// Shuffles 128 values into 16 bytes of each row of bits, at offset `at` of rows of `row` bytes.
#[inline(always)]
fn split_column<const W: usize>(values: &[u8], rows: &mut [u8], row: usize, at: usize)
where
    [u8x16; W]: Lanes,
{
    let mut planes = [[u8x16::ZERO; 8]; W];
    for (k, group) in values.chunks_exact(LANE * W).take(8).enumerate() {
        for (plane, lane) in planes.iter_mut().zip(deinterleaved(<[u8x16; W]>::load(group))) {
            if let Some(to) = plane.get_mut(k) {
                *to = lane;
            }
        }
    }
    for (b, plane) in planes.into_iter().enumerate() {
        for (k, lane) in transposed(deinterleaved(plane)).into_iter().enumerate() {
            store(lane, rows, (8 * b + k) * row + at);
        }
    }
}

/// Undoes [`split_column`].
#[inline(always)]
fn join_column<const W: usize>(rows: &[u8], row: usize, at: usize, values: &mut [u8])
where
    [u8x16; W]: Lanes,
{
    let mut planes = [[u8x16::ZERO; 8]; W];
    for (b, plane) in planes.iter_mut().enumerate() {
        let lane = |k: usize| load(rows, (8 * b + k) * row + at);
        let lanes = [lane(0), lane(1), lane(2), lane(3), lane(4), lane(5), lane(6), lane(7)];
        *plane = interleaved(transposed(lanes));
    }
    for (k, group) in values.chunks_exact_mut(LANE * W).take(8).enumerate() {
        let mut x = [u8x16::ZERO; W];
        for (x, plane) in x.iter_mut().zip(&planes) {
            *x = plane.get(k).copied().unwrap_or_default();
        }
        interleaved(x).store(group);
    }
}

/// A power of two of vectors, seen as one byte sequence.
trait Lanes: Copy {
    /// Loads the vectors from bytes.
    fn load(bytes: &[u8]) -> Self;

    /// Stores the vectors to bytes.
    fn store(self, bytes: &mut [u8]);

    /// Interleaves the bytes of the first half with the bytes of the second half.
    fn zipped(self) -> Self;
}

/// Unrolled, because loops over vectors would keep them in memory.
macro_rules! lanes {
    ($n:literal: $($x:ident $i:literal)*; $($first:ident $other:ident)*) => {
        impl Lanes for [u8x16; $n] {
            #[inline(always)]
            fn load(bytes: &[u8]) -> Self {
                [$(load(bytes, $i * LANE)),*]
            }

            #[inline(always)]
            fn store(self, bytes: &mut [u8]) {
                let [$($x),*] = self;
                $(store($x, bytes, $i * LANE);)*
            }

            #[inline(always)]
            fn zipped(self) -> Self {
                let [$($x),*] = self;
                [$(u8x16::unpack_low($first, $other), u8x16::unpack_high($first, $other)),*]
            }
        }
    };
}
lanes!(2: a 0 b 1; a b);
lanes!(4: a 0 b 1 c 2 d 3; a c b d);
lanes!(8: a 0 b 1 c 2 d 3 e 4 f 5 g 6 h 7; a e b f c g d h);

impl Lanes for [u8x16; 1] {
    #[inline(always)]
    fn load(bytes: &[u8]) -> Self {
        [load(bytes, 0)]
    }

    #[inline(always)]
    fn store(self, bytes: &mut [u8]) {
        let [a] = self;
        store(a, bytes, 0);
    }

    #[inline(always)]
    fn zipped(self) -> Self {
        self
    }
}

/// Byte `j` of vector `i` of `n` becomes byte `n j + i` of the whole.
#[inline(always)]
fn interleaved<L: Lanes>(x: L) -> L {
    match size_of::<L>() / LANE {
        1 => x,
        2 => x.zipped(),
        4 => x.zipped().zipped(),
        _ => x.zipped().zipped().zipped(),
    }
}

/// Undoes [`interleaved`], by rotating by the number of bits of an index within a vector.
#[inline(always)]
fn deinterleaved<L: Lanes>(x: L) -> L {
    x.zipped().zipped().zipped().zipped()
}

/// Bit `j` of each byte of vector `i` becomes bit `i` of the same byte of vector `j`.
#[inline(always)]
fn transposed(x: [u8x16; 8]) -> [u8x16; 8] {
    let [a, b, c, d, e, f, g, h]: [u64x2; 8] = bytemuck::cast(x);
    let ([a, e], [b, f]) = (exchange::<4>(a, e, 0x0f), exchange::<4>(b, f, 0x0f));
    let ([c, g], [d, h]) = (exchange::<4>(c, g, 0x0f), exchange::<4>(d, h, 0x0f));
    let ([a, c], [b, d]) = (exchange::<2>(a, c, 0x33), exchange::<2>(b, d, 0x33));
    let ([e, g], [f, h]) = (exchange::<2>(e, g, 0x33), exchange::<2>(f, h, 0x33));
    let ([a, b], [c, d]) = (exchange::<1>(a, b, 0x55), exchange::<1>(c, d, 0x55));
    let ([e, f], [g, h]) = (exchange::<1>(e, f, 0x55), exchange::<1>(g, h, 0x55));
    bytemuck::cast([a, b, c, d, e, f, g, h])
}

/// Exchanges the high half of each `2 D` bits of `a` with the low half of `b`. `low` is the mask of the low half.
#[inline(always)]
fn exchange<const D: u32>(a: u64x2, b: u64x2, low: u8) -> [u64x2; 2] {
    let low: u64x2 = bytemuck::cast(u8x16::splat(low));
    let t = ((a >> D) ^ b) & low;
    [a ^ (t << D), b ^ t]
}

/// The vector at `at`; zeros beyond the end.
#[inline(always)]
fn load(bytes: &[u8], at: usize) -> u8x16 {
    let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
    u8x16::new(found.copied().unwrap_or_default())
}

/// Stores a vector at `at`, unless that is beyond the end.
#[inline(always)]
fn store(x: u8x16, bytes: &mut [u8], at: usize) {
    if let Some(to) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *to = x.to_array();
    }
}
