//! Network stores. They share a runtime of their own, so callers need none and see plain futures.

mod client;
mod http;
mod object;
mod pages;
mod service;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, OnceLock};
use std::task::{Context, Poll, ready};
use std::{io, thread};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

pub use self::http::{HttpVfs, Patience};
pub use self::object::{ObjectVfs, PagedStore};
use super::BoxFuture;
use crate::error::{Error, Result};

/// Threads of the runtime.
const WORKERS: usize = 2;
/// Concurrent requests of one call of a store.
const IN_FLIGHT: usize = 8;

/// The runtime shared by all network stores.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let start = || {
        // One more thread resolves host names.
        try_threads(WORKERS + 1)?;
        // Fails only if the program has installed a provider already, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .thread_name("hyperslab-io")
            .enable_all()
            .build()
    };
    RUNTIME.get_or_init(start).as_ref().map_err(|e| {
        let why = format!("its threads cannot be started: {e}; raise the limit on processes (ulimit -u)");
        Error::io("network", why)
    })
}

/// Fails if this many more threads cannot be started. The runtime would panic, or wait for a thread forever.
fn try_threads(count: usize) -> io::Result<()> {
    let all_started = Mutex::new(());
    thread::scope(|scope| {
        let _until_then = all_started.lock();
        let wait = || drop(all_started.lock());
        (0..count).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, wait).map(drop))
    })
}

/// Runs `work` on the runtime of network stores. Dropping the returned future cancels it.
fn spawn<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> BoxFuture<'static, T> {
    match runtime() {
        Ok(runtime) => Box::pin(Spawned(runtime.spawn(work))),
        Err(e) => Box::pin(std::future::ready(Err(e))),
    }
}

struct Spawned<T>(JoinHandle<Result<T>>);

impl<T> Future for Spawned<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(ready!(Pin::new(&mut self.0).poll(context)).unwrap_or(Err(Error::Cancelled)))
    }
}

impl<T> Drop for Spawned<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
