//! Hostile bytes: one plain function for each decoder and each filter, and seeds to start from. The short run in
//! `tests/fuzz.rs` and the libFuzzer program in `fuzz/` call the same functions.

mod array;
mod files;
mod filters;
mod formats;
mod ipc;
mod json;
pub mod memory;
mod numpy;
mod parquet;
mod samples;
mod stores;
mod texts;

use std::panic::RefUnwindSafe;

/// How much memory a run may allocate.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    /// Bytes of the input, and of the output that the caller asked for.
    pub bytes: usize,
    /// Bytes that may be allocated for any input.
    pub fixed: usize,
}

impl Allowance {
    /// The limit for a decoder of these bytes.
    fn of(bytes: usize) -> Self {
        Self { bytes, fixed: 64 << 10 }
    }

    /// The most bytes that may be held at a time: a structure built from the bytes, and its copies.
    pub fn bytes_max(self) -> usize {
        self.fixed + 64 * self.bytes
    }
}

/// The function that runs a target on an input.
type Run = dyn Fn(&[u8]) -> Allowance + Sync + Send + RefUnwindSafe;

/// One decoder, or one filter.
pub struct Target {
    /// Its name, which is also the name of the folder of its inputs.
    pub name: String,
    /// Decodes arbitrary bytes. Panics if decoded values change when encoded and decoded again.
    pub run: Box<Run>,
    /// Seeds made from real arrays.
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

    /// Runs one input and compares its allocations with the limit.
    ///
    /// # Panics
    /// If the decoder misbehaves on this input.
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

/// All targets.
pub fn targets() -> Vec<Target> {
    let samples = samples::load();
    [
        formats::targets(&samples),
        texts::targets(&samples),
        filters::targets(),
        array::targets(&samples),
        files::targets(),
        ipc::targets(),
        json::targets(),
        numpy::targets(),
        parquet::targets(),
        stores::targets(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Takes the first bytes of an input as choices. Returns them and the rest.
fn choices<const N: usize>(input: &[u8]) -> Option<([u8; N], &[u8])> {
    input.split_first_chunk().map(|(choices, rest)| (*choices, rest))
}
