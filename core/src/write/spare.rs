//! Memory of tiles that were written, for tiles to come.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::limits;

/// Smaller buffers are not worth keeping: the allocator has them at hand.
const KEPT_BYTES_MIN: usize = 256 << 10;

/// Buffers that nobody uses. Memory that is touched for the first time costs more than what is copied to it,
/// and buffers that one thread fills and another frees go back to the system.
#[derive(Debug, Clone)]
pub(crate) struct Spare(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    buffers: Mutex<Vec<Vec<u8>>>,
    /// How much they may take.
    bytes_max: AtomicUsize,
}

impl Default for Spare {
    /// Keeps as much as is packed at a time.
    fn default() -> Self {
        Self(Arc::new(Kept {
            buffers: Mutex::default(),
            bytes_max: AtomicUsize::new(limits::PACK_BYTES as usize),
        }))
    }
}

impl Spare {
    /// Keeps no more than this from now on.
    pub(crate) fn keep_at_most(&self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.0.bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// A buffer with room for so many bytes, which holds anything.
    pub(crate) fn take(&self, bytes: usize) -> Vec<u8> {
        let mut kept = self.kept();
        // Not one that is much larger: it would hold memory that nobody counts with.
        let fits = |buffer: &Vec<u8>| (bytes..=bytes.saturating_mul(2)).contains(&buffer.capacity());
        match kept.iter().position(fits) {
            Some(at) => kept.swap_remove(at),
            None => {
                drop(kept);
                Vec::with_capacity(bytes)
            }
        }
    }

    /// These bytes, whose memory is kept once the last who has them drops them.
    pub(crate) fn lend(&self, buffer: Vec<u8>) -> Bytes {
        if buffer.capacity() < KEPT_BYTES_MIN {
            return Bytes::from(buffer);
        }
        Bytes::from_owner(Lent {
            buffer,
            home: self.clone(),
        })
    }

    /// Keeps a buffer that nobody uses any more, if there is room for it.
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
    home: Spare,
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
    fn memory_comes_back_when_the_last_drops_it() {
        let spare = Spare::default();
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
    fn no_more_is_kept_than_is_packed_at_a_time() {
        for bytes_max in [None, Some(3 << 20)] {
            let spare = Spare::default();
            bytes_max.into_iter().for_each(|bytes| spare.keep_at_most(bytes));
            let third = bytes_max.unwrap_or(limits::PACK_BYTES) as usize / 3 + 1;
            let lent: Vec<Bytes> = (0..3).map(|_| spare.lend(Vec::with_capacity(third))).collect();
            drop(lent);
            assert_eq!(spare.kept().len(), 2);
        }
    }
}
