//! Runs futures on the current thread, for callers without an async runtime.

use std::future::Future;
#[cfg(not(target_family = "wasm"))]
use std::time::Duration;

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

/// Completes after `duration`, for callers without an async runtime, for example as the deadline of
/// [`Transaction::abort`](crate::Transaction::abort). Starts a thread. Without one, completes at once.
#[cfg(not(target_family = "wasm"))]
pub fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
    let (tell, told) = futures_channel::oneshot::channel::<()>();
    let wait = move || {
        std::thread::sleep(duration);
        drop(tell);
    };
    drop(std::thread::Builder::new().spawn(wait));
    async move {
        // The thread sends nothing: it only ends.
        let _ = told.await;
    }
}
