//! A pool of tile buffers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::limits;

/// Smaller buffers are not kept: the allocator provides them cheaply.
const KEPT_BYTES_MIN: usize = 256 << 10;

/// A pool of unused buffers. Touching fresh memory costs more than copying into it, and buffers filled by one thread
/// and freed by another go back to the system.
#[derive(Debug, Clone)]
pub(crate) struct BufferPool(Arc<Unused>);

#[derive(Debug)]
struct Unused {
    buffers: Mutex<Vec<Vec<u8>>>,
    /// The most bytes the pool keeps.
    bytes_max: AtomicUsize,
}

impl Default for BufferPool {
    /// A pool that keeps as many bytes as are packed at a time.
    fn default() -> Self {
        Self(Arc::new(Unused {
            buffers: Mutex::default(),
            bytes_max: AtomicUsize::new(limits::PACK_BYTES as usize),
        }))
    }
}

impl BufferPool {
    /// Sets the limit of bytes to keep.
    pub(crate) fn keep_at_most(&self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.0.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Takes a buffer with capacity for this many bytes. Its contents are arbitrary.
    pub(crate) fn take(&self, bytes: usize) -> Vec<u8> {
        let mut kept = self.kept();
        // A much larger buffer would use memory that the budget does not account for.
        let fits = |buffer: &Vec<u8>| (bytes..=bytes.saturating_mul(2)).contains(&buffer.capacity());
        match kept.iter().position(fits) {
            Some(at) => kept.swap_remove(at),
            None => {
                drop(kept);
                Vec::with_capacity(bytes)
            }
        }
    }

    /// Wraps a buffer so that its memory returns to the pool once the last clone is dropped.
    pub(crate) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        if buffer.capacity() < KEPT_BYTES_MIN {
            return Bytes::from(buffer);
        }
        Bytes::from_owner(Lent {
            buffer,
            home: self.clone(),
        })
    }

    /// Returns an unused buffer to the pool if there is room for it.
    pub(crate) fn give(&self, buffer: Vec<u8>) {
        let mut kept = self.kept();
        let bytes: usize = kept.iter().map(Vec::capacity).sum();
        let bytes_max = self.0.bytes_max.load(Ordering::Relaxed);
        if buffer.capacity() >= KEPT_BYTES_MIN && bytes.saturating_add(buffer.capacity()) <= bytes_max {
            kept.push(buffer);
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Vec<u8>>> {
        self.0.buffers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Lent {
    buffer: Vec<u8>,
    home: BufferPool,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.home.give(std::mem::take(&mut self.buffer));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_returns_when_the_last_clone_is_dropped() {
        let spare = BufferPool::default();
        let mut buffer = spare.take(KEPT_BYTES_MIN);
        buffer.push(7);
        let at = buffer.as_ptr();
        let lent = spare.lend(buffer);
        let other = lent.slice(..1);
        drop(lent);
        assert_eq!((spare.kept().len(), &other[..]), (0, &[7][..]));
        drop(other);
        let small = spare.take(KEPT_BYTES_MIN / 3);
        assert_ne!(small.as_ptr(), at);
        let again = spare.take(KEPT_BYTES_MIN);
        assert_eq!(again.as_ptr(), at);
    }

    #[test]
    fn the_pool_keeps_no_more_than_is_packed_at_a_time() {
        for bytes_max in [None, Some(3 << 20)] {
            let spare = BufferPool::default();
            bytes_max.into_iter().for_each(|bytes| spare.keep_at_most(bytes));
            let third = bytes_max.unwrap_or(limits::PACK_BYTES) as usize / 3 + 1;
            let lent: Vec<Bytes> = (0..3).map(|_| spare.lend(Vec::with_capacity(third))).collect();
            drop(lent);
            assert_eq!(spare.kept().len(), 2);
        }
    }
}
