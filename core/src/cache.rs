//! A cache bounded in bytes. What it holds never changes (files of an array are never modified), so
//! nothing is ever invalidated; the least recently used value makes room. A pass over more than fits
//! leaves most of the cache as it was: what it meets takes the place of what it met last.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;

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

/// How likely a value is to be asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// Only a part of it was used: whoever looks beside that needs it again.
    Likely,
    /// All of it was used. It comes back if the same is read again, and not in a pass over everything.
    Possible,
}

/// Of so many values that may come back and find no room, one is kept as if it were likely to: so what
/// nobody asks for any more goes in the end, whatever is read.
const KEPT_OF_POSSIBLE: u64 = 32;

/// Bytes that a value takes besides its own: its key, its place in the order, and what its allocations cost.
const SLOT_BYTES: u64 = 384;

/// Values of any type under a budget in bytes. Shared between threads.
pub struct Cache {
    bytes_max: u64,
    state: Mutex<State>,
}

struct State {
    /// What goes first comes first: values that were turned away, the latest of them first, then all others
    /// from the least to the most recently used.
    values: LinkedHashMap<CacheKey, Slot>,
    /// How many values found no room that may come back.
    turned: u64,
    bytes: u64,
}

struct Slot {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

impl State {
    /// Makes room for `bytes` more under `bytes_max`.
    fn shrink(&mut self, bytes: u64, bytes_max: u64) {
        while self.bytes.saturating_add(bytes) > bytes_max {
            let Some((_, slot)) = self.values.pop_front() else {
                break;
            };
            self.bytes -= slot.bytes;
        }
    }
}

impl Cache {
    /// An empty cache that holds at most `bytes_max` bytes; 0 caches nothing.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            state: Mutex::new(State {
                values: LinkedHashMap::new(),
                turned: 0,
                bytes: 0,
            }),
        }
    }

    /// The value under `key`, if it is there and of type `T`.
    pub fn get<T: Any + Send + Sync>(&self, key: &CacheKey) -> Option<Arc<T>> {
        let mut state = self.lock();
        let slot = state.values.to_back(key)?;
        Arc::clone(&slot.value).downcast::<T>().ok()
    }

    /// Keeps `value`, which takes `bytes` of memory, and some more for its place. A value larger than a quarter of the budget is
    /// not kept: it would push out everything else for one use.
    pub fn insert<T: Any + Send + Sync>(&self, key: CacheKey, value: Arc<T>, bytes: u64, reuse: Reuse) {
        let bytes = bytes.saturating_add(SLOT_BYTES);
        if bytes > self.bytes_max / 4 {
            return;
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(old) = state.values.remove(&key) {
            state.bytes -= old.bytes;
        }
        let fits = state.bytes.saturating_add(bytes) <= self.bytes_max;
        state.turned += u64::from(!fits && reuse == Reuse::Possible);
        let stays = fits || reuse == Reuse::Likely || state.turned.is_multiple_of(KEPT_OF_POSSIBLE);
        state.shrink(bytes, self.bytes_max);
        state.bytes += bytes;
        let slot = Slot { value, bytes };
        if stays {
            state.values.insert(key, slot);
        } else {
            state.values.insert_front(key, slot);
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
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        for part in 0..4 {
            cache.insert(key(part), Arc::new(part), 2, Reuse::Likely);
        }
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        cache.insert(key(4), Arc::new(4_u64), 2, Reuse::Likely);
        assert_eq!(cache.get::<u64>(&key(1)), None);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        assert_eq!(cache.bytes(), 4 * (2 + SLOT_BYTES));
    }

    #[test]
    fn passes_over_more_than_fits_find_most_of_it() {
        let cache = Cache::new(20 * (1 + SLOT_BYTES));
        let pass = || {
            let mut found = 0;
            for part in 0..30 {
                match cache.get::<u64>(&key(part)) {
                    Some(_) => found += 1,
                    None => cache.insert(key(part), Arc::new(part), 1, Reuse::Possible),
                }
            }
            assert!(cache.bytes() <= 20 * (1 + SLOT_BYTES));
            found
        };
        assert_eq!(pass(), 0);
        for _ in 0..10 {
            assert!(pass() >= 15);
        }
    }

    #[test]
    fn what_nobody_asks_for_goes_in_the_end() {
        let cache = Cache::new(20 * (1 + SLOT_BYTES));
        for part in 0..20 {
            cache.insert(key(part), Arc::new(part), 1, Reuse::Likely);
        }
        for part in 20..20 + 20 * KEPT_OF_POSSIBLE {
            cache.insert(key(part), Arc::new(part), 1, Reuse::Possible);
        }
        assert!((0..20).all(|part| cache.get::<u64>(&key(part)).is_none()));
    }

    #[test]
    fn many_small_values_keep_to_the_budget_with_what_they_take_besides() {
        let cache = Cache::new(1 << 20);
        for part in 0..100_000 {
            cache.insert(key(part), Arc::new(part), 1, Reuse::Likely);
        }
        let held = (0..100_000).filter(|part| cache.get::<u64>(&key(*part)).is_some());
        assert!((1..4000).contains(&held.count()));
    }

    #[test]
    fn replacing_does_not_count_twice() {
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        cache.insert(key(0), Arc::new(0_u64), 2, Reuse::Likely);
        cache.insert(key(0), Arc::new(9_u64), 1, Reuse::Likely);
        assert_eq!(cache.bytes(), 1 + SLOT_BYTES);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&9));
    }

    #[test]
    fn too_large_or_of_another_type_is_absent() {
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        cache.insert(key(0), Arc::new(0_u64), 3, Reuse::Likely);
        assert_eq!(cache.bytes(), 0);
        cache.insert(key(1), Arc::new(0_u64), 1, Reuse::Likely);
        assert!(cache.get::<String>(&key(1)).is_none());
    }
}
