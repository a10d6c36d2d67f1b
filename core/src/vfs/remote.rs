//! What the stores behind a network share: a runtime of their own, so that their futures are plain
//! futures for everyone else.

mod http;
mod object;
mod service;

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

pub use self::http::HttpVfs;
pub use self::object::ObjectVfs;
use super::BoxFuture;
use crate::error::{Error, Result};

/// Requests in flight for one call of a store.
const IN_FLIGHT: usize = 8;

/// The runtime that all network stores share.
fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let start = || {
        // Fails only if the program has already chosen one, which is then used.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("hyperslab-io")
            .enable_all()
            .build()
    };
    RUNTIME
        .get_or_init(start)
        .as_ref()
        .map_err(|e| Error::io("network", e.to_string()))
}

/// Runs `work` on the network's runtime. Dropping the returned future cancels the work.
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
