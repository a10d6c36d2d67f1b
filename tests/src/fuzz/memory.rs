//! Counts the allocations of the whole program.

/// The counting allocator. Programs that check targets use it as their `#[global_allocator]`.
pub use peak_alloc::PeakAlloc;

/// Runs `work`. Returns its result and the peak of additional bytes held meanwhile.
///
/// Allocations of other threads count too, so nothing else should run meanwhile.
pub fn peak_of<T>(work: impl FnOnce() -> T) -> (T, usize) {
    PeakAlloc.reset_peak_usage();
    let before = PeakAlloc.current_usage();
    let result = work();
    (result, PeakAlloc.peak_usage().saturating_sub(before))
}
