//! A snapshot of an array in a window of time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;

use crate::context::Context;
use crate::filter::Key;
use crate::format::condition::StoredCondition;
use crate::format::enumeration::Enumeration;
use crate::format::schema::Schema;
use crate::identity;
use crate::scalar::ScalarRange;
use crate::sort::sort_by_number;

use super::axis_values::AxisValues;
use super::fragment::Fragment;
use super::window::{OpenOptions, Window};

/// An array in a window of time: its schema and its visible fragments.
///
/// A snapshot never changes and is cheap to clone. To see later writes, open the array again with [`Array::at`].
#[derive(Debug, Clone)]
pub struct Array(pub(crate) Arc<Snapshot>);

/// The state that clones of an [`Array`] share.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) context: Context,
    pub(crate) path: String,
    pub(crate) options: OpenOptions,
    pub(crate) schema: Arc<Schema>,
    /// File name of the schema in `__schema`, or the path of the schema file in old formats.
    pub(crate) schema_name: String,
    /// The same for the oldest schema of the array, which fragments before version 10 have.
    pub(crate) oldest_schema: String,
    pub(crate) fragments: Vec<Arc<Fragment>>,
    /// The delete commits, oldest first.
    pub(crate) deletes: Vec<Delete>,
    /// Paths of the files of array metadata, relative to the array, oldest first.
    pub(crate) metadata_files: Vec<String>,
    /// The enumerations loaded so far, by name.
    pub(crate) enumerations: Mutex<HashMap<String, Arc<Enumeration>>>,
    /// The values along the dimensions looked up so far, by the dimension's number.
    pub(crate) axis_values: Mutex<HashMap<usize, Option<Arc<AxisValues>>>>,
    /// The result of [`Array::fingerprint`].
    pub(crate) fingerprint: OnceLock<[u8; 16]>,
}

/// A delete commit.
#[derive(Debug, Clone)]
pub(crate) struct Delete {
    /// Its path relative to the array, which lists of processed conditions use.
    pub(crate) path: String,
    /// The time of the delete, in milliseconds since 1970.
    pub(crate) time_ms: u64,
    /// The condition of the cells to keep.
    pub(crate) keep: StoredCondition,
    /// The commit as it is stored, for snapshot tokens.
    pub(crate) stored: Bytes,
}

impl Array {
    /// The schema to read with: the latest in the window.
    pub fn schema(&self) -> &Arc<Schema> {
        &self.0.schema
    }

    /// Path of the array in its store.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// The store, threads and cache that the array uses.
    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The key that the array was opened with.
    pub fn key(&self) -> Option<&Key> {
        self.0.options.key.as_ref()
    }

    /// The window that the array was opened in.
    pub fn window(&self) -> Window {
        self.0.options.window
    }

    /// The visible fragments, oldest first. If two hold the same cell, the later one wins.
    pub fn fragments(&self) -> &[Arc<Fragment>] {
        &self.0.fragments
    }

    /// The distinct times of writes and deletes, in milliseconds since 1970, oldest first.
    pub fn times(&self) -> Vec<u64> {
        let deletes = self.deletes().iter().map(|d| d.time_ms);
        let mut times: Vec<u64> = self.fragments().iter().map(|f| f.end_ms).chain(deletes).collect();
        sort_by_number(&mut times, |t| *t);
        times.dedup();
        times
    }

    /// The times of the visible deletes, in milliseconds since 1970, oldest first. The cell counts of fragments include
    /// deleted cells.
    pub fn delete_times(&self) -> Vec<u64> {
        self.deletes().iter().map(|d| d.time_ms).collect()
    }

    /// The visible delete commits, oldest first.
    pub(crate) fn deletes(&self) -> &[Delete] {
        &self.0.deletes
    }

    /// The same snapshot, restricted to these fragments.
    pub(crate) fn with_fragments(&self, fragments: Vec<Arc<Fragment>>) -> Self {
        let s = &*self.0;
        Self(Arc::new(Snapshot {
            context: s.context.clone(),
            path: s.path.clone(),
            options: s.options.clone(),
            schema: Arc::clone(&s.schema),
            schema_name: s.schema_name.clone(),
            oldest_schema: s.oldest_schema.clone(),
            fragments,
            deletes: s.deletes.clone(),
            metadata_files: s.metadata_files.clone(),
            enumerations: Mutex::default(),
            axis_values: Mutex::default(),
            fingerprint: OnceLock::new(),
        }))
    }

    /// Identifies what this snapshot consists of: its schema, window, fragments and deletes. Two processes that open the
    /// same snapshot of an array, wherever it is, get the same fingerprint.
    pub fn fingerprint(&self) -> [u8; 16] {
        *self.0.fingerprint.get_or_init(|| {
            let window = self.window();
            let times = [window.start_ms, window.end_ms].map(u64::to_le_bytes);
            let fragments = self.fragments().iter().map(|f| f.name.as_bytes());
            let deletes = self.deletes().iter().map(|d| d.path.as_bytes());
            let parts = [self.0.schema_name.as_bytes(), times.as_flattened()].into_iter();
            identity::fingerprint(parts.chain(fragments).chain(deletes))
        })
    }

    /// The bounding box of all visible cells, as one closed range per dimension; `None` if nothing was written.
    pub fn non_empty_domain(&self) -> Option<Vec<ScalarRange>> {
        self.fragments()
            .iter()
            .filter_map(|f| f.non_empty_domain().map(<[_]>::to_vec))
            .reduce(|a, b| a.iter().zip(&b).map(|(a, b)| a.union(b)).collect())
    }
}
