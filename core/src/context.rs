//! What every operation needs: a store, cores and a cache.

use std::fmt;
use std::sync::Arc;

use crate::cache::Cache;
use crate::cpu::Cpu;
use crate::limits;
use crate::vfs::{MemVfs, Vfs};

/// A store, where to compute, and what to remember. Clones share all three.
#[derive(Clone)]
pub struct Context {
    /// Where the arrays are.
    pub vfs: Arc<dyn Vfs>,
    /// Where decoding and packing run.
    pub cpu: Cpu,
    /// Decoded tiles and index sections; its keys are paths in `vfs`, so one store per cache.
    pub cache: Arc<Cache>,
}

impl Context {
    /// Arrays in `vfs`, all cores, and a cache of [`limits::CACHE_BYTES`].
    pub fn new(vfs: Arc<dyn Vfs>) -> Self {
        Self {
            vfs,
            cpu: Cpu::default(),
            cache: Arc::new(Cache::new(limits::CACHE_BYTES)),
        }
    }

    /// A new, empty store in memory.
    pub fn memory() -> Self {
        Self::new(Arc::new(MemVfs::new()))
    }

    /// The folder `root` on the local disk; paths are relative to it.
    #[cfg(feature = "fs")]
    pub fn local(root: impl Into<std::path::PathBuf>) -> Self {
        Self::new(Arc::new(crate::vfs::LocalVfs::new(root)))
    }

    /// The same store and cache, computing with `cpu`.
    #[must_use]
    pub fn with_cpu(mut self, cpu: Cpu) -> Self {
        self.cpu = cpu;
        self
    }

    /// The same store with an empty cache of `bytes_max`.
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
