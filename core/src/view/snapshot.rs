//! An array as of a time, with a fingerprint of its cells.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use futures_util::lock::Mutex;

use super::fill::Facts;
use super::fragment_names::fragment_files;
use super::hash::hash;
use crate::array::{Array, Fragment};
use crate::conventions::Dataset;
use crate::sort::sort_by_number;

/// An array as of a time.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) array: Array,
    /// A hash of everything that affects the cells: schema, fragments, deletes, and the time window if it covers a
    /// fragment only in part.
    pub(super) fingerprint: u64,
    /// The times of all writes and deletes, in order.
    pub(super) times: Arc<[u64]>,
    /// The time of the last write or delete.
    pub(super) modified_ms: u64,
    /// The facts about the array that the Zarr view needs, once they are loaded.
    pub(super) facts: Arc<Mutex<Option<Arc<Facts>>>>,
    /// The hash of each file name in `fragments/` and the index of its fragment, sorted by hash. Made at the first
    /// look-up. The names themselves would take ten times the memory.
    by_name: Arc<OnceLock<Vec<(u64, usize)>>>,
    /// The array's description, once it is loaded.
    pub(super) dataset: Arc<Mutex<Option<Arc<Dataset>>>>,
}

impl Snapshot {
    pub(super) fn new(array: Array) -> Self {
        let schema = format!("{:?}", array.schema());
        let window = array.window();
        let mut parts = vec![array.path().as_bytes(), schema.as_bytes()];
        parts.extend(array.fragments().iter().map(|f| f.name.as_bytes()));
        parts.extend(array.deletes().iter().map(|d| d.path.as_bytes()));
        // Two windows with the same fragments show different cells if they cover a fragment only in part.
        let bounds = [window.start_ms.to_le_bytes(), window.end_ms.to_le_bytes()];
        if array.fragments().iter().any(|f| f.is_partly_within(window)) {
            parts.extend(bounds.iter().map(<[u8; 8]>::as_slice));
        }
        let fingerprint = hash(&parts);
        let times: Arc<[u64]> = array.times().into();
        Self {
            array,
            fingerprint,
            modified_ms: times.last().copied().unwrap_or(0),
            times,
            facts: Arc::default(),
            by_name: Arc::default(),
            dataset: Arc::default(),
        }
    }

    /// The fragment that a file in `fragments/` describes.
    pub(super) fn fragment_of_file(&self, file: &str) -> Option<&Arc<Fragment>> {
        let fragments = self.array.fragments();
        let by_name = self.by_name.get_or_init(|| {
            let all = fragments.iter().enumerate();
            let mut all: Vec<_> = all
                .flat_map(|(i, f)| fragment_files(f).map(|name| (hash_of(&name), i)))
                .collect();
            sort_by_number(&mut all, |(hash, _)| *hash);
            all
        });
        let hash = hash_of(file);
        let first = by_name.partition_point(|(other, _)| *other < hash);
        let same = by_name.iter().skip(first).take_while(|(other, _)| *other == hash);
        same.filter_map(|(_, i)| fragments.get(*i))
            .find(|f| fragment_files(f).iter().any(|name| name == file))
    }
}

fn hash_of(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
