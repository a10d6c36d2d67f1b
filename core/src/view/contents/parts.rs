//! Keeps parts of files in the cache of the store. Those who need a part at the same time make it once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::lock::{Mutex as AsyncMutex, OwnedMutexGuard};

use crate::cache::{Cache, CacheKey, Reuse};

/// The size of a part in bytes. The last part of a piece may be smaller.
pub(super) const PART_BYTES: u64 = 1 << 20;

/// Parts of files, by the id of the file and the place of the part.
#[derive(Debug)]
pub(super) struct Parts {
    cache: Arc<Cache>,
    making: Mutex<Making>,
}

/// Locks of the pieces that are being made, by the id of the file and a number.
type Making = HashMap<(u64, u64), Arc<AsyncMutex<()>>>;

impl Parts {
    pub(super) fn new(cache: Arc<Cache>) -> Self {
        let making = Mutex::default();
        Self { cache, making }
    }

    /// The part of a file that starts at byte `start`, if it is kept.
    pub(super) fn get(&self, id: u64, start: u64) -> Option<Bytes> {
        self.cache
            .get::<Bytes>(&key(id, start))
            .map(|bytes| Bytes::clone(&bytes))
    }

    /// Whether the cache is large enough for parts of this size.
    pub(super) fn keeps(&self, bytes: u64) -> bool {
        self.cache.takes(bytes)
    }

    /// Keeps `bytes`, which start at byte `start` of a file, as parts.
    pub(super) fn keep(&self, id: u64, start: u64, bytes: &Bytes) {
        let size = usize::try_from(PART_BYTES).unwrap_or(usize::MAX);
        for (at, from) in (start..).step_by(size).zip((0..bytes.len()).step_by(size)) {
            let part = bytes.slice(from..bytes.len().min(from + size));
            let length = part.len() as u64;
            self.cache.insert(key(id, at), Arc::new(part), length, Reuse::Likely);
        }
    }

    /// Waits until nobody else makes number `number` of a file. The caller then looks whether it was made meanwhile.
    pub(super) async fn alone(&self, id: u64, number: u64) -> Alone<'_> {
        let lock = Arc::clone(self.making().entry((id, number)).or_default());
        Alone {
            parts: self,
            key: (id, number),
            _held: lock.lock_owned().await,
        }
    }

    fn making(&self) -> MutexGuard<'_, Making> {
        // Code under the lock does not panic, so the map is consistent.
        self.making.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The right to make something, until this is dropped.
#[derive(Debug)]
pub(super) struct Alone<'a> {
    parts: &'a Parts,
    key: (u64, u64),
    _held: OwnedMutexGuard<()>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let mut making = self.parts.making();
        // One is in the map and one in the guard; the others wait.
        if making.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) <= 2) {
            making.remove(&self.key);
        }
    }
}

fn key(id: u64, start: u64) -> CacheKey {
    CacheKey {
        path: format!("{id:016x}").into(),
        part: start,
        kind: "part of a file",
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn bytes_are_kept_in_parts() {
        let parts = Parts::new(Arc::new(Cache::new(64 << 20)));
        let size = usize::try_from(PART_BYTES).unwrap();
        let bytes = Bytes::from(vec![7; 2 * size + 5]);
        parts.keep(1, 100, &bytes);
        let length = |start| parts.get(1, start).map(|part| part.len());
        assert_eq!(length(100), Some(size));
        assert_eq!(length(100 + 2 * PART_BYTES), Some(5));
        assert_eq!((length(0), length(100 + 3 * PART_BYTES)), (None, None));
        assert_eq!(parts.get(2, 100), None);
    }

    #[test]
    fn each_part_is_made_by_one_at_a_time() {
        let parts = Parts::new(Arc::new(Cache::new(0)));
        let first = parts.alone(1, 0).now_or_never().unwrap();
        let mut second = Box::pin(parts.alone(1, 0));
        assert!((&mut second).now_or_never().is_none());
        assert!(parts.alone(1, 1).now_or_never().is_some(), "another part");
        drop(first);
        drop((&mut second).now_or_never().unwrap());
        drop(second);
        assert!(parts.making().is_empty());
    }
}
