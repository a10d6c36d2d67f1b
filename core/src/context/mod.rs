//! The environment of every operation: a store, threads and a cache.

mod transaction;
mod transaction_store;

use std::fmt;
use std::sync::Arc;

use crate::cache::Cache;
use crate::cpu::Cpu;
use crate::limits;
use crate::vfs::{MemVfs, Vfs};
pub use transaction::Transaction;

/// A store, threads and a cache. Clones share all three.
///
/// ```
/// use hyperslab::{Context, Cpu};
/// let context = Context::memory();
/// // The same store on one thread and with a cache of 8 MiB, for example for a small machine.
/// let frugal = context.clone().with_cpu(Cpu::Inline).with_cache_bytes(8 << 20);
/// ```
///
/// With a URL, and the path that it names in its store:
///
/// ```no_run
/// # fn main() -> hyperslab::Result<()> {
/// use hyperslab::{Array, Context, OpenOptions, blocking::block_on};
/// let (vfs, path) = hyperslab::vfs::open_url("/data/points")?; // or s3://…, gs://…, az://…, https://…
/// let array = block_on(Array::open(&Context::new(vfs), &path, &OpenOptions::default()))?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Context {
    /// The store with the arrays.
    pub vfs: Arc<dyn Vfs>,
    /// The threads for decoding and encoding.
    pub cpu: Cpu,
    /// The cache of decoded tiles and index sections. Its keys are paths in `vfs`, so each store needs its own cache.
    pub cache: Arc<Cache>,
    /// The transaction that changes made through this context belong to; see [`Context::begin`].
    pub transaction: Option<Transaction>,
}

impl Context {
    /// A context for the store `vfs`, with all cores and a cache of 64 MiB.
    pub fn new(vfs: Arc<dyn Vfs>) -> Self {
        Self {
            vfs,
            cpu: Cpu::default(),
            cache: Arc::new(Cache::new(limits::CACHE_BYTES)),
            transaction: None,
        }
    }

    /// A context for a new, empty store in memory.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemVfs::new()))
    }

    /// A context for the folder `root` on the local disk. Paths are relative to it.
    #[cfg(feature = "fs")]
    pub fn local(root: impl Into<std::path::PathBuf>) -> Self {
        Self::new(Arc::new(crate::vfs::LocalVfs::new(root)))
    }

    /// The same store and cache, with `cpu` for decoding and encoding.
    #[must_use]
    pub fn with_cpu(mut self, cpu: Cpu) -> Self {
        self.cpu = cpu;
        self
    }

    /// The same store, with an empty cache of `bytes_max` bytes.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes_max: u64) -> Self {
        self.cache = Arc::new(Cache::new(bytes_max));
        self
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("cpu", &self.cpu)
            .field("cache", &self.cache)
            .finish_non_exhaustive()
    }
}
