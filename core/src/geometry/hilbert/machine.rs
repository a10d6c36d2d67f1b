//! Skilling's transform for few dimensions, as a state machine that reads several bits of each coordinate per step.
//!
//! The higher bits of a point only swap and mirror the lower bits of its coordinates. In few dimensions there are few
//! such states. A table therefore maps each state and the coordinate bits of a step to position bits and the next
//! state.

use std::sync::LazyLock;

use super::curve::bits;

/// The machine for 2 dimensions.
pub(super) static SQUARE: Machine<2, 4> = Machine::new();

/// The machine for 3 dimensions.
pub(super) static CUBE: Machine<3, 3> = Machine::new();

/// Computes positions of points in `N` dimensions. Each step reads `STEP` bits of each coordinate.
///
/// A table entry holds the position bits of a step and, above them, the next state. The bits of its
/// index are, from high to low: the state, which is 0 before the first step, then the bits of the first coordinate, of
/// the second, and so on.
pub(super) struct Machine<const N: usize, const STEP: u32>(LazyLock<Vec<u16>>);

impl<const N: usize, const STEP: u32> Machine<N, STEP> {
    /// Number of bits that a step reads and writes.
    const WIDTH: u32 = N as u32 * STEP;
    const STEPS: u32 = bits(N).div_ceil(STEP);

    const fn new() -> Self {
        Self(LazyLock::new(Self::table))
    }

    /// The positions of points. `coordinates` holds those along the first dimension, then those along the second, and
    /// so on.
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
        // The first step may read more bits than a coordinate has. Leading zeros only rotate the coordinates. The first
        // state is rotated in advance, so that the extra zeros rotate it back.
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

/// How the lower bits of the coordinates are swapped and mirrored. Coordinate `i` is read from dimension `from[i]`, and
/// is mirrored if `mirrored[i]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State<const N: usize> {
    from: [usize; N],
    mirrored: [bool; N],
    /// Whether the position bits of this level are mirrored.
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

    /// Reads one bit of each coordinate and returns the position bits, the first coordinate's bit highest.
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
