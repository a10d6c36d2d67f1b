//! What is allocated, counted over the whole program.

/// The allocator that counts. A program that checks targets makes it its `#[global_allocator]`.
pub use peak_alloc::PeakAlloc;

/// The result of `work`, and how many bytes more than before were held at a time.
///
/// Other threads' allocations count too: nothing else should run meanwhile.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    PeakAlloc.reset_peak_usage();
    let before = PeakAlloc.current_usage();
    let result = work();
    (result, PeakAlloc.peak_usage().saturating_sub(before))
}
