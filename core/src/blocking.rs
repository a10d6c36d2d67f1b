//! Runs futures on the current thread, for callers without an async runtime.

use std::future::Future;

/// Runs `future` on this thread and blocks until it completes.
///
/// ```
/// use hyperslab::{Context, blocking::block_on};
/// let context = Context::memory();
/// assert!(block_on(context.vfs.list("")).unwrap().is_empty());
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}
