//! A cache of parts of files. Concurrent readers of a part share one computation.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_util::lock::Mutex as AsyncMutex;
use hashlink::LinkedHashMap;

/// A file's id and the index of a part.
pub(super) type BlockKey = (u64, u64);

/// An LRU cache of parts with a budget in bytes.
#[derive(Debug)]
pub(super) struct PartCache {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Ordered from least to most recently used.
    slots: LinkedHashMap<BlockKey, Slot>,
    bytes: u64,
}

#[derive(Debug, Default)]
struct Slot {
    /// Locked while the part is computed; other readers wait for the lock.
    cell: Arc<AsyncMutex<Option<Bytes>>>,
    /// 0 until the part is computed.
    bytes: u64,
}

impl PartCache {
    pub(super) fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// The slot of a part. A caller that locks an empty slot computes the part and then calls [`PartCache::made`].
    pub(super) fn cell(&self, key: BlockKey) -> Arc<AsyncMutex<Option<Bytes>>> {
        let mut state = self.lock();
        let slot = state.slots.remove(&key).unwrap_or_default();
        let cell = Arc::clone(&slot.cell);
        state.slots.insert(key, slot);
        cell
    }

    /// Whether a part is in the cache.
    pub(super) fn has(&self, key: BlockKey) -> bool {
        self.lock().slots.get(&key).is_some_and(|slot| slot.bytes > 0)
    }

    /// Evicts the least recently used parts until `bytes` more fit or no parts are left.
    pub(super) fn make_room(&self, bytes: u64) {
        let mut state = self.lock();
        while state.bytes > 0 && state.bytes.saturating_add(bytes) > self.bytes_max {
            let oldest = state.slots.iter().find(|(_, s)| s.bytes > 0).map(|(k, _)| *k);
            let Some(slot) = oldest.and_then(|k| state.slots.remove(&k)) else {
                break;
            };
            state.bytes -= slot.bytes;
        }
    }

    /// Counts a part of `bytes` bytes and evicts the least recently used parts to make room for it.
    pub(super) fn made(&self, key: BlockKey, bytes: u64) {
        let mut state = self.lock();
        // An empty part takes memory for its slot.
        let bytes = bytes.max(64);
        let Some(slot) = state.slots.get_mut(&key) else { return };
        let before = std::mem::replace(&mut slot.bytes, bytes);
        state.bytes = state.bytes - before + bytes;
        while state.bytes > self.bytes_max {
            let oldest = state.slots.iter().find(|(k, s)| **k != key && s.bytes > 0);
            let Some(oldest) = oldest.map(|(k, _)| *k) else { break };
            if let Some(slot) = state.slots.remove(&oldest) {
                state.bytes -= slot.bytes;
            }
        }
    }

    /// Removes a part after its computation failed.
    pub(super) fn failed(&self, key: BlockKey) {
        let mut state = self.lock();
        if let Some(slot) = state.slots.remove(&key) {
            state.bytes -= slot.bytes;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_part_is_evicted() {
        let blocks = PartCache::new(100);
        for i in 0..3 {
            let cell = blocks.cell((1, i));
            *cell.try_lock().unwrap() = Some(Bytes::from_static(b"x"));
            blocks.made((1, i), 90);
        }
        assert!(blocks.cell((1, 2)).try_lock().unwrap().is_some());
        assert!(blocks.cell((1, 0)).try_lock().unwrap().is_none());
        blocks.made((1, 2), 1000);
        assert!(blocks.cell((1, 2)).try_lock().unwrap().is_some());
    }

    #[test]
    fn make_room_evicts_parts_in_advance() {
        let blocks = PartCache::new(200);
        for i in 0..2 {
            *blocks.cell((1, i)).try_lock().unwrap() = Some(Bytes::from_static(b"x"));
            blocks.made((1, i), 90);
        }
        let kept = || [0, 1].map(|i| blocks.cell((1, i)).try_lock().unwrap().is_some());
        blocks.make_room(20);
        assert_eq!(kept(), [true, true]);
        blocks.make_room(110);
        assert_eq!(kept(), [false, true]);
        blocks.make_room(1000);
        assert_eq!(kept(), [false, false]);
    }

    #[test]
    fn readers_share_one_slot() {
        let blocks = PartCache::new(100);
        assert!(Arc::ptr_eq(&blocks.cell((1, 0)), &blocks.cell((1, 0))));
        blocks.failed((1, 0));
        assert!(blocks.cell((1, 0)).try_lock().unwrap().is_none());
    }
}
