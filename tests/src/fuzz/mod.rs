//! Bytes that nobody wrote in good faith: one plain function for each decoder and each filter, and
//! what to start from. The short run in `tests/fuzz.rs` and the libFuzzer program in `fuzz/` call
//! the same functions.

mod array;
mod filters;
mod formats;
mod ipc;
pub mod memory;
mod samples;
mod texts;

use std::panic::RefUnwindSafe;

/// What a run may allocate.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Bytes that are there: of the input, and of the output that the input's owner asked for.
    pub bytes: usize,
    /// What may be allocated whatever the input.
    pub fixed: usize,
}

impl Allowance {
    /// Of a decoder that gets these bytes.
    fn of(bytes: usize) -> Self {
        Self { bytes, fixed: 64 << 10 }
    }

    /// The most bytes that may be held at a time: a structure of the bytes and its copies.
    pub fn bytes_max(self) -> usize {
        self.fixed + 64 * self.bytes
    }
}

/// What a target does with an input.
type Run = dyn Fn(&[u8]) -> Allowance + Sync + Send + RefUnwindSafe;

/// One decoder, or one filter.
pub struct Target {
    /// Its name, which is the name of the folder of its inputs.
    pub name: String,
    /// Decodes the bytes, whatever they are; panics where they come back changed.
    pub run: Box<Run>,
    /// Inputs made of real arrays.
    pub seeds: Vec<Vec<u8>>,
}

impl Target {
    fn new(
        name: impl Into<String>,
        seeds: Vec<Vec<u8>>,
        run: impl Fn(&[u8]) -> Allowance + Sync + Send + RefUnwindSafe + 'static,
    ) -> Self {
        let name = name.into();
        Self {
            name,
            run: Box::new(run),
            seeds,
        }
    }

    /// Runs one input and holds its allocations against what it may allocate.
    ///
    /// # Panics
    /// The decoder is wrong about this input.
    pub fn check(&self, input: &[u8]) {
        let (allowance, peak) = memory::peak_of(|| (self.run)(input));
        assert!(
            peak <= allowance.bytes_max(),
            "{} allocated {peak} bytes for {} (at most {})",
            self.name,
            allowance.bytes,
            allowance.bytes_max()
        );
    }
}

/// Every target.
pub fn targets() -> Vec<Target> {
    let samples = samples::load();
    [
        formats::targets(&samples),
        texts::targets(&samples),
        filters::targets(),
        array::targets(&samples),
        ipc::targets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Takes the first bytes of an input as choices, and gives the rest.
fn choices<const N: usize>(input: &[u8]) -> Option<([u8; N], &[u8])> {
    input.split_first_chunk().map(|(choices, rest)| (*choices, rest))
}
