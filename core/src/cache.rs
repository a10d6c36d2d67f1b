//! A cache bounded in bytes. What it holds never changes (files of an array are never modified), so
//! nothing is ever invalidated; the least recently used value makes room.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a value was made of: a file, a place in it, and a word for what was made, so that two
/// views of one place do not collide.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheKey {
    /// Path of the file in its store.
    pub path: Arc<str>,
    /// Which part: an offset in bytes, or a tile's number.
    pub part: u64,
    /// What was made of it.
    pub kind: &'static str,
}

impl CacheKey {
    /// The value of kind `kind` made from part `part` of the file at `path`.
    pub fn new(path: impl Into<Arc<str>>, part: u64, kind: &'static str) -> Self {
        Self {
            path: path.into(),
            part,
            kind,
        }
    }
}

/// Values of any type under a budget in bytes. Shared between threads.
pub struct Cache {
    bytes_max: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    values: HashMap<CacheKey, Slot>,
    /// From the time of last use to the key; times are unique.
    by_age: BTreeMap<u64, CacheKey>,
    clock: u64,
    bytes: u64,
}

struct Slot {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
    used: u64,
}

impl Cache {
    /// An empty cache that holds at most `bytes_max` bytes; 0 caches nothing.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            state: Mutex::default(),
        }
    }

    /// The value under `key`, if it is there and of type `T`.
    pub fn get<T: Any + Send + Sync>(&self, key: &CacheKey) -> Option<Arc<T>> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let slot = state.values.get_mut(key)?;
        let value = Arc::clone(&slot.value).downcast::<T>().ok()?;
        state.clock += 1;
        if let Some(key) = state.by_age.remove(&slot.used) {
            state.by_age.insert(state.clock, key);
        }
        slot.used = state.clock;
        Some(value)
    }

    /// Keeps `value`, which takes `bytes` of memory. A value larger than a quarter of the budget is
    /// not kept: it would push out everything else for one use.
    pub fn insert<T: Any + Send + Sync>(&self, key: CacheKey, value: Arc<T>, bytes: u64) {
        if bytes > self.bytes_max / 4 {
            return;
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        state.clock += 1;
        let used = state.clock;
        if let Some(old) = state.values.insert(key.clone(), Slot { value, bytes, used }) {
            state.by_age.remove(&old.used);
            state.bytes -= old.bytes;
        }
        state.by_age.insert(used, key);
        state.bytes += bytes;
        while state.bytes > self.bytes_max {
            let Some((_, oldest)) = state.by_age.pop_first() else {
                break;
            };
            if let Some(slot) = state.values.remove(&oldest) {
                state.bytes -= slot.bytes;
            }
        }
    }

    /// Bytes held now.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No caller's code runs under the lock, so a poisoned state is still whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cache({} of {} bytes)", self.bytes(), self.bytes_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(part: u64) -> CacheKey {
        CacheKey::new("f", part, "tile")
    }

    #[test]
    fn the_least_recently_used_makes_room() {
        let cache = Cache::new(8);
        for part in 0..4 {
            cache.insert(key(part), Arc::new(part), 2);
        }
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        cache.insert(key(4), Arc::new(4_u64), 2);
        assert_eq!(cache.get::<u64>(&key(1)), None);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        assert_eq!(cache.bytes(), 8);
    }

    #[test]
    fn replacing_does_not_count_twice() {
        let cache = Cache::new(8);
        cache.insert(key(0), Arc::new(0_u64), 2);
        cache.insert(key(0), Arc::new(9_u64), 1);
        assert_eq!(cache.bytes(), 1);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&9));
    }

    #[test]
    fn too_large_or_of_another_type_is_absent() {
        let cache = Cache::new(8);
        cache.insert(key(0), Arc::new(0_u64), 3);
        assert_eq!(cache.bytes(), 0);
        cache.insert(key(1), Arc::new(0_u64), 1);
        assert!(cache.get::<String>(&key(1)).is_none());
    }
}
