//! A cache bounded in bytes. Files of an array are never modified, so values never change and nothing is invalidated.
//! The least recently used value is evicted first. A scan over more data than fits leaves most of the cache in place,
//! because each scanned value replaces the previous one.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hashlink::LinkedHashMap;

/// The origin of a value: a file, a part of it, and the kind of value. The kind keeps different views of the same part
/// apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey {
    /// Path of the file in its store.
    pub(crate) path: Arc<str>,
    /// The part of the file: an offset in bytes, or a tile number.
    pub(crate) part: u64,
    /// The kind of value.
    pub(crate) kind: &'static str,
}

impl CacheKey {
    /// The key of a value of kind `kind`, made from part `part` of the file at `path`.
    #[cfg(any(test, feature = "object-store"))]
    pub(crate) fn new(path: impl Into<Arc<str>>, part: u64, kind: &'static str) -> Self {
        Self {
            path: path.into(),
            part,
            kind,
        }
    }
}

/// How likely a value is to be needed again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    /// Only a part of the value was used. A read of neighbouring cells needs it again.
    Likely,
    /// All of the value was used. It is needed again if the same cells are read again, but not during a scan.
    Possible,
}

/// One in this many `Possible` values that do not fit is kept like a `Likely` one. Values that are no longer needed are
/// therefore evicted eventually, whatever is read.
const KEPT_OF_POSSIBLE: u64 = 32;

/// Overhead of a value in bytes: its key, its list entry and its allocations.
const SLOT_BYTES: u64 = 384;

/// A cache for values of any type, with a budget in bytes. It can be shared between threads.
pub struct Cache {
    bytes_max: u64,
    keeps_tiles: bool,
    state: Mutex<State>,
}

struct State {
    /// Values in eviction order: first those that did not fit, latest first, then the others, least recently used
    /// first.
    values: LinkedHashMap<CacheKey, Slot>,
    /// Number of `Possible` values that did not fit.
    rejected: u64,
    bytes: u64,
}

struct Slot {
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
}

impl State {
    /// Evicts values until `bytes` more fit into `bytes_max`.
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
    /// An empty cache of at most `bytes_max` bytes. A cache of 0 bytes stores nothing.
    pub fn new(bytes_max: u64) -> Self {
        Self {
            bytes_max,
            keeps_tiles: false,
            state: Mutex::new(State {
                values: LinkedHashMap::new(),
                rejected: 0,
                bytes: 0,
            }),
        }
    }

    /// An empty cache that also keeps whole dense tiles with filters after decoding, for readers that come back to the same
    /// cells, such as views in web pages. Otherwise only the parts of tiles that were not wanted are kept.
    pub fn keeping_tiles(bytes_max: u64) -> Self {
        Self {
            keeps_tiles: true,
            ..Self::new(bytes_max)
        }
    }

    /// Whether it was made by [`Cache::keeping_tiles`].
    pub(crate) const fn keeps_tiles(&self) -> bool {
        self.keeps_tiles
    }

    /// The value with this key, if it is present and of type `T`.
    pub(crate) fn get<T: Any + Send + Sync>(&self, key: &CacheKey) -> Option<Arc<T>> {
        let mut state = self.lock();
        let slot = state.values.to_back(key)?;
        Arc::clone(&slot.value).downcast::<T>().ok()
    }

    /// Whether a value of `bytes` bytes would be stored.
    pub(crate) const fn takes(&self, bytes: u64) -> bool {
        bytes.saturating_add(SLOT_BYTES) <= self.bytes_max / 4
    }

    /// Stores `value`, which takes `bytes` of memory plus some overhead. Values larger than a quarter of the budget are
    /// not stored, because they would evict everything else.
    pub(crate) fn insert<T: Any + Send + Sync>(&self, key: CacheKey, value: Arc<T>, bytes: u64, reuse: Reuse) {
        if !self.takes(bytes) {
            return;
        }
        let bytes = bytes.saturating_add(SLOT_BYTES);
        let mut guard = self.lock();
        let state = &mut *guard;
        if let Some(old) = state.values.remove(&key) {
            state.bytes -= old.bytes;
        }
        let fits = state.bytes.saturating_add(bytes) <= self.bytes_max;
        state.rejected += u64::from(!fits && reuse == Reuse::Possible);
        let stays = fits || reuse == Reuse::Likely || state.rejected.is_multiple_of(KEPT_OF_POSSIBLE);
        state.shrink(bytes, self.bytes_max);
        state.bytes += bytes;
        let slot = Slot { value, bytes };
        if stays {
            state.values.insert(key, slot);
        } else {
            state.values.insert_front(key, slot);
        }
    }

    /// Bytes in use.
    pub fn bytes(&self) -> u64 {
        self.lock().bytes
    }

    /// Removes all values.
    pub fn clear(&self) {
        let mut state = self.lock();
        state.values.clear();
        state.bytes = 0;
    }

    /// The budget in bytes.
    pub const fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// The number of values of each kind and their bytes. Takes time that grows with the number of values.
    pub fn contents(&self) -> BTreeMap<&'static str, (u64, u64)> {
        let mut contents = BTreeMap::new();
        for (key, slot) in &self.lock().values {
            let (count, bytes): &mut (u64, u64) = contents.entry(key.kind).or_default();
            *count += 1;
            *bytes += slot.bytes;
        }
        contents
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No foreign code runs while the lock is held, so a poisoned state is still consistent.
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
    fn the_least_recently_used_value_is_evicted() {
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        for part in 0..4 {
            cache.insert(key(part), Arc::new(part), 2, Reuse::Likely);
        }
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        cache.insert(key(4), Arc::new(4_u64), 2, Reuse::Likely);
        assert_eq!(cache.get::<u64>(&key(1)), None);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&0));
        assert_eq!(cache.bytes(), 4 * (2 + SLOT_BYTES));
        let contents = cache.contents().into_iter().collect::<Vec<_>>();
        assert_eq!(contents, [("tile", (4, cache.bytes()))]);
        cache.clear();
        assert_eq!((cache.bytes(), cache.get::<u64>(&key(0))), (0, None));
    }

    #[test]
    fn scans_over_more_than_fits_hit_most_values() {
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
    fn unused_values_are_evicted_eventually() {
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
    fn overhead_counts_towards_the_budget() {
        let cache = Cache::new(1 << 20);
        for part in 0..100_000 {
            cache.insert(key(part), Arc::new(part), 1, Reuse::Likely);
        }
        let held = (0..100_000).filter(|part| cache.get::<u64>(&key(*part)).is_some());
        assert!((1..4000).contains(&held.count()));
    }

    #[test]
    fn replaced_values_do_not_count_twice() {
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        cache.insert(key(0), Arc::new(0_u64), 2, Reuse::Likely);
        cache.insert(key(0), Arc::new(9_u64), 1, Reuse::Likely);
        assert_eq!(cache.bytes(), 1 + SLOT_BYTES);
        assert_eq!(cache.get::<u64>(&key(0)).as_deref(), Some(&9));
    }

    #[test]
    fn values_that_are_too_large_or_of_another_type_are_absent() {
        let cache = Cache::new(4 * (2 + SLOT_BYTES));
        cache.insert(key(0), Arc::new(0_u64), 3, Reuse::Likely);
        assert_eq!(cache.bytes(), 0);
        cache.insert(key(1), Arc::new(0_u64), 1, Reuse::Likely);
        assert!(cache.get::<String>(&key(1)).is_none());
    }
}
