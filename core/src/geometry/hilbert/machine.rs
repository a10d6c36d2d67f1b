//! Skilling's transform of few dimensions as a machine that reads several bits of each coordinate in one step.
//!
//! What the higher bits of a point do to its lower ones is to swap and to mirror its coordinates. With few
//! dimensions there are few such states, so that a table has for each of them, and for each step's bits of the
//! coordinates, the bits of the position and the next state.

use std::sync::LazyLock;

use super::curve::bits;

/// The machine of 2 dimensions.
pub(super) static SQUARE: Machine<2, 4> = Machine::new();

/// The machine of 3 dimensions.
pub(super) static CUBE: Machine<3, 3> = Machine::new();

/// Positions of points in `N` dimensions, of which a step reads `STEP` bits each.
///
/// An entry of the table is a step's bits of the position, and above them the next state. It is found by the bits of
/// the coordinates, those of the first highest, and above them the state, which is 0 before the first step.
pub(super) struct Machine<const N: usize, const STEP: u32>(LazyLock<Vec<u16>>);

impl<const N: usize, const STEP: u32> Machine<N, STEP> {
    /// Bits that a step reads, and writes.
    const WIDTH: u32 = N as u32 * STEP;
    const STEPS: u32 = bits(N).div_ceil(STEP);

    const fn new() -> Self {
        Self(LazyLock::new(Self::table))
    }

    /// The positions of points; `coordinates` has those along the first dimension, then those along the second, …
    pub(super) fn positions(&self, coordinates: &[u64], points: usize) -> Vec<u64> {
        let entries = self.0.as_slice();
        let along: [&[u64]; N] = std::array::from_fn(|d| &coordinates[d * points..][..points]);
        let position = |i: usize| {
            let (mut position, mut entry) = (0, 0_u16);
            for step in (0..Self::STEPS).rev() {
                let of_step = |v: u64| (v >> (step * STEP)) & ((1 << STEP) - 1);
                let read = along.iter().fold(0, |read, v| (read << STEP) | of_step(v[i]));
                let at = usize::from(entry >> Self::WIDTH << Self::WIDTH) | read as usize;
                entry = entries.get(at).copied().unwrap_or(0);
                position = (position << Self::WIDTH) | (u64::from(entry) & ((1 << Self::WIDTH) - 1));
            }
            position
        };
        (0..points).map(position).collect()
    }

    fn table() -> Vec<u16> {
        // The first step may read more bits than a coordinate has. Zeros at the start only turn the coordinates in
        // a circle: these here turn them to where those above the coordinates' bits bring them back.
        let above = (Self::STEPS * STEP - bits(N)) as usize % N;
        let mut first = State::<N>::START;
        (0..(N - above) % N).for_each(|_| _ = first.read([false; N]));

        let (mut states, mut entries) = (vec![first], Vec::new());
        while let Some(&state) = states.get(entries.len() >> Self::WIDTH) {
            for read in 0..1_u32 << Self::WIDTH {
                let (mut state, mut out) = (state, 0);
                for bit in (0..STEP).rev() {
                    let set = |d: usize| (read >> ((N - 1 - d) as u32 * STEP + bit)) & 1 == 1;
                    out = (out << N) | state.read(std::array::from_fn(set));
                }
                let known = states.iter().position(|s| *s == state);
                let next = known.unwrap_or_else(|| {
                    states.push(state);
                    states.len() - 1
                });
                entries.push((next << Self::WIDTH) as u16 | out);
            }
        }
        entries
    }
}

/// What became of the coordinates' lower bits: coordinate `i` is now that of dimension `from[i]`, and mirrored
/// where `mirrored[i]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State<const N: usize> {
    from: [usize; N],
    mirrored: [bool; N],
    /// Whether the position's bits of this level are mirrored.
    odd: bool,
}

impl<const N: usize> State<N> {
    const START: Self = {
        let mut from = [0; N];
        let mut i = 0;
        while i < N {
            from[i] = i;
            i += 1;
        }
        Self {
            from,
            mirrored: [false; N],
            odd: false,
        }
    };

    /// Reads one bit of each coordinate. Returns the position's bits, that of the first coordinate highest.
    fn read(&mut self, bits: [bool; N]) -> u16 {
        let (mut out, mut bit) = (0, self.odd);
        let before = *self;
        for i in 0..N {
            let set = bits[before.from[i]] != before.mirrored[i];
            if set {
                self.mirrored[0] = !self.mirrored[0];
            } else {
                self.from.swap(0, i);
                self.mirrored.swap(0, i);
            }
            bit ^= set;
            out = (out << 1) | u16::from(bit);
        }
        self.odd = bit;
        out
    }
}
