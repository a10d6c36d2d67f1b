//! An array as of a time, with a fingerprint of its cells.

use std::sync::Arc;

use futures_util::lock::Mutex;

use super::fill::Facts;
use super::hash::hash;
use crate::array::Array;

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
    /// What the Zarr view needs to know of the array, once it is loaded.
    pub(super) facts: Arc<Mutex<Option<Arc<Facts>>>>,
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
        }
    }
}
