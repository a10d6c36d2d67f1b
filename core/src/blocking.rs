//! For callers without a runtime: park the thread until a future is done.

use std::future::Future;

/// Runs `future` on this thread and waits for its result.
///
/// ```
/// use hyperslab::{Context, blocking::block_on};
/// let context = Context::memory();
/// assert!(block_on(context.vfs.list("")).unwrap().is_empty());
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    pollster::block_on(future)
}
